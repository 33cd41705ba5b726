"""Layer 3, the bits: what the low-order bits of a release say about which text it came from.

Floating-point addition reaches only some of the numbers around its first term, so a plain float32 sum names
its own input: a candidate is impossible once one coordinate has no representable noise that leads from it to
the release (Mironov 2012 for scalars; Jin et al. 2022, arXiv:2112.05307, for vectors).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import ndtr
from scipy.stats import binom

from sfumato import grid
from sfumato.arrays import as_vectors
from sfumato.errors import ParameterError, VectorError
from sfumato.randomness import Source
from sfumato.verification.cases import COMMON, Case
from sfumato.verification.neighbours import LOSS, neighbours
from sfumato.verification.report import CheckRow

Bools = NDArray[np.bool_]

_NEIGHBOURS = 2
"""Rounding may move the difference by a last place or two from the noise that was really added."""

_COORDINATES = 64
"""Coordinates looked at together: small enough for the cache, and most candidates fall in the first piece."""

_STEPS_PER_SD = (256.0, 65536.0)
"""A coarser grid would be felt in the noise, and a much finer one would hide nothing."""

_CONTROL_SHARE = 0.9


def _checked_type(dtype: DTypeLike) -> np.dtype[np.float32] | np.dtype[np.float64]:
    for kind in (np.dtype(np.float32), np.dtype(np.float64)):
        if np.dtype(dtype) == kind:
            return kind
    raise ParameterError(f"`dtype` must be float32 or float64. Found {np.dtype(dtype)}.")


def excluded(released: NDArray[Any], candidates: NDArray[Any], dtype: DTypeLike = np.float32) -> Bools:
    """Return True where no noise of type `dtype` leads from a candidate's number to the released one."""
    kind = _checked_type(dtype)
    y, c = np.broadcast_arrays(np.asarray(released, kind), np.asarray(candidates, kind))
    noise = y - c
    ruled_out = np.asarray(c + noise != y)
    # Few numbers fail the first try, so only those look at their neighbours.
    y, c, up = y[ruled_out], c[ruled_out], noise[ruled_out]
    down, possible = up, np.zeros(up.shape, bool)
    for _ in range(_NEIGHBOURS):
        up, down = np.nextafter(up, kind.type(np.inf)), np.nextafter(down, kind.type(-np.inf))
        possible |= (c + up == y) | (c + down == y)
    ruled_out[ruled_out] = ~possible
    return ruled_out


def identify(released: Any, candidates: Any, dtype: DTypeLike = np.float32) -> Bools:
    """Return `(releases, candidates)`: True where a candidate is still possible after all coordinates."""
    kind = _checked_type(dtype)
    outputs, inputs = as_vectors(released), as_vectors(candidates)
    if outputs.shape[1] != inputs.shape[1]:
        raise VectorError(
            f"Candidates must have the {outputs.shape[1]} dimensions of a release. Found {inputs.shape[1]}."
        )
    starts = range(0, inputs.shape[1], _COORDINATES)
    pieces = [np.ascontiguousarray(inputs[:, low : low + _COORDINATES], kind) for low in starts]
    survivors = np.zeros((len(outputs), len(inputs)), bool)
    for row, output in enumerate(outputs.astype(kind)):
        alive = np.arange(len(inputs))
        for low, piece in zip(starts, pieces, strict=True):
            rest = piece if len(alive) == len(inputs) else piece[alive]
            alive = alive[~excluded(output[low : low + _COORDINATES], rest, kind).any(axis=1)]
            if not alive.size:
                break
        survivors[row, alive] = True
    return survivors


def impossible(
    released: NDArray[Any], candidates: NDArray[Any], dtype: DTypeLike = np.float32
) -> NDArray[np.int64]:
    """Return `(releases, candidates)`: how many coordinates rule each candidate out."""
    inputs = np.asarray(candidates, _checked_type(dtype))
    return np.stack([excluded(row, inputs, dtype).sum(axis=1) for row in released])


def identified(survivors: Bools, truth: NDArray[np.intp]) -> int:
    """Count the releases with exactly one possible candidate that is also the true one."""
    alone = survivors.sum(axis=1) == 1
    return int((alone & survivors[np.arange(len(survivors)), truth]).sum())


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
