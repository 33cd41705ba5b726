"""STAMP: table 1, figures 5 and 6, its overhead, and the attack on its output that the paper never runs."""

from __future__ import annotations

from sfumato.mechanisms.base import one_blas_thread
from sfumato_research.stamp.attack import attack
from sfumato_research.stamp.figures import groups, threshold
from sfumato_research.stamp.overhead import overhead
from sfumato_research.stamp.sets import classes, fantasy, squad
from sfumato_research.stamp.table import table_one
from sfumato_research.studies.base import Setting, Study, StudyOutcome, StudyPart


def _squad(setting: Setting) -> StudyOutcome:
    with one_blas_thread():
        return table_one(setting, "squad", squad(setting))


def _fantasy(setting: Setting) -> StudyOutcome:
    with one_blas_thread():
        return table_one(setting, "fantasy", fantasy(setting))


def _agnews(setting: Setting) -> StudyOutcome:
    with one_blas_thread():
        return table_one(setting, "agnews", classes(setting, "ag_news"))


def _yelp(setting: Setting) -> StudyOutcome:
    with one_blas_thread():
        return table_one(setting, "yelp", classes(setting, "yelp5"))


STUDY = Study(
    "stamp",
    "STAMP: selective task-aware mechanism for text privacy",
    "Tian et al. 2026",
    (
        StudyPart("squad", "Table 1: SQuAD", _squad, ("squad_dev",)),
        StudyPart("fantasy", "Table 1: fictional passages", _fantasy),
        StudyPart("agnews", "Table 1: AG News", _agnews, ("ag_news",)),
        StudyPart("yelp", "Table 1: Yelp", _yelp, ("yelp5",)),
        StudyPart("threshold", "Figure 5: the threshold of importance", threshold, ("squad_dev",)),
        StudyPart("groups", "Figure 6: the more groups are blurred", groups, ("squad_dev", "ag_news")),
        StudyPart("overhead", "Section 5.4: overhead", overhead, ("squad_dev",)),
        StudyPart("attack", "What the output gives away (not in the paper)", attack, ("ag_news",)),
    ),
)
