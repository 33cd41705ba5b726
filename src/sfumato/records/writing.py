"""Filling a template while keeping account of where each fact stands."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sfumato.concepts.base import Span

LABELS = {
    "name": "person",
    "city": "city",
    "age": "age",
    "person": "sex",
    "disease": "disease",
    "email": "email",
    "phone": "phone",
}
"""Which slots are personal, and the label of each."""

_SLOT = re.compile(r"\{(\w+)\}")


def ideas(text: str) -> tuple[tuple[str, ...], ...]:
    """Read one idea a line, its wordings between bars; a line that begins with a bar goes on."""
    lines = re.sub(r"\n\s*\|", "|", text.strip()).splitlines()
    return tuple(tuple(part.strip() for part in line.split("|")) for line in lines)


def fill(template: str, facts: Mapping[str, str]) -> tuple[str, list[Span]]:
    """Put the facts into their slots; a slot with a capital begins with one."""
    parts: list[str] = []
    spans: list[Span] = []
    length = end = 0
    for slot in _SLOT.finditer(template):
        key = slot[1]
        value = facts[key.lower()]
        if key[0].isupper():
            value = value[0].upper() + value[1:]
        parts += [template[end : slot.start()], value]
        length += slot.start() - end
        if key.lower() in LABELS:
            spans.append(Span(length, length + len(value), LABELS[key.lower()]))
        length += len(value)
        end = slot.end()
    return "".join([*parts, template[end:]]), spans
