"""How much epsilon each group of words gets (STAMP, section 3.1 and table 1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from enum import IntEnum

from sfumato.errors import ParameterError
from sfumato.mechanisms.base import EPSILON_RANGE
from sfumato.numbers import finite_number, whole_number


class Group(IntEnum):
    """The four groups of the paper: sensitive or not, important to the task or not."""

    SENSITIVE_IMPORTANT = 1
    SENSITIVE = 2
    IMPORTANT = 3
    OTHER = 4

    @property
    def sensitive(self) -> bool:
        """Whether words of this group are sensitive."""
        return self <= Group.SENSITIVE

    @property
    def important(self) -> bool:
        """Whether words of this group matter to the task."""
        return self in (Group.SENSITIVE_IMPORTANT, Group.IMPORTANT)

    @property
    def short(self) -> str:
        """The group in a word or two."""
        return ("sensitive, important", "sensitive", "important", "other")[self - 1]

    @property
    def title(self) -> str:
        """The group in words."""
        return f"{'' if self.sensitive else 'not '}sensitive, {'' if self.important else 'not '}important"


PAPER_ROWS = (
    (150.0, 50.0, 450.0, 350.0),
    (200.0, 100.0, 500.0, 400.0),
    (250.0, 150.0, 550.0, 450.0),
    (300.0, 200.0, 600.0, 500.0),
    (350.0, 250.0, 650.0, 550.0),
)
"""The budgets of the paper's table 1, group 1 to 4."""

PROPORTIONS = (3.0, 1.0, 9.0, 7.0)
"""The first row's shares: moderate, smallest, largest, large."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """Epsilon per unit of distance for one word of each group.

    0 means that nothing of the word is released: a placeholder stands for it (the limit in section 3).
    Infinity means that words are released as they are, which groups of sensitive words refuse.
    """

    sensitive_important: float
    sensitive: float
    important: float
    other: float

    def __post_init__(self) -> None:
        """Check the four numbers."""
        for group in Group:
            value = self.of(group)
            if group.sensitive and value == math.inf:
                raise ParameterError(
                    f"The budget of group {group.value} ({group.title}) must be finite. Found inf: sensitive "
                    "words are never copied."
                )
            if value not in (0, math.inf):
                finite_number(value, f"budget of group {group.value}", *EPSILON_RANGE)

    @classmethod
    def paper(cls, row: int = 1) -> Budgets:
        """A row of the paper's table 1, counted from 1."""
        return cls(*PAPER_ROWS[whole_number(row, "row", 1, len(PAPER_ROWS)) - 1])

    @classmethod
    def proportional(cls, epsilon: float) -> Budgets:
        """The paper's proportions, 3 : 1 : 9 : 7, with `epsilon` for sensitive words that do not matter."""
        return cls(*(epsilon * share for share in PROPORTIONS))

    @classmethod
    def uniform(cls, epsilon: float) -> Budgets:
        """The same for every word."""
        return cls(epsilon, epsilon, epsilon, epsilon)

    @classmethod
    def parse(cls, text: str) -> Budgets:
        """Read four numbers with commas between, in the order of the groups; `inf` is a number."""
        try:
            values = [float(part) for part in text.split(",")]
        except ValueError:
            values = []
        if len(values) != len(Group):
            raise ParameterError(
                f"Budgets must be four numbers with commas between: 150,50,450,350. Found {text!r:.60}."
            )
        return cls(*values)

    def of(self, group: Group) -> float:
        """The budget of a word of this group."""
        return float((self.sensitive_important, self.sensitive, self.important, self.other)[group - 1])

    def scaled(self, factor: float) -> Budgets:
        """Every budget times `factor`."""
        return Budgets(*(value * factor for value in astuple(self)))

    def mean(self, words: Mapping[Group, int] | Iterable[tuple[Group, int]]) -> float:
        """The mean budget of a word, given how many words each group has: the uniform budget that matches."""
        counts = dict(words)
        total = sum(counts.values())
        if not total:
            raise ParameterError("The mean budget needs at least one word. Found none.")
        return sum(self.of(group) * count for group, count in counts.items() if count) / total
