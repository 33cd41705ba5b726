"""What a study is: the tables and figures of one paper, run again and set beside what it prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato_research.studies.choice import CellChoice

Number = float | int
OnStep = Callable[[str], object]


def silent(step: str) -> None:
    """Hear what is done now, and say nothing."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One measured figure with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    form: str = ".3f"
    """How it is written, as in `format`; `%` forms write a share as a percentage."""
    printed: float | None = None
    """The paper's figure for the same cell, where it has one."""
    strong: bool = False
    """Whether it is printed bold."""

    @classmethod
    def between(cls, value: float | None, interval: tuple[float, float] | None, form: str = ".3f") -> Cell:
        """A figure with an interval that may be undefined."""
        low, high = interval or (None, None)
        return cls(value, low, high, form)


Entry = Cell | str | Number | None


@dataclass(frozen=True, slots=True)
class StudyTable:
    """One table as we measure it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: the name of its file, the drawing itself as SVG, and what it shows."""

    name: str
    svg: str
    title: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line for the reader: what the paper prints, what we get, and whether they point the same way."""

    table: str
    """Which table or figure of the paper, as it is numbered there."""
    claim: str
    printed: str
    ours: str
    """Written by the study from measured values."""
    same: bool | None
    """Whether ours point the same way, decided by the study from the values; None where they cannot say."""
    cause: str = ""
    """Why not, where they do not."""


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """What one part of a study found."""

    tables: Sequence[StudyTable] = ()
    figures: Sequence[Picture] = ()
    findings: Sequence[Finding] = ()
    took: str = ""
    """What it took, in words, where that is not the time of this run: what was kept may be from elsewhere."""
    date: str = ""
    """When it was measured, where that is not when it was told."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; drawings are kept in files of their own."""
        found = asdict(self)
        for figure in found["figures"]:
            del figure["svg"]
        return found


@dataclass(frozen=True, slots=True)
class Setting:
    """How a study is run."""

    data: Path
    """The folder of public data sets."""
    quick: bool = False
    """Few texts, few settings, one seed: to see that everything runs, and roughly where the figures lie."""
    seed: int = 0
    device: str = "cpu"
    cache: Path | None = None
    """Where vectors of texts are kept between runs."""
    on_step: OnStep = field(default=silent, repr=False)
    choice: CellChoice = CellChoice()
    """Of a study of cells: which of them."""
    few: bool = False
    """Of a study that is meant for a GPU: fewer runs and releases, as a processor carries it."""

    @property
    def size(self) -> str:
        """How much is done, as it stands in the names of kept files."""
        return "quick" if self.quick else "few" if self.few else "full"

    def pick(self, full: Any, quick: Any) -> Any:
        """The value for a full or for a quick run."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class StudyPart:
    """A table or a group of them that is run, kept and resumed as one."""

    name: str
    title: str
    run: Callable[[Setting], StudyOutcome]
    needs: Sequence[str] = ()
    """Folders of the data sets it reads."""


@dataclass(frozen=True, slots=True)
class Study:
    """All parts of one paper."""

    name: str
    title: str
    paper: str
    parts: Sequence[StudyPart]
    by_cell: bool = False
    """Whether single cells of it can be chosen."""
    merge: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] | None = None
    """How a part that was run before, as it was written, goes together with the same run now."""
