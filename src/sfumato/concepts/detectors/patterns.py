"""Finds what has a shape of its own: dates, ages, numbers, addresses and identifiers."""

from __future__ import annotations

import re

from sfumato.concepts.base import Span
from sfumato.concepts.detectors.shapes import SHAPES
from sfumato.concepts.spans import merge
from sfumato.errors import ParameterError


class Patterns:
    """Finds spans by their shape alone; kinds are the keys of `SHAPES`, all of them when none is named."""

    exact = True
    blind_to = (
        "Anything without a fixed shape, such as most names; unusual notations, the dates and addresses of "
        "other languages, and shapes broken over lines."
    )

    def __init__(self, *kinds: str, label: str | None = None, name: str | None = None) -> None:
        unknown = sorted(set(kinds) - SHAPES.keys())
        if unknown:
            raise ParameterError(f"A pattern must be one of: {', '.join(SHAPES)}. Found {unknown[0]!r:.60}.")
        self.kinds = kinds or tuple(SHAPES)
        self.label = label
        self.name = name or ("patterns (" + ", ".join(kinds) + ")" if kinds else "patterns")
        self._compiled = [
            (kind, re.compile(shape.expression), shape.check) for kind in self.kinds for shape in SHAPES[kind]
        ]

    def find(self, text: str) -> list[Span]:
        """Return the spans of every kind in reading order, none overlapping."""
        found = []
        for kind, expression, check in self._compiled:
            part = "x" if "x" in expression.groupindex else 0
            for match in expression.finditer(text):
                if check is None or check(match[part]):
                    found.append(Span(*match.span(part), self.label or kind))
        return merge(found)
