"""Layer 1, the promise: a lower bound on the privacy loss, with a threshold chosen on other samples.

For two inputs x and x' and any event S, log P[M(x) in S] - log P[M(x') in S] must not exceed the claimed
loss. The exact likelihood ratio is the best statistic there is; distance from the input catches samplers that
are wrong in a way their own log density does not know. Bounds are those of Clopper and Pearson 1934.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr

from sfumato.errors import ParameterError
from sfumato.mechanisms import Mechanism
from sfumato.randomness import Source
from sfumato.types import Floats
from sfumato.verification.cases import Case
from sfumato.verification.density import TOLERANCE, can_integrate, total_mass
from sfumato.verification.pivots import resolved
from sfumato.verification.report import ALPHA, CheckRow

_THRESHOLDS = 200
_HUGE = 700.0


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two inputs, and the loss that is claimed between them."""

    first: Floats
    second: Floats
    loss: float
    delta: float
    share: float = 1.0
    """How far from one to the other a density ratio is still tame enough to be averaged."""


def _worst_direction(mechanism: Mechanism, dim: int) -> Floats:
    """The direction in which inputs are told apart most easily; an even one where all are alike."""
    ellipse = mechanism.ellipse(dim)
    even = np.full(dim, 1 / math.sqrt(dim))
    if ellipse is None:
        return even
    left, seen, _ = np.linalg.svd(ellipse.whiten(mechanism.expected(np.eye(dim))), full_matrices=False)
    alike = len(seen) == dim and seen[0] - seen[-1] < 1e-9 * seen[0]
    return even if alike else np.asarray(left[:, 0])


def _claimed(mechanism: Mechanism, dim: int) -> tuple[float, float]:
    """The distance that makes a loss of about 1 along the worst direction, and the loss claimed there."""
    promise, farthest = mechanism.guarantee, 2 * mechanism.max_norm
    if promise.metric == "bounded" or not promise.is_private:
        distance = farthest if promise.is_private else min(mechanism.noise_sd(dim), farthest)
        return distance, promise.loss(distance)
    stated = promise.worst_case_l2 if math.isfinite(promise.worst_case_l2) else promise.epsilon
    # Two inputs of our own choice need not meet a promise's condition; this loss holds for any two.
    worst = mechanism.worst_epsilon(dim)
    distance = min(1 / stated, farthest)
    return distance, (worst if math.isfinite(worst) else stated) * distance + promise.slack


def make_pair(mechanism: Mechanism, dim: int) -> Pair:
    """Choose two inputs with a claimed loss of about 1, as far as the norm bound allows."""
    promise = mechanism.guarantee
    if promise.metric in ("l2", "mahalanobis", "bounded", "none"):
        distance, loss = _claimed(mechanism, dim)
        half = _worst_direction(mechanism, dim) * distance / 2
        # Where the loss has no bound, neither has the ratio: a few rare releases would carry its whole mean.
        tame = promise.metric in ("l2", "mahalanobis")
        share = 1.0 if tame else min(1.0, mechanism.noise_sd(dim) / distance)
        return Pair(half, -half, loss, promise.delta, share)
    with_radius = promise.metric == "chordal+radius"
    chord = min((0.5 if with_radius else 1.0) / promise.epsilon, math.sqrt(2.0))
    turn = 2 * math.asin(chord / 2)
    if promise.metric == "angular":
        turn = min(1 / promise.epsilon, math.pi / 2)
    first, second = np.zeros((2, dim))
    first[:2] = math.cos(turn / 2), math.sin(turn / 2)
    second[:2] = math.cos(turn / 2), -math.sin(turn / 2)
    apart = turn if promise.metric == "angular" else 2 * math.sin(turn / 2)
    if with_radius:
        longer = min(0.5 / promise.epsilon, mechanism.max_norm / 2)
        first, second = first * mechanism.max_norm, second * (mechanism.max_norm - longer)
        apart += longer
    return Pair(first, second, promise.loss(apart), promise.delta)


def loss_bound(
    hits: Any, others: Any, count: int, delta: float = 0.0, alpha: float = ALPHA
) -> NDArray[np.float64]:
    """Lower bound on log((P - delta)/P') from `hits` and `others` out of `count`; wrong with chance alpha."""
    own, other = np.asarray(hits, np.float64), np.asarray(others, np.float64)
    # The extremes have exact answers that the inverse beta function does not take.
    low = np.where(own > 0, betaincinv(np.maximum(own, 1), count - own + 1, alpha / 2), 0.0)
    high = np.where(other < count, 1 - betaincinv(np.maximum(count - other, 1), other + 1, alpha / 2), 1.0)
    return np.log(np.maximum(low - delta, 1e-300) / high)


