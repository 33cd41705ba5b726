"""One or more ready-made instances of every registered mechanism, for tests that run over all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.mechanisms import (
    MECHANISMS,
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
from sfumato.randomness import generator
from sfumato.sensitivity import Dense, Factored, Mask


def mask(dim: int) -> Mask:
    return Mask(np.linspace(0.0, 1.0, dim) ** 2 + 0.01, source="synthetic")


def dense(dim: int) -> Dense:
    square = generator(3).standard_normal((dim, dim))
    return Dense(square @ square.T / dim + 0.2 * np.eye(dim))


def factored(dim: int) -> Factored:
    return Factored(np.full(dim, 0.3), generator(4).standard_normal((dim, min(dim, 8))) * 0.4)


CASES: dict[str, Callable[[float, int], Mechanism]] = {
    "laplace": lambda e, d: Laplace(epsilon=e),
    "mahalanobis-mask": lambda e, d: Mahalanobis(epsilon=e, shape=mask(d)),
    "mahalanobis-dense": lambda e, d: Mahalanobis(epsilon=e, shape=dense(d)),
    "mahalanobis-factored": lambda e, d: Mahalanobis(epsilon=e, shape=factored(d)),
    "purkayastha": lambda e, d: Purkayastha(epsilon=e),
    "gaussian": lambda e, d: Gaussian(sigma=10.0 / e),
    "gaussian-analytic": lambda e, d: Gaussian.analytic(epsilon=e, delta=1e-6),
    "projection-width": lambda e, d: Projection(epsilon=e),
    "projection-spectral": lambda e, d: Projection(epsilon=e, sensitivity="spectral", components=min(d, 50)),
    "projection-orthonormal": lambda e, d: Projection(
        epsilon=e, sensitivity="orthonormal", components=min(d, 50)
    ),
    "suppression": lambda e, d: Suppression(epsilon=e, mask=mask(d)),
    "polar": lambda e, d: Polar(epsilon=e),
    "polar-radius": lambda e, d: Polar(epsilon=e, radius_epsilon=20.0),
    "identity": lambda e, d: Identity(),
}
for _name in {*MECHANISMS.names()} - {name.partition("-")[0] for name in CASES}:
    CASES[_name] = lambda e, d, name=_name: MECHANISMS.get(name).example(d).scaled(epsilon=e)
NOISY = {name: make for name, make in CASES.items() if make(1.0, 4).noisy}
PROMISING = {name: make for name, make in NOISY.items() if name not in {"gaussian", "suppression"}}


def unit_vectors(rows: int, dim: int, seed: int = 0) -> np.ndarray:
    vectors = generator(seed).standard_normal((rows, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
