"""What a rewritten text promises: theorem 2 of STAMP, with everything it does not cover said beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sfumato.accounting.guarantee import Guarantee, Metric
from sfumato.text.budgets import Budgets, Group

WITHIN_GROUPS = (
    "holds between texts whose words are in the same groups, position by position; the groups themselves "
    "(which words are sensitive, which matter to the task) can show and are not protected"
)
GIVEN_GROUPS = (
    "groups were given by a map of the caller's, {name}: what it looks at is its own affair, and which group "
    "each word is in can show"
)
LAYOUT = (
    "the number of words, and outside sensitive spans also spacing, punctuation, contractions and capitals, "
    "are released as they are"
)
PIECES = f"{LAYOUT}; so is the number of pieces of each word"
UNKNOWN_BLURRED = (
    "a word outside the vocabulary counts as one public stand-in, so that all of them come out alike"
)
UNKNOWN_HIDDEN = "a word outside the vocabulary becomes a placeholder, which shows that it was outside"
UNKNOWN_KEPT = "words outside the vocabulary are released as they are unless they are sensitive"

_FARTHEST = {"chordal": 2.0, "l2": 2.0, "angular": math.pi, "chordal+radius": 3.0, "bounded": 1.0}
"""The largest distance between two words, by metric; unit vectors, or radii of at most 1."""


@dataclass(frozen=True, slots=True)
class GroupPromise:
    """What the words of one group of one text promise."""

    group: Group
    words: int
    draws: int
    """Draws of the mechanism: one a word, more where words are cut into pieces, none for a placeholder."""
    epsilon: float
    """For each draw, per unit of distance."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "group": int(self.group),
            "title": self.group.title,
            "words": self.words,
            "draws": self.draws,
            "epsilon": "inf" if math.isinf(self.epsilon) else self.epsilon,
        }


@dataclass(frozen=True, slots=True)
class Promise:
    """What the release of one text promises, group by group and as a whole."""

    mechanism: str
    metric: Metric
    groups: tuple[GroupPromise, ...]
    slack: float
    """Extra loss that floating point may add, over all words."""
    notes: tuple[str, ...]

    @property
    def epsilon(self) -> float:
        """Sum over positions (theorem 2): loss per unit of distance if every word moved by one unit."""
        return math.fsum(part.draws * part.epsilon for part in self.groups if part.draws)

    @property
    def worst_case(self) -> float:
        """The largest loss between any two texts with the same groups: every word at the largest distance."""
        return self.epsilon * _FARTHEST.get(self.metric, math.inf) + self.slack if self.epsilon else 0.0

    @property
    def guarantee(self) -> Guarantee:
        """The same as a record for ledgers and reports; conditional, because groups count as public."""
        return Guarantee(
            f"stamp, {self.mechanism}",
            self.epsilon,
            self.metric,
            "conditional",
            worst_case_l2=self.epsilon if self.metric in ("l2", "chordal") else math.inf,
            slack=self.slack,
            notes=self.notes,
        )

    def describe(self) -> str:
        """One plain sentence, with the caveat that belongs to it."""
        words = sum(part.words for part in self.groups)
        return (
            f"{self.mechanism}: epsilon {self.epsilon:.6g} over {words} words per unit of {self.metric} "
            f"distance (at most {self.worst_case:.6g} between two texts); {WITHIN_GROUPS}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "mechanism": self.mechanism,
            "metric": self.metric,
            "proof": "conditional",
            "epsilon": self.epsilon,
            "worst_case": "inf" if math.isinf(self.worst_case) else self.worst_case,
            "slack": self.slack,
            "groups": [part.to_dict() for part in self.groups],
            "notes": list(self.notes),
        }


def promise(
    drawn: Iterable[tuple[Group, int]], budgets: Budgets, one: Guarantee, mechanism: str, notes: Iterable[str]
) -> Promise:
    """Compose the promise of a text from those of its words.

    Args:
        drawn: group and number of draws of every position.
        budgets: what each group gets.
        one: the guarantee of one word, which gives metric and slack.
        mechanism: its name.
        notes: what belongs to every result.
    """
    words: Counter[Group] = Counter()
    draws: Counter[Group] = Counter()
    for group, count in drawn:
        words[group] += 1
        draws[group] += count
    parts = tuple(GroupPromise(group, words[group], draws[group], budgets.of(group)) for group in Group)
    noisy = sum(part.draws for part in parts)
    kept = sum(part.words for part in parts if math.isinf(part.epsilon))
    said = list(notes)
    if kept:
        said.append(
            f"{kept} words of groups with an infinite budget are released as they are, with no promise"
        )
    return Promise(mechanism, one.metric, parts, one.slack * noisy, tuple(said))
