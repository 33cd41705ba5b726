"""Studies: every table of the papers run again on public data, beside the printed numbers."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from sfumato.errors import ParameterError
from sfumato_research.studies.base import (
    Cell,
    Finding,
    Picture,
    Setting,
    Study,
    StudyOutcome,
    StudyPart,
    StudyTable,
)

STUDIES = (
    "frontier",
    "encoders",
    "attackers",
    "leaderboard",
    "sealed",
    "sparse",
    "dppn",
    "privemb",
    "vec2text",
    "stamp",
    "sfumato",
)
"""In the order of the page; each is a folder beside this one whose `study` has a `STUDY`."""


def load_study(name: str) -> Study:
    """The study of that name."""
    if name not in STUDIES:
        raise ParameterError(f"The study must be one of {', '.join(STUDIES)}. Found {name!r:.40}.")
    return cast(Study, import_module(f"sfumato_research.{name}.study").STUDY)


__all__ = [
    "STUDIES",
    "Cell",
    "Finding",
    "Picture",
    "Setting",
    "Study",
    "StudyOutcome",
    "StudyPart",
    "StudyTable",
    "load_study",
]
