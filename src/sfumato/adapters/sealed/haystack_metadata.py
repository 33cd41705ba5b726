"""What Haystack asks of all metadata together: which fields there are, of which types and values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sfumato.adapters.packages import needs

with needs("haystack-ai", "haystack"):
    from haystack import Document

_TYPES = {bool: "boolean", int: "int", float: "float"}


def without_prefix(field: str) -> str:
    """A field's name as it stands in the metadata: filters write it with `meta.` before it."""
    return field.removeprefix("meta.")


def values_of(documents: Iterable[Document], field: str) -> list[Any]:
    """The different values of a field, sorted as texts; 1, 1.0, "1" and True are four of them."""
    found: dict[tuple[str, str], Any] = {}
    for document in documents:
        value = document.meta.get(without_prefix(field))
        if value is not None:
            found.setdefault((type(value).__name__, json.dumps(value, sort_keys=True)), value)
    return [found[key] for key in sorted(found, key=lambda key: (str(found[key]), key))]


def types_of(documents: Iterable[Document]) -> dict[str, dict[str, str]]:
    """The type of each field, as the last document has it."""
    values = (pair for document in documents for pair in document.meta.items())
    return {name: {"type": _TYPES.get(type(value), "keyword")} for name, value in values if value is not None}


def ends_of(documents: Iterable[Document], field: str) -> dict[str, Any]:
    """The smallest and the largest value of a field."""
    values = [each for each in values_of(documents, field) if isinstance(each, str | int | float)]
    try:
        return {"min": min(values), "max": max(values)}
    except (TypeError, ValueError):  # text beside numbers, or no value at all
        return {"min": None, "max": None}
