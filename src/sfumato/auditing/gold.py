"""Reading a gold standard: pairs with a score, or searches with the rows they should find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sfumato.errors import InputError
from sfumato.files import PathLike
from sfumato.inputs import read
from sfumato.trials.utility import ScoredPairs, Searches

Value = TypeVar("Value")


def read_pairs(path: PathLike) -> ScoredPairs:
    """Read `text`, `text2` and `score` from .jsonl, .csv, .tsv or .parquet."""
    texts, columns = _columns(path, ("text2", "score"))
    second = _each(path, "text2", columns["text2"], _text, "a text")
    return ScoredPairs(texts, second, _each(path, "score", columns["score"], float, "a number"))


def read_searches(path: PathLike) -> Searches:
    """Read `text` and `relevant`: one row number of the input, or several (a list, or between spaces)."""
    texts, columns = _columns(path, ("relevant",))
    found = _each(path, "relevant", columns["relevant"], _rows, "row numbers of the input, from 0")
    return Searches(texts, found)


def _columns(path: PathLike, names: tuple[str, ...]) -> tuple[list[str], dict[str, list[Any]]]:
    texts: list[str] = []
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for batch in read(path, need="text", columns=names):
        texts += batch.texts or []
        for name in names:
            columns[name] += batch.columns[name]
    return texts, columns


def _each(
    path: PathLike, name: str, values: list[Any], convert: Callable[[Any], Value], rule: str
) -> list[Value]:
    found: list[Value] = []
    for row, value in enumerate(values):
        try:
            found.append(convert(value))
        except (TypeError, ValueError):
            raise InputError(f"Row {row} of `{path}` has to hold {rule} as `{name}`.") from None
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _rows(value: Any) -> list[int]:
    parts = value.replace(",", " ").split() if isinstance(value, str) else value
    found = [int(part) for part in (parts if isinstance(parts, list) else [parts])]
    if not found or min(found) < 0:
        raise ValueError
    return found
