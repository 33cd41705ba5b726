"""A mask: one sensitivity score per dimension (SPARSE, DPPN)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfumato.errors import ParameterError
from sfumato.numbers import whole_number
from sfumato.types import Floats

DELTA = 1e-6
"""Added to every score before scaling, so that no dimension goes without noise (SPARSE, eq. 8)."""


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """How sensitive each dimension is; frozen, and independent of how it was learned."""

    scores: Floats
    """`[d]` scores of at least 0."""
    source: str = "unknown"
    """What it was learned from: "public", "synthetic", "private" or "unknown"."""
    name: str = field(default="")

    def __post_init__(self) -> None:
        """Check and freeze the scores."""
        scores = np.array(self.scores, dtype=np.float64)
        if scores.ndim != 1 or scores.size == 0 or not np.isfinite(scores).all() or (scores < 0).any():
            raise ParameterError(
                f"A mask must be a one-dimensional array of finite scores of at least 0. "
                f"Found shape {scores.shape}."
            )
        if scores.sum() == 0.0:
            raise ParameterError("A mask must have at least one score above 0. Found none.")
        scores.flags.writeable = False
        object.__setattr__(self, "scores", scores)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self.scores.size

    def variances(self, delta: float = DELTA) -> Floats:
        """Return diag(m_i + delta) scaled to trace d (SPARSE, section 3.2)."""
        raised = self.scores + delta
        return np.asarray(raised * (self.dim / raised.sum()), np.float64)

    def top(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Indices of the `count` most sensitive dimensions, ties broken by index (DPPN, eq. 5)."""
        count = whole_number(count, "count", 1, self.dim)
        return np.sort(np.argsort(-self.scores, kind="stable")[:count])
