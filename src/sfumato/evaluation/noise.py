"""How much noise a release really carries, beside what its mechanism predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.arrays import as_vectors
from sfumato.errors import VectorError
from sfumato.mechanisms import Mechanism
from sfumato.metrics.similarity import pair_cosines


@dataclass(frozen=True, slots=True)
class NoiseFigures:
    """Predicted and measured noise of one release."""

    ratio_predicted: float
    ratio_measured: float
    """E||noise|| / E||x||; for mechanisms on the sphere, the ratio that keeps the same cosine."""
    cosine_predicted: float
    cosine_measured: float


def measure_noise(mechanism: Mechanism, vectors: Any, released: Any) -> NoiseFigures:
    """Compare a release with the vectors it was made from; a projection is compared in its own space."""
    before = mechanism.expected(vectors)
    after = as_vectors(released).astype(np.float64)
    dim = as_vectors(vectors).shape[1]
    if before.shape != after.shape or not len(before):
        raise VectorError(f"A release must match its vectors. Found shapes {before.shape} and {after.shape}.")
    cosine = float(pair_cosines(before, after).mean())
    if mechanism.additive:
        ratio = float(np.linalg.norm(after - before, axis=1).mean()) / mechanism.max_norm
    else:
        ratio = float(np.sqrt(max(cosine**-2 - 1.0, 0.0))) if cosine else float("inf")
    return NoiseFigures(mechanism.noise_ratio(dim), ratio, mechanism.cosine_kept(dim), cosine)
