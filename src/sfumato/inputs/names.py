"""What the columns of a file are called, and the line that says which ones it has when one is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfumato.errors import InputError

SPANS = "spans"
_MOST_SHOWN = 20
_WORD = re.compile(r"[^\W\d][\w.-]{0,39}")


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Which column holds the texts, and which the vectors."""

    text: str = "text"
    vector: str = "embedding"

    def __post_init__(self) -> None:
        if self.text == self.vector or SPANS in (self.text, self.vector):
            raise InputError(
                f"Texts, vectors and `{SPANS}` are different columns. Found `{self.text}` for texts and "
                f"`{self.vector}` for vectors. Name another with --text-column or --vector-column."
            )

    @property
    def own(self) -> tuple[str, str, str]:
        """The columns that are not passed on as they are."""
        return self.text, SPANS, self.vector

    def to_dict(self) -> dict[str, str]:
        """The names that differ from the usual ones."""
        pairs = (("text", self.text, USUAL.text), ("vector", self.vector, USUAL.vector))
        return {key: name for key, name, usual in pairs if name != usual}


USUAL = ColumnNames()


def columns_found(names: Iterable[str]) -> str:
    """The columns of a file in words; cut short where there are many."""
    found = [name if _WORD.fullmatch(name) else repr(name[:40]) for name in sorted(names)]
    more = len(found) - _MOST_SHOWN
    shown = found[:_MOST_SHOWN] + ([f"and {more} more"] if more > 0 else [])
    return f"It has: {', '.join(shown) or 'none'}"


def look_like_names(first: Sequence[str], following: Sequence[str] | None) -> bool:
    """Whether a first line names columns: words, above a row that holds more than words.

    What may be content of a file without such a line is never shown.
    """
    return (
        0 < len(set(first)) == len(first)
        and all(map(_WORD.fullmatch, first))
        and following is not None
        and not all(map(_WORD.fullmatch, following))
    )


def no_column(file: object, name: str, names: Iterable[str], option: str) -> InputError:
    """A file lacks a column: which ones it has, and the option that names another."""
    return InputError(f"`{file}` has no column `{name}`. {columns_found(names)}. Name one with {option}.")
