"""Denoising by clusters: a mixture of normal laws, fitted to noisy rows alone, says what they were.

A linear guess knows how far texts spread and not where they gather. The prior here is a mixture of K clusters
with one spread, along the axes that shrinkage found; expectation-maximisation fits it to rows that carry
noise of unit variance, and the guess is its posterior mean, which is Tweedie's formula y + N grad log p(y)
for normal noise (Efron 2011). Its slope has a closed form, so Stein's risk does too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from sfumato.attacks.known_texts.shrinkage import (
    Denoiser,
    LinearShrinkage,
    Untouched,
    fit_shrinkage,
    folds,
    risks,
)
from sfumato.randomness import generator
from sfumato.types import Floats

CLUSTERS = (4, 16, 64)
"""Sizes of mixtures that are tried."""
_TRIALS, _TRIED_ROWS = 3, 4000
_ROUNDS = 25
_LEAST_KEPT = 0.02
"""Axes of which shrinkage keeps less hold no clusters."""
_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class ClusterPrior:
    """Posterior means under a mixture of clusters."""

    axes: Floats
    """`(k, r)` the directions it knows about; a guess has nothing in the others."""
    centres: Floats
    """`(K, r)`"""
    spread: Floats
    """`(r,)` variance of the signal around a cluster's centre."""
    shares: Floats
    """`(K,)` log share of each cluster."""

    def __call__(self, rows: Floats) -> Floats:
        """`(n, k)` the mean of what a row may have been."""
        return np.concatenate([part @ self.axes.T for part, _ in self._parts(rows)])

    def slope(self, rows: Floats) -> Floats:
        """`(n,)` the trace of the guess's Jacobian: what is kept, and how far the clusters disagree."""
        return np.concatenate([each for _, each in self._parts(rows)])

    def _parts(self, rows: Floats) -> list[tuple[Floats, Floats]]:
        height = max(1, _AT_ONCE // max(1, self.centres.size))
        return [self._part(rows[start : start + height]) for start in range(0, len(rows), height)]

    def _part(self, rows: Floats) -> tuple[Floats, Floats]:
        turned = rows @ self.axes
        odds = posterior(turned, self.centres, self.spread + 1, self.shares)
        middle = odds @ self.centres
        around = np.maximum(odds @ np.square(self.centres) - np.square(middle), 0.0)
        kept = self.spread / (self.spread + 1)
        slope = kept.sum() + (around / np.square(self.spread + 1)).sum(axis=1)
        return middle + (turned - middle) * kept, slope


def posterior(rows: Floats, centres: Floats, variance: Floats, shares: Floats) -> Floats:
    """`(n, K)` how likely each cluster is for each row."""
    left, right = rows / np.sqrt(variance), centres / np.sqrt(variance)
    table = left @ right.T - np.square(right).sum(axis=1) / 2 + shares
    return np.asarray(np.exp(table - logsumexp(table, axis=1, keepdims=True)))


def fit_clusters(rows: Floats, linear: LinearShrinkage, count: int, seed: int) -> ClusterPrior:
    """Fit a mixture of `count` clusters to rows whose noise has unit variance."""
    axes = linear.axes[:, linear.kept > _LEAST_KEPT]
    turned = rows @ axes
    centres = _first_centres(turned, min(count, len(turned)), seed)
    total = np.maximum(np.square(turned).mean(axis=0), 1.0)
    variance, shares = np.maximum(total / 2, 1.0), np.zeros(len(centres))
    for _ in range(_ROUNDS):
        odds = posterior(turned, centres, variance, shares)
        size = odds.sum(axis=0) + 1e-9
        means = odds.T @ turned / size[:, None]
        # Rows stray from their cluster by spread and noise; a share of their variance is the clusters' own.
        variance = np.maximum(np.square(turned).mean(axis=0) - size @ np.square(means) / len(turned), 1.0)
        # A centre is known from few rows: it is drawn to the middle by as much as they leave open.
        between = np.maximum(total - variance, 1e-9)
        centres = means * (between / (between + variance / size[:, None]))
        shares = np.log(size / size.sum())
    return ClusterPrior(axes, centres, variance - 1, shares)


def _first_centres(rows: Floats, count: int, seed: int) -> Floats:
    """Rows far from one another: each drawn by its squared distance from those already taken."""
    rng = generator(seed)
    taken = [int(rng.integers(len(rows)))]
    away = np.square(rows - rows[taken[0]]).sum(axis=1)
    for _ in range(count - 1):
        if not away.sum():
            break
        taken.append(int(rng.choice(len(rows), p=away / away.sum())))
        away = np.minimum(away, np.square(rows - rows[taken[-1]]).sum(axis=1))
    return rows[taken]


def choose(white: Floats, seed: int) -> tuple[str, Denoiser, float]:
    """The denoiser of least estimated risk on rows it did not learn from, then fitted to all."""
    sizes = [count for count in CLUSTERS if 4 * count <= len(white)]
    some = white[:_TRIED_ROWS]
    tried: dict[str, list[float]] = {}
    for training, test in folds(len(some), _TRIALS, seed):
        for name, denoiser in _fitted(some[training], sizes, seed).items():
            tried.setdefault(name, []).append(float(risks(denoiser, some[test]).mean()))
    best = min(tried, key=lambda name: float(np.mean(tried[name])))
    kept = [count for count in sizes if _named(count) == best]
    return best, _fitted(white, kept, seed)[best], float(np.mean(tried[best])) / white.shape[1]


def _named(count: int) -> str:
    return f"{count} clusters"


def _fitted(white: Floats, sizes: list[int], seed: int) -> dict[str, Denoiser]:
    linear = fit_shrinkage(white, seed)
    made: dict[str, Denoiser] = {"untouched": Untouched(), "linear": linear}
    made.update((_named(count), fit_clusters(white, linear, count, seed)) for count in sizes)
    return made
