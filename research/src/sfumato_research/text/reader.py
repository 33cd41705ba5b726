"""An extractive reader that runs offline: it ranks the stretches of a context as answers to a question.

A log-linear ranker over surface features (overlap with the question, nearness to it, kind of question against
kind of stretch), trained on clean passages. It is a yardstick for private text, not a good reader.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.metrics.reconstruction import bag_f1
from sfumato.randomness import generator
from sfumato.types import Floats
from sfumato_research.text.features import SIZE, Candidates, Rarity, candidates, describe

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NEGATIVES = 60
_RIDGE = 1e-3


def normalised(answer: str) -> str:
    """An answer without case, punctuation and articles, as SQuAD's own scores compare them."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(found: str, answers: Iterable[str]) -> bool:
    """Whether an answer equals one of the right ones."""
    return normalised(found) in {normalised(answer) for answer in answers}


def overlap(found: str, answers: Iterable[str]) -> float:
    """The best F1 of words shared with one of the right answers."""
    own = normalised(found).split()
    return max((bag_f1(own, normalised(answer).split()) for answer in answers if own), default=0.0)


@dataclass(frozen=True, slots=True)
class Example:
    """A question about a context, and its right answers."""

    context: str
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A trained ranker of stretches."""

    weights: Floats
    rarity: Rarity

    @classmethod
    def fit(cls, examples: Sequence[Example], *, seed: int = 0, steps: int = 200) -> Reader:
        """Learn from questions whose answer can be found word for word in their context."""
        from scipy.optimize import minimize

        rarity = Rarity.of(dict.fromkeys(example.context for example in examples))
        rng = generator(seed)
        rows: list[Floats] = []
        sizes: list[int] = []
        for example in examples:
            sample = _sample(example, rarity, rng)
            if sample is not None:
                rows.append(sample)
                sizes.append(len(sample))
        if not rows:
            raise InputError("A reader needs questions with answers in their contexts. Found none.")
        table = np.concatenate(rows)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        counts = np.array(sizes)

        def loss(weights: Floats) -> tuple[float, Floats]:
            scores = table @ weights
            top = np.maximum.reduceat(scores, starts)
            chances = np.exp(scores - np.repeat(top, counts))
            sums = np.add.reduceat(chances, starts)
            value = -float((scores[starts] - top - np.log(sums)).sum()) / len(starts)
            chances /= np.repeat(sums, counts)
            slope = (chances @ table - table[starts].sum(axis=0)) / len(starts)
            return value + _RIDGE * float(weights @ weights), slope + 2 * _RIDGE * weights

        found = minimize(loss, np.zeros(SIZE), jac=True, method="L-BFGS-B", options={"maxiter": steps})
        return cls(np.asarray(found.x), rarity)

    def answer(self, context: str, question: str) -> str:
        """The best stretch of the context, or an empty string where it has no words."""
        found = candidates(context)
        if not len(found.start):
            return ""
        best = int((describe(found, question, self.rarity) @ self.weights).argmax())
        return found.text(best)


def _sample(example: Example, rarity: Rarity, rng: np.random.Generator) -> Floats | None:
    """Features of one right stretch, then of some wrong ones."""
    found = candidates(example.context)
    right = _right(found, example.answers)
    if not right:
        return None
    others = np.setdiff1d(rng.integers(len(found.start), size=_NEGATIVES), right)
    chosen: NDArray[np.int64] = np.concatenate([right[:1], others]).astype(np.int64)
    return describe(found, example.question, rarity)[chosen]


def _right(found: Candidates, answers: Sequence[str]) -> list[int]:
    """The stretches that are a right answer, where it stands word for word."""
    wanted = {normalised(answer) for answer in answers}
    starts = {
        match.start()
        for answer in answers
        if answer.strip()
        for match in re.finditer(re.escape(answer.strip()), found.context)
    }
    return [
        row
        for row, start in enumerate(found.first_letter.tolist())
        if start in starts and normalised(found.text(row)) in wanted
    ]
