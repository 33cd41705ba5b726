"""DPPN, tables 6 and 8: notes of a clinic written back, and the sizes of our sets."""

from __future__ import annotations

from sfumato_research.dppn.categories import texts_of
from sfumato_research.dppn.defences import NAMES, levels
from sfumato_research.dppn.printed import CASES, SETS
from sfumato_research.sparse.cases import case_study
from sfumato_research.sparse.data import FOLDERS, corpus
from sfumato_research.studies.base import Cell, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.kept import by_cells

_OURS = {
    "sts12": "STS12",
    "fiqa": "FIQA",
    "stsb": "STSB",
    "sts14": "STS14",
    "quora": "Quora",
    "scifact": "NFCorpus",
    "medical": "MIMIC-III",
    "PII": "PII-300K",
}
"""Our sets, and what each stands for."""
_TITLES = {
    "fiqa": "FIQA, small, in passages",
    "scifact": "SciFact",
    "medical": "MTSamples and made-up notes, sentences",
    "PII": "Presidio's and contextual PII",
}


@by_cells
def table6(setting: Setting) -> StudyOutcome:
    """The case study: age hidden by strong noise, a disease by weaker noise."""
    return case_study(setting, "Table 6", "dppn", levels(setting, (1, 2)), NAMES, CASES)


def table8(setting: Setting) -> StudyOutcome:
    """How large our sets are, beside the paper's."""
    rows: list[list[Cell | str | int]] = []
    for name, paper in _OURS.items():
        texts = corpus(setting.data, name).texts if name in FOLDERS else texts_of(setting.data, name).texts
        terms = len(corpus(setting.data, name).concept.terms) if name in FOLDERS else None
        sentences, words, entities = SETS[paper]
        length = sum(len(text.split()) for text in texts) / len(texts)
        rows.append(
            [
                _TITLES.get(name, paper),
                paper,
                Cell(len(texts), form=",.0f", printed=sentences),
                Cell(length, form=".2f", printed=words),
                Cell(terms, form=",.0f", printed=entities),
            ]
        )
    note = (
        "All texts of a set; those that are learned from and attacked stand under each table. Words: terms "
        "of lists that stand in enough texts. In brackets: printed, of the paper's set."
    )
    columns = ("ours", "stands for", "texts", "words of a text", "sensitive words")
    return StudyOutcome([StudyTable("Table 8: our sets", columns, rows, note)])
