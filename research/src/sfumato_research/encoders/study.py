"""The encoders: on how many families a finding holds, and how good they are themselves.

research/protocol-families.md and research/protocol-encoders.md.
"""

from __future__ import annotations

from functools import partial

from sfumato_research.encoders.measure import (
    FEW,
    SENTENCES,
    beside,
    correlated,
    found_beside,
    ndcg,
    room,
    searched,
    similar,
)
from sfumato_research.families.part import PARTS
from sfumato_research.studies.base import Cell, Entry, Setting, Study, StudyOutcome, StudyPart, StudyTable
from sfumato_research.studies.data import encoder
from sfumato_research.studies.encoders import StudyEncoder, present

SETS = {"stsb": "STS-B, test", "sts12": "STS12", "sts13": "STS13", "sts14": "STS14"}
FIRST = "minilm"


def _chosen(setting: Setting) -> list[StudyEncoder]:
    """All that are here, of a quick run a few; first the one that the others are compared with."""
    found = present() if not setting.quick else present(FIRST, "wordllama", "encoder768")
    return sorted(found, key=lambda each: each.name != FIRST)


def _named(each: StudyEncoder) -> list[Entry]:
    return [each.name, each.family, each.dim]


def _similarity(setting: Setting, name: str) -> StudyOutcome:
    table: list[list[Entry]] = []
    first = None
    for each in _chosen(setting):
        setting.on_step(f"{name}, {each.name}")
        found = similar(encoder(setting, each.name), name, setting)
        first = first or found
        table.append([*_named(each), correlated(found), beside(first, found)])
    columns = ("encoder", "family", "dimensions", "Spearman", f"over {FIRST}'s")
    return StudyOutcome([StudyTable(f"{SETS[name]}: {len(first or ())} pairs", columns, table)])


def _search(setting: Setting) -> StudyOutcome:
    table: list[list[Entry]] = []
    first = None
    for each in _chosen(setting):
        setting.on_step(f"search, {each.name}")
        found = searched(encoder(setting, each.name), setting)
        first = first or found
        table.append([*_named(each), ndcg(found), found_beside(first, found)])
    columns = ("encoder", "family", "dimensions", "nDCG@10", f"over {FIRST}'s")
    queries = 0 if first is None else len(first.ndcg)
    return StudyOutcome([StudyTable(f"SciFact, test: {queries} queries", columns, table)])


def _room(setting: Setting) -> StudyOutcome:
    table: list[list[Entry]] = []
    for each in _chosen(setting):
        setting.on_step(f"room, {each.name}")
        found = room(encoder(setting, each.name), setting)
        cosine, rate = Cell(found.cosine), Cell(found.second, form=",.0f")
        table.append([*_named(each), found.dimensions, cosine, rate])
    columns = (
        "encoder",
        "family",
        "dimensions",
        "dimensions that hold 99 % of the spread",
        "mean cosine of two sentences",
        "texts a second of processor time",
    )
    note = f"{setting.pick(SENTENCES, FEW):,} made-up sentences, on {setting.device}."
    return StudyOutcome([StudyTable("How the vectors lie", columns, table, note)])


STUDY = Study(
    "encoders",
    "The encoders: findings by families; similarity, search, spread",
    "ours",
    [
        *PARTS,
        *(StudyPart(name, title, partial(_similarity, name=name), (name,)) for name, title in SETS.items()),
        StudyPart("search", "SciFact, test", _search, ("retrieval_scifact",)),
        StudyPart("room", "How the vectors lie", _room),
    ],
)