def _events(first: Floats, second: Floats, thresholds: Floats) -> NDArray[np.int64]:
    """How often values are at least, and at most, each threshold: `[2 samples, 2 sides, thresholds]`."""
    found = []
    for values in (np.sort(first), np.sort(second)):
        least = len(values) - np.searchsorted(values, thresholds, side="left")
        found.append(np.stack([least, np.searchsorted(values, thresholds, side="right")]))
    return np.stack(found)


def lower_bound(first: Floats, second: Floats, delta: float = 0.0, alpha: float = ALPHA) -> float:
    """Lower bound on the privacy loss from a statistic of two samples; half of each chooses the event."""
    # Values that differ only by rounding would otherwise split an atom.
    first, second = np.round(first, 9), np.round(second, 9)
    half = len(first) // 2
    pooled = np.concatenate([first[:half], second[:half]])
    thresholds = np.unique(np.quantile(pooled, np.linspace(0.0005, 0.9995, _THRESHOLDS)))
    tried = _events(first[:half], second[:half], thresholds)
    scores = np.stack([loss_bound(tried[a], tried[1 - a], half, delta, alpha) for a in (0, 1)])
    role, side, best = np.unravel_index(int(scores.argmax()), scores.shape)
    final = _events(first[half : 2 * half], second[half : 2 * half], thresholds[[best]])[:, side, 0]
    return max(0.0, float(loss_bound(final[role], final[1 - role], half, delta, alpha)))


def _change_of_measure(log_ratios: Floats) -> float:
    """p-value of E[p(y|x')/p(y|x)] = 1 for y drawn from M(x), which holds for every true density."""
    ratios = np.exp(np.clip(log_ratios, -60.0, 60.0))
    spread = float(ratios.std()) / math.sqrt(len(ratios))
    return 2 * float(ndtr(-abs(float(ratios.mean()) - 1) / spread)) if spread > 0 else 1.0


def _log_ratio(mechanism: Mechanism, released: Floats, first: Floats, second: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        ratio = mechanism.log_density(released, first[None]) - mechanism.log_density(released, second[None])
    # A release that was rounded to nothing has no direction and says nothing. Any other that cannot be is an
    # infinite loss; a large finite one can be sorted and counted.
    nothing = ~released.any(axis=1)
    ratio[nothing & np.isnan(ratio)] = 0.0
    return np.nan_to_num(ratio, nan=_HUGE, posinf=_HUGE, neginf=-_HUGE)


def _resolved(mechanism: Mechanism, dim: int) -> bool:
    """Whether noise is wider than the output grid in every direction, so that releases follow the density."""
    ellipse = mechanism.ellipse(dim)
    if ellipse is None:
        return True
    outputs = mechanism.output_dim(dim)
    widest = 1.0 if ellipse.squared else math.sqrt(outputs + 1)
    seen = np.linalg.svd(ellipse.whiten(np.eye(outputs)), compute_uv=False)
    return bool(resolved(mechanism, dim, np.asarray(widest / seen, np.float64)).all())


def check_epsilon(case: Case, count: int, source: Source) -> list[CheckRow]:
    """Bound the loss between two inputs from `count` releases of each, and cross-check the density."""
    mechanism, dim = case.mechanism, case.dim
    pair = make_pair(mechanism, dim)
    released = [
        mechanism.privatize(np.broadcast_to(x, (count, dim)), source).astype(np.float64)
        for x in (pair.first, pair.second)
    ]
    middle = mechanism.expected(np.stack([pair.first, pair.second]))
    statistics = [[np.linalg.norm(y - middle[side], axis=1) for y in released] for side in (0, 1)]
    try:
        ratios = [_log_ratio(mechanism, y, pair.first, pair.second) for y in released]
    except ParameterError:
        ratios = []  # no density: distances alone
    if ratios:
        statistics.append(ratios)
    rows = []
    if mechanism.guarantee.is_private:
        bound = max(lower_bound(first, second, pair.delta) for first, second in statistics)
        claim = f"at most {pair.loss:.3f}" + (f" (delta {pair.delta:g})" if pair.delta else "")
        rows.append(
            case.row(
                "loss between two inputs",
                claim,
                f"at least {bound:.3f}",
                bound,
                pair.loss,
                bound <= pair.loss,
            )
        )
    if ratios and _resolved(mechanism, dim):
        towards = pair.share * (pair.second - pair.first)
        near = ((pair.first, pair.first + towards), (pair.second, pair.second - towards))
        p = 2 * min(
            _change_of_measure(_log_ratio(mechanism, y, other, own))
            for y, (own, other) in zip(released, near, strict=True)
        )
        rows.append(case.p_row("ratio of densities averages 1", min(1.0, p)))
    if ratios and can_integrate(mechanism, dim):
        mass = total_mass(mechanism, pair.first)
        close = abs(mass - 1) < TOLERANCE
        rows.append(case.row("density integrates to 1", "1", f"{mass:.9f}", mass, 1.0, close))
    return rows
