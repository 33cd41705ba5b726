"""How much an attack got right: plain functions from what was true and what was guessed to figures.

Words are compared as `tokens` cuts them: lower case, runs of letters and digits, and every other mark that is
no space on its own. That is how uncased encoders see a text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import InputError
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import generator
from sfumato.types import Floats

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Figure:
    """A share or a mean, with an interval that covers the true one in about 95 of 100 samples like this."""

    metric: str
    value: float
    low: float
    high: float
    count: int
    """How many rows, or sensitive terms, it is an average of."""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "metric": self.metric,
            "value": self.value,
            "interval": [self.low, self.high],
            "count": self.count,
        }


def tokens(text: str) -> list[str]:
    """Words and single punctuation marks, in lower case."""
    return _TOKEN.findall(text.lower())


def token_f1(reference: str, hypothesis: str) -> float:
    """F1 of the two bags of tokens; 1 for two empty texts, 0 where only one is empty."""
    true, guessed = Counter(tokens(reference)), Counter(tokens(hypothesis))
    total = true.total() + guessed.total()
    return 2 * (true & guessed).total() / total if total else 1.0


def exact_match(reference: str, hypothesis: str) -> bool:
    """Whether both texts have the same tokens in the same order: case and spacing do not count."""
    return tokens(reference) == tokens(hypothesis)


def cosine(one: Any, other: Any) -> Floats:
    """`[n]` cosine of each row with its counterpart; 0 where a row is zero."""
    left, right = as_vectors(one).astype(np.float64), as_vectors(other).astype(np.float64)
    if left.shape != right.shape:
        raise InputError(f"Rows must pair up. Found {left.shape} and {right.shape}.")
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray(np.vecdot(left, right) / np.where(lengths == 0.0, 1.0, lengths))


def ranked(
    probabilities: NDArray[np.floating[Any]], vocabulary: Sequence[str], counts: Sequence[int]
) -> list[list[str]]:
    """The likeliest terms of each row, as many as `counts` says; equals stand in the vocabulary's order."""
    order = np.argsort(-np.asarray(probabilities), axis=1, kind="stable")
    return [
        [vocabulary[term] for term in row[:count]] for row, count in zip(order.tolist(), counts, strict=True)
    ]


def top_share(truth: Sequence[Collection[str]], guesses: Sequence[Sequence[str]]) -> Figure:
    """Leakage: the share of sensitive terms among each row's first |C_i| guesses (SPARSE, eq. 13).

    The paper asks whether a term is in the reconstructed sentence; an attack that ranks terms gets as many
    guesses as the row has terms, so that a long list is no advantage. Terms are compared in lower case.
    """
    _same(truth, guesses)
    hits = total = 0
    for true, guessed in zip(truth, guesses, strict=True):
        wanted = {term.lower() for term in true}
        hits += len(wanted & {term.lower() for term in guessed[: len(wanted)]})
        total += len(wanted)
    return share("leakage", hits, total)


def leaked(truth: Sequence[Collection[str]], hypotheses: Sequence[str]) -> Figure:
    """Leakage of a rebuilt text: the share of sensitive terms that stand in it (SPARSE, eq. 13)."""
    _same(truth, hypotheses)
    hits = total = 0
    for true, text in zip(truth, hypotheses, strict=True):
        written = f" {' '.join(tokens(text))} "
        wanted = {" ".join(tokens(term)) for term in true}
        hits += sum(f" {term} " in written for term in wanted)
        total += len(wanted)
    return share("leakage", hits, total)


def confidence(
    truth: Sequence[Collection[str]], probabilities: NDArray[np.floating[Any]], vocabulary: Sequence[str]
) -> Figure:
    """Mean probability given to the terms that are there (SPARSE, eq. 14); 0 for terms it does not know."""
    _same(truth, probabilities)
    index = {term.lower(): number for number, term in enumerate(vocabulary)}
    given = [
        float(probabilities[row, index[term]]) if term in index else 0.0
        for row, true in enumerate(truth)
        for term in sorted({term.lower() for term in true})
    ]
    return mean("confidence", given)


