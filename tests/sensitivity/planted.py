"""Pairs of made-up texts: D+ moves a tenth of the axes one way, D- the other; all else twins share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sfumato.randomness import generator


class Planted(NamedTuple):
    plus: NDArray[np.float32]
    minus: NDArray[np.float32]
    truth: NDArray[np.bool_]
    """`[d]` which axes the concept moves."""


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _texts(rng: np.random.Generator, pairs: int, dim: int) -> NDArray[np.float64]:
    # Texts gather around topics.
    return rng.standard_normal((40, dim))[rng.integers(40, size=pairs)] + 0.8 * rng.standard_normal(
        (pairs, dim)
    )


def planted_pairs(pairs: int = 600, dim: int = 96, *, shift: float = 0.4, seed: int = 0) -> Planted:
    rng = generator(seed)
    axes = rng.permutation(dim)[: round(0.1 * dim)]
    push = np.zeros(dim)
    push[axes] = shift * rng.choice([-1.0, 1.0], size=axes.size)
    texts = _texts(rng, pairs, dim)
    return Planted(_unit(texts + push), _unit(texts - push), push != 0)


def rotated_pairs(pairs: int = 600, dim: int = 96, rank: int = 8, *, seed: int = 0) -> Planted:
    """The concept moves every text inside one random subspace, by an amount of the text's own."""
    rng = generator(seed)
    basis = np.linalg.qr(rng.standard_normal((dim, rank)))[0]
    texts = _texts(rng, pairs, dim)
    amount = 2.0 + rng.standard_normal((pairs, rank))
    return Planted(_unit(texts + amount @ basis.T), _unit(texts), np.zeros(dim, bool))


def area_under_curve(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    ranks, ones = rankdata(scores), int(truth.sum())
    return float((ranks[truth].sum() - ones * (ones + 1) / 2) / (ones * (truth.size - ones)))
