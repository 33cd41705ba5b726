"""A framework's metadata, which may be anything that JSON holds, as the fields of a sealed row and back.

What a field of a row can hold stays a field, so that filters and `sfumato search` see it by its name. The
rest, and what a framework keeps of its own, goes into one more field as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sfumato.errors import InputError
from sfumato.stores.rows import Metadata, checked_fields

REST = "_rest"
"""The field of what no other field can hold."""


def to_fields(metadata: Mapping[str, Any], row: int, own: Mapping[str, Any] | None = None) -> Metadata:
    """The fields of a row; `own` is what the framework keeps beside the metadata."""
    if not isinstance(metadata, Mapping):
        raise InputError(f"The metadata of row {row} must be a dict. Found {type(metadata).__name__}.")
    fields = {name: value for name, value in metadata.items() if is_field(name, value)}
    other = {name: value for name, value in metadata.items() if name not in fields}
    if other or own:
        fields[REST] = _written([other, dict(own or {})], row)
    return fields


def from_fields(fields: Metadata) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metadata of a row, and what the framework keeps beside it."""
    other, own = json.loads(fields.get(REST, "[{}, {}]"))
    return {name: value for name, value in fields.items() if name != REST} | other, own


def is_field(name: Any, value: Any) -> bool:
    """Whether a sealed row keeps this as a field of its own."""
    if name == REST or value is None:
        return False
    try:
        checked_fields({name: value}, "")
    except InputError:
        return False
    return True


def _written(parts: list[dict[str, Any]], row: int) -> str:
    text = ""
    try:
        text = json.dumps(parts, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # raised out here: what these chain may hold a value
        pass
    if not text or json.loads(text) != parts:
        raise InputError(
            f"The metadata of row {row} must be what JSON can hold: text as names, and text, finite numbers, "
            "booleans, None, lists and dicts as values. Found something else: convert it."
        )
    return text
