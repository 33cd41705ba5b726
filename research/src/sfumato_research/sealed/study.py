"""The sealed study: what sealed search keeps and costs, and what a store learns (research/protocol.md)."""

from __future__ import annotations

from sfumato_research.sealed import cases, corpus
from sfumato_research.sealed.equality import files_outcome, following_outcome, prepared, snapshot_outcome
from sfumato_research.sealed.search import search_outcome
from sfumato_research.sealed.watching import handles_table, operator_table
from sfumato_research.studies.base import Setting, Study, StudyOutcome, StudyPart
from sfumato_research.studies.data import encoder

ENCODER = "wordllama"
"""Of what is attacked; search is measured with MiniLM."""


def _snapshot(setting: Setting) -> StudyOutcome:
    return snapshot_outcome(setting, encoder(setting, ENCODER))


def _following(setting: Setting) -> StudyOutcome:
    return following_outcome(setting, encoder(setting, ENCODER))


def _files(setting: Setting) -> StudyOutcome:
    return files_outcome(setting, encoder(setting, ENCODER))


def _watching(setting: Setting) -> StudyOutcome:
    embedder = encoder(setting, ENCODER)
    shared = prepared(setting, embedder)
    return StudyOutcome([operator_table(shared, embedder.embed, setting), handles_table(shared, setting)])


STUDY = Study(
    "sealed",
    "Sealed search: what it keeps, what it costs, and what the store learns",
    "ours",
    [
        StudyPart("search", "Search kept against postings and bytes", search_outcome, cases.NEEDS),
        StudyPart("snapshot", "A stolen store beside a simulator's", _snapshot, corpus.NEEDS),
        StudyPart("following", "Two snapshots", _following, corpus.NEEDS),
        StudyPart("files", "Files as bytes", _files, corpus.NEEDS),
        StudyPart("watching", "Who watches, knows or inserts; other handles", _watching, corpus.NEEDS),
    ],
)
