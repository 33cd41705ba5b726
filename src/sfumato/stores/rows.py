"""What goes into a store and what comes out of it, and the gate in front of both."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from sfumato.arrays import as_vectors, check_rows
from sfumato.errors import InputError, ParameterError
from sfumato.inputs.base import encodable
from sfumato.types import Vectors

Metric = Literal["cosine", "l2", "ip"]
Scalar = str | int | float | bool
Metadata = dict[str, Any]
Where = Mapping[str, Scalar | Sequence[Scalar]]
"""Fields and the value each must have, or a list of values it may have; all of them must hold."""

TEXT_FIELD = "document"
"""The field of a row's metadata that holds its text, in stores that keep texts beside vectors."""
_LONGEST_ID = 512
_LARGEST_NORM = 1e6
FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
"""Names of metadata fields that every store can keep."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One row found by a search; a smaller distance is nearer, whatever the metric."""

    id: str
    distance: float
    metadata: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows of a store, in one order."""

    ids: list[str]
    vectors: Vectors
    """`[n, d]`"""
    metadata: list[Metadata]

    def __len__(self) -> int:
        return len(self.ids)


def checked_metric(metric: str) -> Metric:
    """Return the name of a metric, or refuse it."""
    if metric not in get_args(Metric):
        raise ParameterError(f"`metric` must be one of {', '.join(get_args(Metric))}. Found {metric!r:.40}.")
    return metric  # type: ignore[return-value]


def checked_ids(ids: Iterable[str]) -> list[str]:
    """Return ids as a list of different, non-empty texts, or refuse them by row."""
    if isinstance(ids, str | bytes):
        raise InputError(f"`ids` must be a list of str. Found a single {type(ids).__name__}.")
    found: dict[str, None] = {}
    for row, each in enumerate(ids):
        if not isinstance(each, str):
            raise InputError(f"Row {row} of `ids` must be a str. Found {type(each).__name__}.")
        if not 0 < len(each) <= _LONGEST_ID or "\0" in each or not encodable(each):
            raise InputError(
                f"Row {row} of `ids` must have 1 to {_LONGEST_ID} characters that UTF-8 can hold, none of "
                f"them NUL. Found {len(each)} characters."
            )
        if each in found:
            raise InputError(f"Row {row} of `ids` must be unique in one call. Found it a second time.")
        found[each] = None
    return list(found)


def checked_vectors(vectors: Any, dim: int | None) -> Vectors:
    """Return finite, non-zero float32 vectors of the right dimension, or refuse them by row."""
    array = as_vectors(vectors, dim=dim)
    check_rows(array, _LARGEST_NORM)
    return np.ascontiguousarray(array, np.float32)


def checked_metadata(metadata: Sequence[Mapping[str, Any]] | None, count: int) -> list[Metadata]:
    """Return one dict of scalars a row, or refuse it by row; values are never shown."""
    if metadata is None:
        return [{} for _ in range(count)]
    if len(metadata) != count:
        raise InputError(f"`metadata` must have one entry a row. Found {len(metadata)} for {count}.")
    return [checked_fields(each, f"Row {row} of `metadata`") for row, each in enumerate(metadata)]


def checked_fields(fields: Mapping[str, Any], where: str) -> Metadata:
    """Return fields whose names and values every store can keep, or refuse them."""
    if not isinstance(fields, Mapping):
        raise InputError(f"{where} must be a dict. Found {type(fields).__name__}.")
    kept: Metadata = {}
    for name, value in fields.items():
        checked_name(name)
        if value is None:
            continue
        if not _scalar(value):
            raise InputError(
                f"{where} must hold text, whole numbers, finite numbers and booleans. "
                f"Found {type(value).__name__} in `{name}`. Convert it."
            )
        kept[name] = value
    return kept


def checked_name(name: str) -> str:
    """Return the name of a field, or refuse it."""
    if not isinstance(name, str) or not FIELD.fullmatch(name):
        raise InputError(
            "Names of metadata fields must be a letter or _ and up to 62 letters, digits, _ and -. "
            f"Found {name!r:.40}. Rename it."
        )
    return name


def checked_where(where: Where | None) -> dict[str, list[Scalar]]:
    """Return what a filter allows, as a list of values a field."""
    allowed: dict[str, list[Scalar]] = {}
    for name, value in (where or {}).items():
        values = [value] if isinstance(value, str | int | float) else list(value)
        if not values or not all(_scalar(each) for each in values):
            raise InputError(
                "`where` must give a value or a list of values a field. "
                f"Found something else for `{name!s:.40}`."
            )
        allowed[checked_name(name)] = values
    return allowed


def matches(metadata: Metadata, allowed: Mapping[str, Sequence[Scalar]]) -> bool:
    """Whether a row passes a filter; True is not 1 here, as in the products."""
    return all(_among(metadata.get(name), values) for name, values in allowed.items())


def _among(found: Any, values: Sequence[Scalar]) -> bool:
    # First what the interpreter compares by itself: most rows have none of the values.
    return found in values and any(_same(found, value) for value in values)


def _same(found: Any, wanted: Scalar) -> bool:
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


def _scalar(value: Any) -> bool:
    if isinstance(value, str):
        return encodable(value) and "\0" not in value
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return isinstance(value, float) and math.isfinite(value)
