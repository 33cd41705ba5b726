"""Orders of guesses: the likeliest terms of a row, the rank of the truth, and how well chances are stated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.metrics.intervals import Figure, share
from sfumato.metrics.leakage import Token, token
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import generator
from sfumato.types import Floats


def ranked(
    probabilities: NDArray[np.floating[Any]], vocabulary: Sequence[str], counts: Sequence[int]
) -> list[list[str]]:
    """The likeliest terms of each row, as many different ones as `counts` says.

    Of several spellings of one term the likeliest stands; equals keep the vocabulary's order.
    """
    order = np.argsort(-np.asarray(probabilities), axis=1, kind="stable").tolist()
    compared = [token(term) for term in vocabulary]
    if len(set(compared)) == len(compared):
        return [[vocabulary[at] for at in row[:count]] for row, count in zip(order, counts, strict=True)]
    found = []
    for row, count in zip(order, counts, strict=True):
        likeliest: dict[Token, str] = {}
        for at in row:
            if len(likeliest) < count:
                likeliest.setdefault(compared[at], vocabulary[at])
        found.append(list(likeliest.values()))
    return found


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
