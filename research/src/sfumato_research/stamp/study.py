"""STAMP: table 1, figures 5 and 6, its overhead, and the attack on its output that the paper never runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sfumato.mechanisms.base import one_blas_thread
from sfumato_research.stamp.attack import attack
from sfumato_research.stamp.figures import groups, threshold
from sfumato_research.stamp.judging import judge
from sfumato_research.stamp.matched import matched
from sfumato_research.stamp.mending import repair
from sfumato_research.stamp.overhead import overhead
from sfumato_research.stamp.sets import Texts, classes, fantasy, squad
from sfumato_research.stamp.table import table_one
from sfumato_research.stamp.tables import language_model, minilm
from sfumato_research.studies.base import Setting, Study, StudyOutcome, StudyPart

SETS: Mapping[str, tuple[str, tuple[str, ...], Callable[[Setting], Texts]]] = {
    "squad": ("SQuAD", ("squad_dev",), squad),
    "fantasy": ("fictional passages", (), fantasy),
    "agnews": ("AG News", ("ag_news",), lambda setting: classes(setting, "ag_news")),
    "yelp": ("Yelp", ("yelp5",), lambda setting: classes(setting, "yelp5")),
}
"""The sets of table 1: title, the data they read, and how they are made."""


def _table_one(name: str) -> StudyPart:
    title, needs, make = SETS[name]

    def run(setting: Setting) -> StudyOutcome:
        with one_blas_thread():
            return table_one(setting, name, make(setting))

    return StudyPart(name, f"Table 1: {title}", run, needs)


def _of_language_model(name: str) -> StudyPart:
    title, needs, make = SETS[name]

    def run(setting: Setting) -> StudyOutcome:
        with one_blas_thread():
            table = language_model(setting)
            return table_one(setting, name, make(setting), table.vocabulary, table.threshold, table.of)

    return StudyPart(f"{name}-lm", f"Table 1: {title}, a language model's table", run, ("squad_dev", *needs))


def _matched(name: str) -> StudyPart:
    title, needs, make = SETS[name]

    def run(setting: Setting) -> StudyOutcome:
        with one_blas_thread():
            return matched(setting, name, make(setting), minilm())

    return StudyPart(f"{name}-matched", f"Figure 6 at matched totals: {title}", run, needs)


def _matched_of_language_model(name: str) -> StudyPart:
    title, needs, make = SETS[name]

    def run(setting: Setting) -> StudyOutcome:
        with one_blas_thread():
            return matched(setting, name, make(setting), language_model(setting), rare=False)

    shown = f"Figure 6 at matched totals: {title}, a language model's table"
    return StudyPart(f"{name}-matched-lm", shown, run, ("squad_dev", *needs))


def _judge(name: str) -> StudyPart:
    title, needs, make = SETS[name]
    return StudyPart(
        f"judge-{name}",
        f"The paper's judge, asked through a server: {title}",
        lambda setting: judge(setting, name, make(setting)),
        needs,
    )


STUDY = Study(
    "stamp",
    "STAMP: selective task-aware mechanism for text privacy",
    "Tian et al. 2026",
    (
        *map(_table_one, SETS),
        *map(_of_language_model, SETS),
        StudyPart("threshold", "Figure 5: the threshold of importance", threshold, ("squad_dev",)),
        StudyPart("groups", "Figure 6: the more groups are blurred", groups, ("squad_dev", "ag_news")),
        *map(_matched, SETS),
        *map(_matched_of_language_model, SETS),
        *map(_judge, ("squad", "fantasy")),
        StudyPart("repair", "Coherence repair by the judge's server", repair),
        StudyPart("overhead", "Section 5.4: overhead", overhead, ("squad_dev",)),
        StudyPart("attack", "What the output gives away (not in the paper)", attack, ("ag_news",)),
    ),
)
