"""What is kept of a paper: each numbered table and figure, and where its like is measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["Table", "Figure"]
OUTSIDE = ("reader",)
"""Results that no study of the registry makes: those of the ready-made reader come with its training."""
DRAWING = "A drawing that explains; nothing in it is measured."


@dataclass(frozen=True, slots=True)
class PaperCell:
    """One cell of a study's result that speaks for a table or figure."""

    what: str
    """In words, before the figure."""
    table: str
    """How the title of the study's table begins."""
    row: Sequence[str | float]
    """What the row begins with."""
    column: str
    printed: bool = True
    """Whether what the cell holds as printed is of this table or figure, and stands beside it."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A table or figure as the paper numbers it."""

    kind: Kind
    number: int
    gist: str
    """What it shows, in our words."""
    parts: Sequence[str] = ()
    """Parts of the paper's study that run it, or STUDY/PART of another; empty where it is not run."""
    shown: Sequence[PaperCell] = ()
    """Cells of the parts; the first part that has one is taken."""
    above: str = ""
    """A claim that no finding judges: the first cell shown lies above the second."""
    under: str = ""
    """The label that its findings have, where that is not its own."""
    missing: str = ""
    """Why it is not run, or what of it is not."""

    @property
    def label(self) -> str:
        """As the paper calls it."""
        return f"{self.kind} {self.number}"

    def places(self, study: str) -> list[tuple[str, str]]:
        """Study and part of each run."""
        split = [part.rpartition("/") for part in self.parts]
        return [(other or study, part) for other, _, part in split]


@dataclass(frozen=True, slots=True)
class Paper:
    """All numbered tables and figures of one paper."""

    name: str
    """Of the study that runs it again."""
    title: str
    numbered: Sequence[Numbered]