def calibration_error(
    probabilities: NDArray[np.floating[Any]], happened: NDArray[np.bool_], *, bins: int = 15
) -> float:
    """Expected calibration error: mean |share that happened - probability given|, over equal bins.

    Guo et al. 2017, eq. 3, for yes-or-no forecasts.
    """
    given = np.asarray(probabilities, np.float64).ravel()
    truth = np.asarray(happened, np.float64).ravel()
    if given.shape != truth.shape or not given.size:
        raise InputError(f"Every forecast must have its outcome. Found {given.size} and {truth.size}.")
    place = np.minimum((given * whole_number(bins, "bins", 1, 10**6)).astype(np.intp), bins - 1)
    gaps = np.bincount(place, given - truth, bins)
    return float(np.abs(gaps).sum() / given.size)


def share(metric: str, hits: int, count: int, *, z: float = 1.96) -> Figure:
    """A share with Wilson's interval (Wilson 1927); nothing of nothing is 0, anywhere between 0 and 1."""
    if not count:
        return Figure(metric, 0.0, 0.0, 1.0, 0)
    value, square = hits / count, z * z / count
    middle = (value + square / 2) / (1 + square)
    half = z / (1 + square) * math.sqrt(value * (1 - value) / count + square / (4 * count))
    return Figure(metric, value, max(0.0, middle - half), min(1.0, middle + half), count)


def mean(metric: str, values: Sequence[float], *, draws: int = 1000, seed: int = 0) -> Figure:
    """A mean with a bootstrap interval: 2.5 and 97.5 percent of the means of resampled rows."""
    array = np.asarray(values, np.float64)
    if not array.size:
        return Figure(metric, 0.0, 0.0, 1.0, 0)
    rng = generator(seed)
    means = np.array([array[rng.integers(0, array.size, array.size)].mean() for _ in range(draws)])
    low, high = np.quantile(means, (0.025, 0.975))
    return Figure(metric, float(array.mean()), float(low), float(high), array.size)


def text_figures(references: Sequence[str], hypotheses: Sequence[str]) -> list[Figure]:
    """Mean token F1 and the share of exact matches."""
    _same(references, hypotheses)
    rows = list(zip(references, hypotheses, strict=True))
    return [
        mean("token F1", [token_f1(*row) for row in rows]),
        share("exact match", sum(exact_match(*row) for row in rows), len(rows)),
    ]


def ranks(
    scores: Floats, truth: NDArray[np.intp], *, seed: int = 0, tolerance: float = 1e-6
) -> NDArray[np.intp]:
    """`[n]` rank of the true column of each row, from 0; columns that score alike stand in random order.

    Scores within `tolerance` are alike: what differs there is rounding, and ranking by it, or by position,
    would turn a pure guess into a hit or a miss.
    """
    own = scores[np.arange(len(scores)), truth][:, None]
    above = (scores > own + tolerance).sum(axis=1)
    alike = (np.abs(scores - own) <= tolerance).sum(axis=1)
    return np.asarray(above + generator(seed).integers(0, np.maximum(alike, 1)), np.intp)


def top(metric: str, found: NDArray[np.intp], within: int = 1) -> Figure:
    """Share of rows whose truth ranks among the first `within`."""
    return share(metric, int((found < within).sum()), len(found))


def random_order(scores: Floats, rng: np.random.Generator, *, tolerance: float = 1e-6) -> NDArray[np.intp]:
    """Columns from the highest score down, `(n, k)`; scores that are alike stand in random order."""
    finite_number(tolerance, "tolerance", 0.0, 1.0)
    rounded = np.where(np.isfinite(scores), np.round(scores / tolerance), -np.inf) if tolerance else scores
    return np.asarray(np.lexsort((rng.random(scores.shape), -rounded), axis=-1), np.intp)


def _same(one: Any, other: Any) -> None:
    if len(one) != len(other):
        raise InputError(f"There must be one guess a row. Found {len(one)} rows and {len(other)} guesses.")


Score = Callable[[Any], Figure]
"""What an attack recovered in, one figure out."""
