"""Metadata is sent as it is, so what a protector hides in texts is looked for there, too, and refused."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sfumato.concepts.spans import find_all
from sfumato.errors import InputError
from sfumato.protector import Protector

LONGEST = 20_000
"""Characters of one field that are looked through; a longer one must be let pass by name."""
_MOST_PARTS = 1000


class MetadataWarning(UserWarning):
    """Metadata that a protector cannot look through, or that stays where it is and holds what it hides."""


def refuse_sensitive(
    protector: Protector,
    rows: Sequence[Mapping[str, Any]],
    allowed: Collection[str] = (),
    *,
    first: int = 0,
    way_out: str = "Leave it out, or name it in allow_fields.",
) -> None:
    """Refuse metadata in which a concept of the protector is found, naming row and field and never the value.

    Args:
        protector: whose concepts are looked for in every text, also inside lists and dicts.
        rows: one dict a row.
        allowed: fields that are sent as they are.
        first: the number of the first row.
        way_out: what to do about it.
    """
    found = sensitive_field(protector, rows, allowed, first=first)
    if found is not None:
        raise InputError(f"{found} It would be sent as it is. {way_out}")


def sensitive_field(
    protector: Protector, rows: Sequence[Mapping[str, Any]], allowed: Collection[str] = (), *, first: int = 0
) -> str | None:
    """Say in one sentence which row and field hold a concept of the protector, or return None."""
    places: dict[str, tuple[int, str]] = {}
    for row, fields in enumerate(rows if protector.concepts else (), first):
        for name, value in fields.items():
            if name in allowed:
                continue
            texts = _texts(value)
            if texts is None or sum(map(len, texts)) > LONGEST:
                return f"Row {row} has a metadata field `{name}` that is too long to be looked through."
            for text in texts:
                places.setdefault(text, (row, name))
    values = list(places)
    for concept in protector.concepts if values else ():
        if concept.detector is None:
            warnings.warn(
                f"The concept `{concept.name}` takes its spans from the data, so metadata cannot be looked "
                "through for it. Make sure that it holds none.",
                MetadataWarning,
                stacklevel=4,
            )
            continue
        for value, spans in zip(values, find_all(concept.detector, values), strict=True):
            if spans:
                row, name = places[value]
                return f"Row {row} has the concept `{concept.name}` in its metadata field `{name}`."
    return None


def _texts(value: Any) -> list[str] | None:
    """Every text in a value, those inside lists and dicts among them; None where it has too many parts."""
    waiting, texts, seen = [value], [], 0
    while waiting:
        part = waiting.pop()
        seen += 1
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        if seen > _MOST_PARTS or len(waiting) > _MOST_PARTS:
            return None
    return texts
