"""Finds the code names of projects, such as "Project Osprey"."""

from __future__ import annotations

import re

from sfumato.concepts.base import Span

_SHAPE = re.compile(r"\bproject (?P<code>[a-z]{3,20})\b", re.IGNORECASE)


class ProjectCodes:
    """The word behind "project". As a concept it has its registered name: `--concept project-code`."""

    name = "project codes"
    summary = "code names of projects"
    blind_to = "A code name that does not stand behind the word project."
    placeholder = "a project"
    terms = ("Osprey", "Heron", "Falcon", "Kestrel", "Merlin", "Plover", "Avocet", "Bittern")
    """What stands in for each other, to learn where the concept lives."""

    def find(self, text: str) -> list[Span]:
        """Every code name, in reading order."""
        return [Span(*found.span("code"), "project-code") for found in _SHAPE.finditer(text)]
