"""Made-up embeddings with a planted concept, for demonstrations and tests that need no encoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.sensitivity import Mask


@dataclass(frozen=True, slots=True, eq=False)
class PlantedVectors:
    """Unit vectors grouped by topic, with a yes-or-no concept written into a few axes."""

    vectors: NDArray[np.float32]
    """`[n, d]` unit vectors."""
    concept: NDArray[np.bool_]
    """`[n]` whether the concept is in the text."""
    mask: Mask
    """Where the concept lives."""


def planted_vectors(
    rows: int = 2000, dim: int = 384, *, topics: int = 40, share: float = 0.1, seed: int = 0
) -> PlantedVectors:
    """Make `rows` vectors around `topics` centres; the concept shifts `share` of the axes."""
    rows, dim = whole_number(rows, "rows", 2, 10**8), whole_number(dim, "dim", 2, 8192)
    rng = generator(seed)
    axes = rng.permutation(dim)[: max(1, round(share * dim))]
    centres = rng.standard_normal((topics, dim))
    topic = rng.integers(topics, size=rows)
    concept = rng.random(rows) < 0.5
    vectors = centres[topic] + 0.8 * rng.standard_normal((rows, dim))
    direction = rng.choice([-1.0, 1.0], size=axes.size)
    vectors[:, axes] += np.where(concept, 0.4, -0.4)[:, None] * direction
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = np.zeros(dim)
    scores[axes] = 1.0
    return PlantedVectors(
        vectors.astype(np.float32), concept, Mask(scores, source="synthetic", name="planted")
    )
