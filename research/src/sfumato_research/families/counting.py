"""On how many encoders and families each sentence holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sfumato_research.families.findings import FINDINGS, Counted
from sfumato_research.families.judging import Judged, Verdict
from sfumato_research.frontier.figures import Cuts
from sfumato_research.studies.base import Entry, Finding, StudyTable
from sfumato_research.studies.encoders import study_encoder

Cells = Mapping[tuple[str, str], Judged]
"""By concept and encoder."""
GOAL = 4
"""Families on which a sentence has to hold before it is said of encoders at large."""


@dataclass(frozen=True, slots=True)
class Count:
    """One sentence in every cell."""

    finding: Counted
    cells: Cells

    def holds(self, concepts: Sequence[str], models: Sequence[str]) -> Verdict:
        """Yes when all these cells are, no when one is not."""
        found = [self.cells[concept, model].verdict for concept in concepts for model in models]
        return False if False in found else None if None in found else True

    def families(self, concepts: Sequence[str], models: Sequence[str]) -> list[Verdict]:
        """The verdict of each family: yes when all its encoders are."""
        return [self.holds(concepts, own) for own in by_family(models).values()]


def by_family(models: Sequence[str]) -> dict[str, list[str]]:
    """The encoders of each family."""
    found: dict[str, list[str]] = {}
    for model in models:
        found.setdefault(study_encoder(model).family, []).append(model)
    return found


def counted(cells: Mapping[tuple[str, str], Cuts], on_step: Callable[[str], object]) -> list[Count]:
    """Every sentence judged in every cell, but for those about a release that no cell attacked."""
    asked = [each for each in FINDINGS if any(set(each.needs) <= set(cut.labels) for cut in cells.values())]
    judged: dict[str, dict[tuple[str, str], Judged]] = {each.name: {} for each in asked}
    for (concept, model), cuts in cells.items():
        on_step(f"{concept}, {model}: judged")
        for each in asked:
            judged[each.name][concept, model] = each.judged(cuts)
    return [Count(each, judged[each.name]) for each in asked]


def cell_table(
    title: str, counts: Sequence[Count], heads: Mapping[tuple[str, str], str], note: str = ""
) -> StudyTable:
    """Sentences and cells, each under its head: the verdict with the figure that decides."""
    rows: list[list[Entry]] = [
        [each.finding.name, *(each.cells[cell].words for cell in heads), each.finding.figure]
        for each in counts
    ]
    said = (
        "yes, no, or ? where the interval holds the limit; 95 %. "
        "Where a sentence is about several releases that agree, the figure is the first one's."
    )
    return StudyTable(title, ["finding", *heads.values(), "the figure"], rows, f"{said} {note}".strip())


def family_table(counts: Sequence[Count], concepts: Sequence[str], models: Sequence[str]) -> StudyTable:
    """Sentences and the number of families they hold on."""
    rows: list[list[Entry]] = []
    for each in counts:
        told = [_of(each.families([concept], models)) for concept in concepts]
        both = each.families(concepts, models)
        encoders = [each.holds(concepts, [model]) for model in models]
        rows.append([each.finding.name, each.finding.sentence, *told, _of(both), _of(encoders)])
    columns = ["finding", "sentence", *(f"families, {concept}" for concept in concepts), "families, both",
               "encoders, both"]  # fmt: skip
    kinds = "; ".join(f"{family}: {', '.join(own)}" for family, own in by_family(models).items())
    note = (
        "Yes of those measured; in brackets those that say no, the rest has no verdict. A family says yes "
        f"when all its encoders do. {kinds}."
    )
    return StudyTable("On how many families each sentence holds", columns, rows, note)


def told(
    counts: Sequence[Count], concepts: Sequence[str], models: Sequence[str], run: str = ""
) -> list[Finding]:
    """A line a sentence: one family denies it, and as many as the goal names have to hold before it does.

    What is said of the run stands beside its name.
    """
    found = []
    for each in counts:
        families = each.families(concepts, models)
        enough = len(families) >= GOAL
        same = False if False in families else True if all(families) and enough else None
        cause = "" if same is not None or enough else f"counted: {', '.join(models)} alone"
        name = f"{each.finding.name}, {run}" if run else each.finding.name
        found.append(Finding(name, each.finding.sentence, "–", f"{_of(families)} families", same, cause))
    return found


def _of(verdicts: Sequence[Verdict]) -> str:
    yes, no = verdicts.count(True), verdicts.count(False)
    return f"{yes} of {len(verdicts)}" + (f" (no: {no})" if no else "")
