"""The study of SPARSE (Tsai et al.): concept-aware noise along learned dimensions."""

from __future__ import annotations

from functools import partial

from sfumato_research.sparse.attacks import MEDICAL, PII, table2, table3
from sfumato_research.sparse.cases import table11, table12
from sfumato_research.sparse.data import BOTH_WAYS, FOLDERS
from sfumato_research.sparse.masks import table4, table10
from sfumato_research.sparse.tradeoff import table1, table1_by_ner, table7
from sfumato_research.sparse.variants import table8, table9
from sfumato_research.sparse.words import SETS, figures, table5
from sfumato_research.studies.base import Study, StudyPart
from sfumato_research.studies.kept import by_cells

_MAIN = (FOLDERS["sts12"], FOLDERS["fiqa"])

STUDY = Study(
    "sparse",
    "concept-aware noise on learned dimensions",
    "Concept-aware privacy mechanisms for defending embedding inversion attacks (SPARSE)",
    (
        StudyPart("table1", "Table 1: privacy and utility on STS12 and FIQA", table1, _MAIN),
        *(
            StudyPart(
                f"ner-{name}",
                f"Table 1 again, {name.upper()}: entities found by NER",
                by_cells(partial(table1_by_ner, name=name)),
                (FOLDERS["sts12"], FOLDERS[name]),
            )
            for name in BOTH_WAYS
        ),
        StudyPart("table2", "Table 2: Vec2Text and MLC", by_cells(table2), ("sts12",)),
        StudyPart(
            "geia", "Table 2: GEIA", by_cells(partial(table2, attacks=("GEIA",))), ("sts12", "sentences")
        ),
        StudyPart("table3", "Table 3: categories of sensitive words", table3, ("sts12", *PII, *MEDICAL)),
        StudyPart("table4", "Table 4: masks that know the attacker", table4, _MAIN),
        StudyPart("table5", "Table 5: the protected word, words like it, and others", table5, SETS),
        StudyPart(
            "table7",
            "Table 7: the same as Table 1 on STSB, STS14, Quora and SciFact",
            table7,
            ("sts12", *(FOLDERS[name] for name in ("stsb", "sts14", "quora", "scifact"))),
        ),
        StudyPart("table8", "Table 8: encoders", table8, ("sts12",)),
        StudyPart("table9", "Table 9: rewriting the text, and the rate R", table9, _MAIN),
        StudyPart("table10", "Table 10: the penalty's weight", table10, _MAIN),
        StudyPart("table11", "Table 11: time of a release", table11),
        StudyPart("table12", "Table 12: notes written back", table12, ("sts12",)),
        StudyPart("figures", "Figures 2 and 3: masks of words, and which dimensions react", figures, SETS),
    ),
)
