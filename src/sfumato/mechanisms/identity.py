"""Identity: releases the vectors as they are; the positive control of every audit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.guarantee import Guarantee
from sfumato.errors import ParameterError
from sfumato.mechanisms.base import Mechanism
from sfumato.randomness import Draws
from sfumato.types import FloatArray, Floats


class Identity(Mechanism):
    """No noise and no promise."""

    name = "identity"
    paper = "control"
    additive = False
    noisy = False
    unchanged = True

    @property
    def guarantee(self) -> Guarantee:
        """None."""
        return Guarantee(self.name, math.inf, "none", "none", notes=("the vectors are released as they are",))

    def parameters(self) -> dict[str, Any]:
        """The norm bound."""
        return {"max_norm": self.max_norm}

    def noise_sd(self, dim: int) -> float:
        """Zero."""
        return 0.0

    def noise_ratio(self, dim: int | None = None) -> float:
        """Zero."""
        return 0.0

    @classmethod
    def example(cls, dim: int) -> Identity:
        """The only one there is."""
        return cls()

    def privatize(
        self, vectors: Any, rng: object = None, *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return a float32 copy of the checked vectors."""
        return self.check(vectors).astype(np.float32)

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        raise ParameterError("identity adds no noise, so it has no noisy release.")

    @classmethod
    def from_noise_ratio(cls, ratio: float, *, dim: int | None = None, **parameters: Any) -> Identity:
        """Refuse: there is nothing to calibrate."""
        raise ParameterError("identity has no noise to calibrate. Use Identity().")

    @classmethod
    def from_cosine(cls, cosine: float, *, dim: int | None = None, **parameters: Any) -> Identity:
        """Refuse: there is nothing to calibrate."""
        raise ParameterError("identity has no noise to calibrate. Use Identity().")
