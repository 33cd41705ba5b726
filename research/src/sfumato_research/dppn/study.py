"""DPPN: dimensions that carry a concept, found and suppressed. Tables 1 to 5 and 9, figures 3 to 6."""

from __future__ import annotations

from sfumato_research.dppn.attacks import table3, table5
from sfumato_research.dppn.categories import FOLDERS, table4
from sfumato_research.dppn.detection import figures
from sfumato_research.dppn.functions import table2
from sfumato_research.dppn.noise import figure3
from sfumato_research.dppn.tradeoff import table1
from sfumato_research.dppn.words import SETS, words
from sfumato_research.studies.base import Study, StudyPart

STUDY = Study(
    "dppn",
    "DPPN: detecting and perturbing privacy-sensitive neurons",
    "anonymous submission 2024",
    (
        StudyPart("table1", "Table 1: privacy and utility", table1, ("sts12", "retrieval_fiqa_mini")),
        StudyPart("table2", "Table 2: perturbation functions", table2, ("sts12",)),
        StudyPart("figure3", "Figure 3: even noise and suppression", figure3, ("sts12",)),
        StudyPart("figure4", "Figures 4 and 5: black box, white box, random", figures, ("sts12",)),
        StudyPart("table3", "Table 3: three attacks", table3, ("sts12",)),
        StudyPart("table4", "Table 4: categories", table4, FOLDERS),
        StudyPart("table5", "Table 5: encoders", table5, ("sts12",)),
        StudyPart("words", "Figure 6 and table 9: single words", words, SETS),
    ),
)
