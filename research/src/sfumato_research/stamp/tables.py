"""Whose vectors words are blurred in: those of MiniLM, and those of a language model in GPT-2's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sfumato.text import Group, WordVectors, load_vocabulary
from sfumato.text.groups import GroupMap, count_groups
from sfumato.text.importance import WordImportance
from sfumato_research.stamp.rows import THRESHOLD, pieces
from sfumato_research.stamp.sets import untested_questions
from sfumato_research.studies.base import Setting

LANGUAGE_MODEL = "lm:smollm2"
CANDIDATES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7)
_CONTEXTS = 200


@dataclass(frozen=True, slots=True, eq=False)
class WordTable:
    """Vectors of words, and the cosine from which a word is important in them."""

    vocabulary: WordVectors
    threshold: float
    of: str
    """What stands in titles; empty for MiniLM's, which came first."""


def minilm() -> WordTable:
    """The word pieces of all-MiniLM-L6-v2."""
    return WordTable(pieces(), THRESHOLD, "")


@lru_cache(maxsize=1)
def _language_model() -> WordVectors:
    return load_vocabulary(LANGUAGE_MODEL, pieces=True)


def language_model(setting: Setting) -> WordTable:
    """The pieces of SmolLM2's own table; the threshold is found by how many words it makes important."""
    questions = untested_questions(setting)[: setting.pick(_CONTEXTS, 20)]
    contexts, tasks = [one.context for one in questions], [one.question for one in questions]
    words = _language_model()
    return WordTable(words, matching_threshold(words, pieces(), contexts, tasks), "SmolLM2's table")


def matching_threshold(
    words: WordVectors, others: WordVectors, contexts: Sequence[str], tasks: Sequence[str]
) -> float:
    """The candidate at which most nearly as many words are important as in other vectors at their threshold.

    No score is looked at: contexts are not tested ones, and only words are counted.
    """
    wanted = important_share(others, THRESHOLD, contexts, tasks)
    return min(CANDIDATES, key=lambda each: abs(important_share(words, each, contexts, tasks) - wanted))


def important_share(
    words: WordVectors, threshold: float, contexts: Sequence[str], tasks: Sequence[str]
) -> float:
    """Share of words that are important to the task of their text."""
    groups = GroupMap((), WordImportance(words), threshold=threshold).group(contexts, tasks)
    counts = count_groups(groups)
    return sum(counts[group] for group in Group if group.important) / max(1, sum(counts.values()))
