"""Closed forms behind the predicted noise figures and the log densities."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.types import Floats


def chi_mean(dim: float) -> float:
    """E||g|| of a standard normal vector."""
    return math.sqrt(2.0) * math.exp(math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2))


def expected_root(log_transform: Callable[[Floats], Floats], mean: float) -> float:
    """E sqrt(S) of a positive S with this mean, from the log of its Laplace transform E exp(-t S).

    E sqrt(S) = 1/(2 sqrt(pi)) * integral of (1 - E exp(-t S)) t^(-3/2) dt; in log t the integrand falls off
    exponentially on both sides, so that the trapezium rule converges to machine precision.
    """
    v = np.linspace(-75.0, 75.0, 6001)
    t = np.exp(v) / mean
    terms = -np.expm1(log_transform(t)) * np.exp(-v / 2)
    return float(math.sqrt(mean) / (2 * math.sqrt(math.pi)) * terms.sum() * (v[1] - v[0]))


def coloured_norm_mean(eigenvalues: Floats) -> float:
    """E||g|| of a normal vector whose covariance has these eigenvalues."""
    values = np.unique(eigenvalues, return_counts=True)
    return expected_root(
        lambda t: -0.5 * (np.log1p(2.0 * np.outer(t, values[0])) @ values[1].astype(np.float64)),
        float(eigenvalues.sum()),
    )


def laplace_log_constant(dim: int, epsilon: float) -> float:
    """Log of eps^n Gamma(n/2) / (2 pi^(n/2) Gamma(n)), the normaliser of exp(-eps ||z||) in n dimensions."""
    return float(
        dim * math.log(epsilon)
        + math.lgamma(dim / 2)
        - math.log(2)
        - dim / 2 * math.log(math.pi)
        - math.lgamma(dim)
    )
