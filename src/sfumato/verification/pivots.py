"""Pivots: what is left of a release once all parameters are taken off, and what its law must then be.

Written from the papers' densities and not from the samplers, so that the two can disagree. A new mechanism
is held to the ellipse it declares, or adds a law of its own with `pivots.register`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammainccinv, gammaincinv, gammaln, ndtr, ndtri, ndtri_exp

from sfumato.errors import ParameterError
from sfumato.mechanisms import (
    Gaussian,
    Identity,
    Laplace,
    Mahalanobis,
    Mechanism,
    Polar,
    Projection,
    Purkayastha,
    Suppression,
)
from sfumato.types import Floats

_CELLS = 20_000
_DEPTH = 60.0
"""Angles whose density is below exp(-_DEPTH) of its peak never occur."""

_RESOLVED = 32.0
"""Grid steps to a standard deviation from which rounding no longer shows in a law."""


@dataclass(frozen=True, slots=True, eq=False)
class Pivots:
    """Laws without parameters, one release a row."""

    scores: dict[str, Floats] = field(default_factory=dict)
    """Claim -> `[n]` probabilities, independent and uniform on (0, 1) if the claim holds."""
    directions: Floats | None = None
    """`[n, k]` unit vectors, independent and uniform on the sphere."""
    facts: dict[str, bool] = field(default_factory=dict)
    """Claim -> whether it holds, for what chance has no part in."""


@singledispatch
def pivots(mechanism: Mechanism, vectors: Floats, released: Floats) -> Pivots:
    """Take the known parameters off releases whose rounding to the grid was undone by uniform noise."""
    ellipse = mechanism.ellipse(vectors.shape[1])
    if ellipse is None:
        raise ParameterError(
            f"No law is known for the mechanism `{mechanism.name}`. "
            "Write one and add it with sfumato.verification.pivots.register."
        )
    noise = ellipse.whiten(released - mechanism.expected(vectors))
    return _normal(noise) if ellipse.squared else _laplace(noise, 1.0)


def _spherical(noise: Floats, claim: str, cdf: Callable[[Floats], Floats]) -> Pivots:
    """Split noise into a radius of known law and a uniform direction."""
    radius = np.linalg.norm(noise, axis=1)
    return Pivots({claim: cdf(radius)}, noise / np.maximum(radius, np.finfo(float).tiny)[:, None])


def _laplace(noise: Floats, rate: float) -> Pivots:
    dim = noise.shape[1]
    # exp(-rate r) over the shell r^(n-1) is Gamma(n) (Wu et al. 2017, section 4).
    return _spherical(noise, f"radius is Gamma({dim})", lambda radius: gammainc(dim, rate * radius))


@pivots.register
def _(mechanism: Laplace, vectors: Floats, released: Floats) -> Pivots:
    return _laplace(released - vectors, mechanism.epsilon)


@pivots.register
def _(mechanism: Mahalanobis, vectors: Floats, released: Floats) -> Pivots:
    # In the eigenbasis: a wrong root of Sigma can look right along random axes and cannot along these.
    values, basis = np.linalg.eigh(mechanism.shape.covariance())
    noise = (released - vectors) @ basis / np.sqrt(values)
    seen = resolved(mechanism, mechanism.dim, np.sqrt(values * (mechanism.dim + 1)) / mechanism.epsilon)
    if seen.all():
        return _laplace(noise, mechanism.epsilon)
    part, dim = int(seen.sum()), len(values)
    claim = f"radius on {part} of {dim} axes follows its mixture"
    return _spherical(
        noise[:, seen], claim, lambda radius: _partial_radius_cdf(part, dim, mechanism.epsilon * radius)
    )


def resolved(mechanism: Mechanism, dim: int, deviations: Floats) -> NDArray[np.bool_]:
    """Which axes have noise much wider than the output grid; on the others rounding hides the law."""
    return np.asarray(deviations > _RESOLVED * mechanism.step(dim))


def _partial_radius_cdf(part: int, dim: int, radius: Floats) -> Floats:
    """Distribution of the length of `part` of the `dim` coordinates of noise of density ~ exp(-||z||).

    That noise is sqrt(2 v) times a standard normal vector, v ~ Gamma((n + 1)/2) (Andrews and Mallows 1974).
    """
    shape = (dim + 1) / 2
    logs = np.linspace(np.log(gammaincinv(shape, 1e-16)), np.log(gammainccinv(shape, 1e-16)), 801)
    weights = np.exp(shape * logs - np.exp(logs) - gammaln(shape))
    places = np.geomspace(radius.min(), radius.max(), 401)
    table = gammainc(part / 2, places[:, None] ** 2 / (4 * np.exp(logs))) @ (weights / weights.sum())
    # Normal scores are nearly straight where probabilities bend.
    scores = ndtri(np.clip(table, 1e-300, 1 - 2.0**-53))
    return np.asarray(ndtr(np.interp(radius, places, scores)))


@pivots.register
def _(mechanism: Gaussian, vectors: Floats, released: Floats) -> Pivots:
    return _normal((released - vectors) / mechanism.sigma)


def _normal(noise: Floats) -> Pivots:
    dim = noise.shape[1]
    found = _spherical(noise, f"squared radius is chi-square({dim})", lambda r: gammainc(dim / 2, r * r / 2))
    found.scores["coordinates are normal"] = ndtr(_one_a_row(noise))
    return found


@pivots.register
def _(mechanism: Projection, vectors: Floats, released: Floats) -> Pivots:
    matrix = mechanism.matrix(vectors.shape[1])
    n, m = matrix.shape
    largest = float(np.linalg.svd(matrix, compute_uv=False)[0])
    stretch = 1 + mechanism.beta if mechanism.sensitivity == "width" else largest
    found = _laplace(released - vectors @ matrix, mechanism.epsilon / stretch)
    if mechanism.sensitivity == "orthonormal":
        gram = matrix.T @ matrix * (m / n)
        found.facts["rows of the matrix are orthonormal"] = bool(np.abs(gram - np.eye(m)).max() < 1e-9)
    elif matrix.size >= 1000:
        found.scores["entries of the matrix are N(0, 1/m)"] = ndtr(matrix.ravel() * math.sqrt(m))
    if mechanism.sensitivity != "width":
        found.facts["the noise covers the largest stretch"] = bool(
            mechanism.stretch(n) >= largest * (1 - 1e-12)
        )
    return found


@pivots.register
def _(mechanism: Suppression, vectors: Floats, released: Floats) -> Pivots:
    dim = vectors.shape[1]
    count = max(1, round(mechanism.share * dim))
    axes = np.argsort(-mechanism.mask.scores, kind="stable")[:count]
    rate = mechanism.epsilon * math.sqrt(count / dim)
    # Rounding may carry a push of nearly nothing across zero, hence the absolute value.
    push = np.abs((vectors - released)[:, axes])
    normal = -ndtri_exp(-rate * push)
    found = _spherical(
        normal,
        f"normal scores of the pushes are chi-square({count})",
        lambda r: gammainc(count / 2, r * r / 2),
    )
    found.scores["pushes are exponential"] = -np.expm1(-rate * _one_a_row(push))
    step = mechanism.step(dim)
    towards = (vectors - released)[:, axes] * np.sign(vectors[:, axes])
    others = np.delete(np.abs(vectors - released), axes, axis=1)
    found.facts["every push points towards zero"] = bool(towards.min() >= -step)
    found.facts["the other axes are as they were"] = bool(others.max(initial=0.0) <= step * (1 + 1e-9))
    return found


@pivots.register
def _(mechanism: Identity, vectors: Floats, released: Floats) -> Pivots:
    same = bool(np.array_equal(vectors.astype(np.float32), released))
    return Pivots(facts={"vectors are released as they are": same})


@pivots.register
def _(mechanism: Purkayastha, vectors: Floats, released: Floats) -> Pivots:
    return _turned(vectors, released, lambda angle: -mechanism.epsilon * angle, "sin^(n-2) exp(-eps t)")


@pivots.register
def _(mechanism: Polar, vectors: Floats, released: Floats) -> Pivots:
    found = _turned(vectors, released, lambda t: mechanism.epsilon * np.cos(t), "sin^(n-2) exp(eps cos t)")
    if mechanism.radius_epsilon is None:
        return found
    rate, top = mechanism.radius_epsilon, 2 * mechanism.max_norm
    cut = top - 4 * mechanism.step(vectors.shape[1]) * math.sqrt(vectors.shape[1])
    centre, radius = np.linalg.norm(vectors, axis=1), np.linalg.norm(released, axis=1)

    def folded(r: Floats) -> Floats:
        return _laplace_cdf(rate * (r - centre)) - _laplace_cdf(-rate * (r + centre))

    # Radii at the cut are one atom; the angle's own probability, independent of it, spreads them evenly.
    below, spread = folded(np.full_like(radius, cut)), next(iter(found.scores.values()))
    atom = below + (1 - below) * spread
    found.scores["radius is folded Laplace"] = np.where(radius < cut, folded(radius), atom)
    return found


def _laplace_cdf(values: Floats) -> Floats:
    half = 0.5 * np.exp(-np.abs(values))
    return np.where(values < 0, half, 1 - half)


def _one_a_row(values: Floats) -> Floats:
    """Take one column from each row, in turn: numbers of one row may depend on each other."""
    rows = np.arange(len(values))
    return np.asarray(values[rows, rows % values.shape[1]])


def _turned(vectors: Floats, released: Floats, tilt: Callable[[Floats], Floats], formula: str) -> Pivots:
    """Split a turned direction into its angle of known law and a uniform tangent direction."""
    dim = vectors.shape[1]
    before = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    after = released / np.linalg.norm(released, axis=1, keepdims=True)
    # Accurate at both ends, where an arc cosine is not.
    apart, together = np.linalg.norm(after - before, axis=1), np.linalg.norm(after + before, axis=1)
    angle = 2 * np.arctan2(apart, together)
    # A reflection takes `before` to the first axis (away from it, so that nothing cancels).
    mirror = before.copy()
    mirror[:, 0] += np.copysign(1.0, before[:, 0])
    share = 2 * np.vecdot(mirror, after) / np.vecdot(mirror, mirror)
    tangent = (after - share[:, None] * mirror)[:, 1:]
    length = np.maximum(np.linalg.norm(tangent, axis=1), np.finfo(float).tiny)
    return Pivots({f"angle is {formula}": angle_cdf(dim, tilt, angle)}, tangent / length[:, None])


def angle_cdf(dim: int, tilt: Callable[[Floats], Floats], angle: Floats) -> Floats:
    """Distribution of the density sin(t)^(n-2) exp(tilt(t)) on (0, pi), integrated in logarithms."""

    def log_weight(t: Floats) -> Floats:
        return (dim - 2) * np.log(np.sin(t)) + tilt(t)

    coarse = np.linspace(0.0, math.pi, 4 * _CELLS + 1)[1:-1]
    heights = log_weight(coarse)
    there = coarse[heights > heights.max() - _DEPTH]
    spacing = coarse[0]
    edges = np.linspace(there[0] - spacing, there[-1] + spacing, _CELLS + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    weights = log_weight(middles)
    mass = np.exp(weights - weights.max())
    cumulative = np.concatenate([[0.0], np.cumsum(mass)])
    return np.asarray(np.interp(angle, edges, cumulative / cumulative[-1]))
