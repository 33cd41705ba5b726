"""DPPN: dimensions that carry a concept, found and suppressed. Tables 1 to 9, figures 2 to 8."""

from __future__ import annotations

from functools import partial

from sfumato_research.dppn.attacks import table3, table5
from sfumato_research.dppn.cases import table6, table8
from sfumato_research.dppn.categories import FOLDERS, table4
from sfumato_research.dppn.detection import figures
from sfumato_research.dppn.functions import table2
from sfumato_research.dppn.noise import figure3
from sfumato_research.dppn.tradeoff import OTHERS, table1, table1_by_ner, table7
from sfumato_research.dppn.words import SETS, words
from sfumato_research.sparse.data import BOTH_WAYS
from sfumato_research.sparse.data import FOLDERS as SET_FOLDERS
from sfumato_research.studies.base import Study, StudyPart
from sfumato_research.studies.kept import by_cells

STUDY = Study(
    "dppn",
    "DPPN: detecting and perturbing privacy-sensitive neurons",
    "anonymous submission 2024",
    (
        StudyPart(
            "table1", "Table 1 and figure 7: privacy and utility", table1, ("sts12", "retrieval_fiqa_mini")
        ),
        *(
            StudyPart(
                f"ner-{name}",
                f"Table 1 again, {name.upper()}: entities found by NER",
                by_cells(partial(table1_by_ner, name=name)),
                (SET_FOLDERS["sts12"], SET_FOLDERS[name]),
            )
            for name in BOTH_WAYS
        ),
        StudyPart("table2", "Table 2: perturbation functions", table2, ("sts12",)),
        StudyPart("figure3", "Figure 3: even noise and suppression", figure3, ("sts12",)),
        StudyPart("figure4", "Figures 4 and 5: black box, white box, random", figures, ("sts12",)),
        StudyPart("table3", "Table 3: Vec2Text and a classifier", by_cells(table3), ("sts12",)),
        StudyPart("mlc", "Table 3: MLC", by_cells(partial(table3, attacks=("MLC",))), ("sts12",)),
        StudyPart(
            "geia", "Table 3: GEIA", by_cells(partial(table3, attacks=("GEIA",))), ("sts12", "sentences")
        ),
        StudyPart("table4", "Table 4: categories", table4, FOLDERS),
        StudyPart("table5", "Table 5: encoders", table5, ("sts12",)),
        StudyPart("table6", "Table 6: notes written back", table6, ("sts12",)),
        StudyPart(
            "table7",
            "Table 7 and figure 8: STSB, STS14, Quora and SciFact",
            table7,
            ("sts12", *(SET_FOLDERS[name] for name in OTHERS)),
        ),
        StudyPart("table8", "Table 8: our sets", table8, (*SET_FOLDERS.values(), *FOLDERS)),
        StudyPart("words", "Figure 6 and table 9: single words", words, SETS),
    ),
)
