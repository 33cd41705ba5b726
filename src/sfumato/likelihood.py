"""How likely a release is for each of some inputs: the rules that `Release.likelihood` chooses from.

A mechanism says so itself. A release also filters and normalises: the filter is linear and public, so it is
undone; normalising loses the length s of the filtered vector, so the density of a direction r is the integral

    p(r | x) ~ integral over s > 0 of p(u(s) | x) s^(n-1) ds,   u(s) = W^-1 (s r - m) + m,

taken numerically for each pair (polar coordinates; W the filter, m its mean). An eraser cannot be undone:
what it leaves lies in a subspace, where a normal law of the noise's own covariance stands for the noise's
own law, whose shadow in fewer dimensions is close to that. Where there is no density to integrate, releases
of every input are simulated and a normal law is fitted to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.errors import ParameterError
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.angles import cosines, unit
from sfumato.mechanisms.ellipse import Ellipse
from sfumato.types import Floats, Vectors

Likelihood = Callable[[Floats, Floats], Floats]
"""`(m, d)` releases and `(k, d)` inputs in, `(m, k)` log densities out, up to a constant of each release."""

ROUNDING = 1e-3
"""How far two embeddings of one text may lie apart; without noise, nothing else moves a release."""

NATS = 2000.0
"""What a cosine of 1 counts where a release has no law to weigh inputs by."""

_BISECTIONS, _NEWTON = 18, 4
_REACH, _NODES = 6.0, 73
_SPREAD_ROWS = 512


def has_density(mechanism: Mechanism, dim: int) -> bool:
    """Whether the mechanism knows the density of its releases."""
    probe = np.full((1, dim), mechanism.max_norm / math.sqrt(dim))
    try:
        mechanism.log_density(np.full((1, mechanism.output_dim(dim)), 0.1), probe)
    except ParameterError:
        return False
    return True


def _unfiltered(rows: Floats, undo: Floats | None) -> Floats:
    return rows if undo is None else np.asarray(rows @ undo.T)


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.vecdot(rows, rows))


def nearest(expected: Callable[[Floats], Floats]) -> Likelihood:
    """Of a release without noise: how close it is to what each input gives."""

    def table(released: Floats, inputs: Floats) -> Floats:
        centres = expected(inputs)
        gaps = _squares(released)[:, None] + _squares(centres) - 2 * released @ centres.T
        return np.asarray(-np.maximum(gaps, 0.0) / (2 * ROUNDING**2))

    return table


def by_direction(expected: Callable[[Floats], Floats]) -> Likelihood:
    """Where no law tells inputs apart: how near in direction a release is to what each gives on average."""

    def table(released: Floats, inputs: Floats) -> Floats:
        return NATS * cosines(released, expected(inputs))

    return table


def undone(mechanism: Mechanism, undo: Floats | None, mean: Floats | None) -> Likelihood:
    """The mechanism's own density, after undoing a filter around its mean."""

    def table(released: Floats, inputs: Floats) -> Floats:
        rows = released if mean is None else _unfiltered(released - mean, undo) + mean
        return mechanism.log_densities(rows, inputs)

    return table


def of_direction(
    mechanism: Mechanism, ellipse: Ellipse, undo: Floats | None, mean: Floats | None
) -> Likelihood:
    """Of a filtered release whose length was lost, see above."""

    def table(released: Floats, inputs: Floats) -> Floats:
        slope = ellipse.whiten(_unfiltered(unit(released), undo))
        offset = np.zeros((1, released.shape[1]))
        if mean is not None:
            offset = mean[None] - _unfiltered(mean[None], undo)
        start = ellipse.whiten(offset - mechanism.expected(inputs))
        return log_length_integral(
            _squares(slope)[:, None], slope @ start.T, _squares(start), released.shape[1], ellipse.squared
        )

    return table


