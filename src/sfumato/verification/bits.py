"""Layer 3, the bits: what the low-order bits of a release say about which text it came from."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

from sfumato import grid
from sfumato.bits import identified, identify, impossible
from sfumato.randomness import Source
from sfumato.verification.cases import COMMON, Case
from sfumato.verification.neighbours import LOSS, neighbours
from sfumato.verification.report import CheckRow

_STEPS_PER_SD = (256.0, 65536.0)
"""A coarser grid would be felt in the noise, and a much finer one would hide nothing."""

_CONTROL_SHARE = 0.9


def off_grid(released: NDArray[np.float32], step: float) -> int:
    """Count the numbers that are no float32-exact multiple of `step`, and the negative zeros."""
    scaled = released.astype(np.float64) / step
    bad = (
        (scaled != np.rint(scaled))
        | (np.abs(scaled) > grid.LARGEST)
        | ((released == 0) & np.signbit(released))
    )
    return int(bad.sum())


def is_power_of_two(step: float) -> bool:
    """Whether `step` is an exact power of two, so that multiples of it are exact in float32."""
    return math.isfinite(step) and step > 0 and math.frexp(step)[0] == 0.5


def _attack_p(counts: NDArray[np.int64], truth: NDArray[np.intp]) -> tuple[int, float, float]:
    """Identified releases, mean rank quantile of the true candidate, and the p-value of both being chance.

    If candidates differ by a loss of at most LOSS, each is the only one left with chance exp(LOSS)/candidates
    at most, and the true one ranks anywhere among them.
    """
    own = counts[np.arange(len(truth)), truth][:, None]
    found = identified(counts == 0, truth)
    quantile = float(((counts < own) + 0.5 * (counts == own)).mean())
    unexplained = max(0.0, abs(quantile - 0.5) - math.expm1(LOSS) / 4)
    ranks = 2 * float(ndtr(-unexplained * math.sqrt(12 * len(truth))))
    alone = float(binom.sf(found - 1, len(truth), min(1.0, math.exp(LOSS) / counts.shape[1])))
    return found, quantile, min(1.0, 2 * min(ranks, alone))


def check_bits(
    case: Case, releases: int, candidates: int, source: Source, rng: np.random.Generator
) -> list[CheckRow]:
    """Check the grid of a release, then attack it with candidates that its law cannot tell apart."""
    mechanism, dim = case.mechanism, case.dim
    inputs = neighbours(mechanism, dim, candidates, rng)
    truth = rng.integers(0, candidates, candidates)
    released = mechanism.privatize(inputs[truth], source)
    step = mechanism.step(dim)
    bad = off_grid(released, step)
    steps = float((released.astype(np.float64) - released.mean(axis=0, dtype=np.float64)).std()) / step
    low, high = _STEPS_PER_SD
    fits = is_power_of_two(step) and low <= steps <= high
    wide = inputs.astype(np.float64)
    counts = impossible(released[:releases], mechanism.expected(wide).astype(np.float32))
    found, quantile, p = _attack_p(counts, truth[:releases])
    strength = f"{mechanism.strength} {getattr(mechanism, mechanism.strength, math.nan):.3g}"
    wanted = f"{low:g} to {high:g}, a power of two"
    return [
        case.row(f"numbers off the grid, {strength}", "0", f"{bad} of {released.size}", bad, 0.0, bad == 0),
        case.row(f"grid steps to the noise, {strength}", wanted, f"{steps:.0f}", steps, high, fits),
        case.p_row(
            f"texts named by low-order bits, {strength}", p, f"{found} of {releases}, rank {quantile:.2f}, "
        ),
    ]


def check_control(releases: int, candidates: int, rng: np.random.Generator) -> CheckRow:
    """Attack a plain float32 sum: an attack that fails on this would prove nothing elsewhere."""
    from sfumato.mechanisms import Laplace

    dim, epsilon = COMMON, 10.0
    inputs = neighbours(Laplace(epsilon=epsilon), dim, candidates, rng)
    truth = rng.integers(0, candidates, releases)
    noise = rng.standard_normal((releases, dim))
    noise *= rng.gamma(dim, 1 / epsilon, (releases, 1)) / np.linalg.norm(noise, axis=1, keepdims=True)
    released = inputs[truth] + noise.astype(np.float32)
    found = identified(identify(released, inputs), truth)
    return CheckRow(
        "float32 sum",
        "control",
        "bits",
        "texts named by low-order bits",
        dim,
        f"at least {_CONTROL_SHARE:.0%}: the attack works",
        f"{found} of {releases}",
        float(found),
        _CONTROL_SHARE * releases,
        found >= _CONTROL_SHARE * releases,
    )
