"""Layer 2, the law: exact goodness of fit of released vectors, in the dimensions people use.

In many dimensions the privacy loss of a wrong sampler cannot be seen, but its law can: the pivots of a
correct one are uniform numbers and uniform directions, whatever the parameters.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, ndtr, ndtri
from scipy.stats import beta, chi2, kstwo

from sfumato.randomness import Source
from sfumato.types import Floats
from sfumato.verification.cases import Case
from sfumato.verification.pivots import pivots
from sfumato.verification.report import CheckRow

_PAIR_ROWS = 1500
_PAIR_DIM = 16
"""In fewer dimensions two independent directions are often nearly parallel."""


def _two_sided(low: float, high: float) -> float:
    return min(1.0, 2 * min(low, high))


def _of(p_values: list[float]) -> float:
    """The smallest of several p-values, paid for (Bonferroni)."""
    return min(1.0, len(p_values) * min(p_values))


def _normal(z: float) -> float:
    return 2 * float(ndtr(-abs(z)))


def _chi_square(value: float, degrees: float) -> float:
    return _two_sided(float(chi2.cdf(value, degrees)), float(chi2.sf(value, degrees)))


def _normal_scores(scores: Floats) -> Floats:
    return np.asarray(ndtri(np.clip(scores, 1e-300, 1 - 2.0**-53)))


def uniform_p(scores: Floats) -> float:
    """p-value of independent uniforms: Kolmogorov-Smirnov, and place and spread of their normal scores."""
    count = len(scores)
    ordered = np.sort(scores)
    steps = np.arange(count + 1) / count
    distance = max(float((steps[1:] - ordered).max()), float((ordered - steps[:-1]).max()))
    normal = _normal_scores(scores)
    place = float(normal.sum()) / math.sqrt(count)
    return _of(
        [float(kstwo.sf(distance, count)), _normal(place), _chi_square(float((normal**2).sum()), count)]
    )


def direction_p(directions: Floats) -> float:
    """p-value of uniform directions: coordinates, mean, energy of each axis, and all second moments.

    Coordinates: squares are Beta(1/2, (k-1)/2). Mean: Rayleigh. Second moments: Bingham 1974; the statistic
    has exactly the mean, and for many rows the variance, of its chi-square in every dimension.
    """
    count, k = directions.shape
    mean = directions.mean(axis=0)
    if k == 1:
        # As many ups as downs is the likeliest outcome of all, not one that is too good to be true.
        return _normal(float(mean[0]) * math.sqrt(count))
    found = [_chi_square(count * k * float(mean @ mean), k)]
    rows = np.arange(count)
    squares = directions[rows, rows % k] ** 2
    found.append(uniform_p(betainc(0.5, (k - 1) / 2, np.minimum(squares, 1.0))))
    moments = directions.T @ directions / count
    # Var(k s^2) is 2 (k-1)/(k+2), and the energies add up to k: one degree of freedom less.
    energy = float(((k * np.diag(moments) - 1) ** 2).sum()) * count * (k + 2) / (2 * k)
    found.append(_chi_square(energy, k - 1))
    bingham = count * k * (k + 2) / 2 * (float((moments**2).sum()) - 1 / k)
    found.append(_chi_square(bingham, (k - 1) * (k + 2) / 2))
    return _of(found)


def rows_p(directions: Floats | None, scores: list[Floats], rng: np.random.Generator) -> float:
    """p-value of independent rows: neighbours are uncorrelated, and no two directions are too much alike."""
    found = []
    for values in scores:
        normal = _normal_scores(values)
        normal = normal - normal.mean()
        spread = float(normal @ normal) / len(normal)
        along = float(normal[:-1] @ normal[1:]) / math.sqrt(len(normal))
        found.append(_normal(along / spread) if spread > 1e-12 else 0.0)
    if directions is not None:
        count, k = directions.shape
        along = float(np.vecdot(directions[:-1], directions[1:]).sum())
        found.append(_normal(along * math.sqrt(k / (count - 1))))
        if k >= _PAIR_DIM:
            some = directions[rng.choice(count, min(count, _PAIR_ROWS), replace=False)]
            pairs = len(some) * (len(some) - 1) / 2
            closest = float(np.abs(np.triu(some @ some.T, 1)).max())
            found.append(min(1.0, pairs * float(beta.sf(min(closest**2, 1.0), 0.5, (k - 1) / 2))))
    return _of(found)


def unit_vectors(count: int, dim: int, rng: np.random.Generator) -> Floats:
    """Draw directions evenly; they stand for embeddings."""
    vectors = rng.standard_normal((count, dim))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def check_law(case: Case, count: int, source: Source, rng: np.random.Generator) -> list[CheckRow]:
    """Release `count` vectors, half of them the same one, and compare every pivot with its law."""
    mechanism, dim = case.mechanism, case.dim
    lengths = rng.uniform(0.3, 1.0, (count, 1)) * mechanism.max_norm
    vectors = unit_vectors(count, dim, rng) * lengths
    # Noise that leans to a fixed side of space shows only while the input stays, other faults while it moves.
    vectors[: count // 2] = vectors[0]
    released = mechanism.privatize(vectors, source).astype(np.float64)
    if mechanism.noise_sd(dim) > 0:
        # Spread each number over its grid cell again, so that laws are continuous.
        released += mechanism.step(dim) * (rng.random(released.shape) - 0.5)
    found = pivots(mechanism, vectors, released)
    p_values = {claim: uniform_p(values) for claim, values in found.scores.items()}
    if found.directions is not None:
        k = found.directions.shape[1]
        p_values[f"direction is uniform in {k} dimensions"] = direction_p(found.directions)
    matched = [values for values in found.scores.values() if len(values) == count]
    if matched or found.directions is not None:
        p_values["rows are independent"] = rows_p(found.directions, matched, rng)
    rows = [case.p_row(claim, p) for claim, p in p_values.items()]
    return rows + [case.fact_row(claim, holds) for claim, holds in found.facts.items()]
