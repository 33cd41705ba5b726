"""On how many families of encoders each sentence holds, from cells that were measured before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sfumato.errors import InputError
from sfumato_research.families.cells import CUTS, cuts_there, measured
from sfumato_research.families.counting import cell_table, counted, family_table, told
from sfumato_research.families.leaving import leaving_table
from sfumato_research.frontier.figures import Cuts
from sfumato_research.studies.base import Entry, Setting, StudyOutcome, StudyPart, StudyTable
from sfumato_research.studies.encoders import ENCODERS, study_encoder

CONCEPTS = {"place": "places", "person": "people"}
ENOUGH, ENOUGH_OF_FEW = 3, 1
"""Cuts without which an encoder is not counted, on a GPU and on a processor."""
SHOWN = 2
"""Cuts without which a cell is not even shown."""


def enough(setting: Setting) -> int:
    """How many cuts an encoder needs to be counted."""
    return ENOUGH if setting.size == "full" else ENOUGH_OF_FEW


def judged_on(setting: Setting) -> tuple[list[str], list[int], list[str]]:
    """Encoders that are counted, the cuts that all of them have, and encoders that are not counted."""
    there = {
        each.name: set.intersection(*(set(cuts_there(name, each.name, setting)) for name in CONCEPTS))
        for each in ENCODERS
    }
    models = [name for name, cuts in there.items() if len(cuts) >= enough(setting)]
    left = [name for name in there if name not in models]
    shared = set.intersection(*(there[name] for name in models)) if models else set()
    return models, sorted(shared), left


def _findings(setting: Setting) -> StudyOutcome:
    models, cuts, left = judged_on(setting)
    if not cuts:
        raise InputError(
            "The part findings judges cells that were measured before. Found too few: measure them with "
            "`python -m sfumato_research.families`, and name their folder with --cache."
        )
    kept = _read({(name, model): cuts for name in CONCEPTS for model in models}, setting)
    counts = counted(kept, setting.on_step)
    concepts = list(CONCEPTS)
    tables = [
        family_table(counts, concepts, models),
        *(
            cell_table(title, counts, {(name, model): model for model in models})
            for name, title in CONCEPTS.items()
        ),
        *(
            leaving_table(f"What each release leaves, {title}", kept, name, models)
            for name, title in CONCEPTS.items()
        ),
        *_uncounted(left, setting),
        _encoders(models, cuts, left),
    ]
    return StudyOutcome(
        tables,
        findings=told(counts, concepts, models, _counting(len(cuts)) if setting.few else ""),
        took="judged from cells that were measured before",
    )


def _findings_of_few(setting: Setting) -> StudyOutcome:
    return _findings(replace(setting, few=True))


def _read(cells: Mapping[tuple[str, str], Sequence[int]], setting: Setting) -> dict[tuple[str, str], Cuts]:
    """What was measured in some cells, on the cuts that each one names."""
    return {
        (name, model): Cuts([measured(name, model, cut, setting) for cut in cuts])
        for (name, model), cuts in cells.items()
    }


def _uncounted(left: Sequence[str], setting: Setting) -> list[StudyTable]:
    """Cells of encoders that are not counted, where there are cuts enough for an interval over them."""
    there = {(name, model): cuts_there(name, model, setting) for name in CONCEPTS for model in left}
    shown = {cell: cuts for cell, cuts in there.items() if len(cuts) >= SHOWN}
    if not shown:
        return []
    heads = {
        (name, model): f"{model}, {CONCEPTS[name]}, {len(cuts)} cuts" for (name, model), cuts in shown.items()
    }
    note = (
        f"An encoder counts with {enough(setting)} cuts of both concepts. These decide nothing: "
        "of so few cuts an interval is too narrow."
    )
    return [
        cell_table("Shown, and not counted", counted(_read(shown, setting), setting.on_step), heads, note)
    ]


def _counting(cuts: int) -> str:
    return "one cut" if cuts == 1 else f"{cuts} cuts"


def _encoders(models: Sequence[str], cuts: Sequence[int], left: Sequence[str]) -> StudyTable:
    """Who was asked."""
    rows: list[list[Entry]] = [
        [name, study_encoder(name).title, study_encoder(name).family, study_encoder(name).dim, said]
        for names, said in ((models, "yes"), (left, "no"))
        for name in names
    ]
    note = f"Judged on {len(cuts)} of {CUTS} cuts: those that every counted encoder has."
    return StudyTable("Encoders", ["encoder", "model", "family", "dimensions", "counted"], rows, note)


PARTS = (
    StudyPart(
        "findings-few",
        "On how many families each sentence holds, as a processor carries it",
        _findings_of_few,
        ("conll2003",),
    ),
    StudyPart("findings", "On how many families each sentence holds: three cuts", _findings, ("conll2003",)),
)