def of_part(
    centres: Callable[[Floats], Floats], covariance: Floats, basis: Floats, *, direction: bool
) -> Likelihood:
    """Of a release of which an eraser left a part, see above.

    Args:
        centres: what inputs give without noise and before their length is lost.
        covariance: `[d, d]` of the noise around that; nothing outside the subspace.
        basis: `[d, k]` orthonormal axes of the subspace.
        direction: whether the length of a release was lost.
    """
    root = np.linalg.cholesky(basis.T @ covariance @ basis)

    def whiten(rows: Floats) -> Floats:
        return np.asarray(np.linalg.solve(root, (rows @ basis).T).T)

    def table(released: Floats, inputs: Floats) -> Floats:
        slope, start = whiten(unit(released) if direction else released), -whiten(centres(inputs))
        alpha, beta, gamma = _squares(slope)[:, None], slope @ start.T, _squares(start)
        if direction:
            return log_length_integral(alpha, beta, gamma, basis.shape[1], squared=True)
        return np.asarray(-np.maximum(alpha + 2 * beta + gamma, 0.0) / 2)

    return table


def log_length_integral(alpha: Floats, beta: Floats, gamma: Floats, dim: int, squared: bool) -> Floats:
    """Log of the integral of s^(n-1) exp(-g(q)) over s > 0, with q^2 = alpha s^2 + 2 beta s + gamma.

    g(q) is q^2/2 where `squared`, else q. The integrand is log-concave, so it has one peak: that is found,
    and the integral is a trapezium sum around it, with nodes that spread like sinh to cover slow tails.
    """
    power = dim - 1
    rest = np.maximum(gamma - beta**2 / alpha, 0.0)  # the smallest q^2

    def reach(s: Floats) -> Floats:
        return np.sqrt(np.maximum(alpha * (s + beta / alpha) ** 2 + rest, 1e-300))

    def height(s: Floats) -> Floats:
        q = reach(s)
        return np.asarray(power * np.log(s) - (q**2 / 2 if squared else q))

    peak = _peak(alpha, beta, rest, power, squared)
    steepness = alpha if squared else alpha * rest / reach(peak) ** 3
    width = 1.0 / np.sqrt(power / peak**2 + steepness)
    top = height(peak)
    total = np.zeros_like(top)
    for node in np.linspace(-_REACH, _REACH, _NODES):
        place = peak + math.sinh(node) * width
        inside = place > 0
        density = np.exp(height(np.where(inside, place, peak)) - top)
        total += math.cosh(node) * np.where(inside, density, 0.0)
    return np.asarray(top + np.log(total * width))


def _peak(alpha: Floats, beta: Floats, rest: Floats, power: int, squared: bool) -> Floats:
    """Where (n-1)/s = dg/ds: in closed form for a normal law, else by bisection and a few Newton steps."""
    power = max(power, 1)
    if squared:
        return np.asarray((np.sqrt(beta**2 + 4 * alpha * power) - beta) / (2 * alpha))
    low = np.zeros(np.broadcast_shapes(alpha.shape, beta.shape))
    high = np.maximum(np.sqrt(rest / alpha) - beta / alpha, math.sqrt(2) * power / np.sqrt(alpha)) * 1.01

    def slope(s: Floats) -> tuple[Floats, Floats]:
        q = np.sqrt(np.maximum(alpha * (s + beta / alpha) ** 2 + rest, 1e-300))
        rise = (alpha * s + beta) / q
        return power / s - rise, -power / s**2 - alpha * rest / q**3

    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        up = slope(middle)[0] > 0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    peak = (low + high) / 2
    for _ in range(_NEWTON):
        value, change = slope(peak)
        peak = np.clip(peak - value / change, low, high)
    return np.asarray(peak)


def simulated(release: Callable[[Vectors], Vectors]) -> Likelihood:
    """A normal law fitted to fresh releases of every input."""
    from sfumato.sensitivity import Background

    def table(released: Floats, inputs: Floats) -> Floats:
        copies = int(np.clip(math.ceil(4 * inputs.shape[1] / len(inputs)), 16, 512))
        clean = inputs.astype(np.float32)
        means = np.zeros((len(inputs), released.shape[1]))
        drawn = []
        for _ in range(copies):
            one = release(clean)
            means += one / copies
            drawn.append(one[:_SPREAD_ROWS])
        residuals = np.concatenate([one - means[:_SPREAD_ROWS] for one in drawn])
        spread = Background.fit(residuals).covariance * (1 + 1 / copies) * copies / (copies - 1)
        root = np.linalg.cholesky(spread)
        left, right = (np.linalg.solve(root, rows.T).T for rows in (released, means))
        squares = _squares(left)[:, None] + _squares(right) - 2 * left @ right.T
        return np.asarray(-np.maximum(squares, 0.0) / 2)

    return table
