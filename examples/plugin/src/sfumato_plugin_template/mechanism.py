"""Noise that is uniform in a ball: bounded, and therefore without any epsilon."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.accounting.guarantee import Guarantee
from sfumato.mechanisms.base import Mechanism, add_noise
from sfumato.numbers import finite_number
from sfumato.sampling import normals


class Ball(Mechanism):
    """Adds a vector drawn evenly from the ball of this radius."""

    name = "ball"
    paper = "none: an example"
    strength = "radius"
    strength_range = (1e-6, 1e6)

    def __init__(self, *, radius: float, max_norm: float = 1.0) -> None:
        super().__init__(max_norm=max_norm)
        self.radius = finite_number(radius, "radius", *self.strength_range)

    @property
    def guarantee(self) -> Guarantee:
        """None: two balls do not cover the same points."""
        return Guarantee(self.name, math.inf, "none", "none", notes=("bounded noise has no epsilon",))

    def parameters(self) -> dict[str, Any]:
        """Radius and norm bound."""
        return {"radius": self.radius, "max_norm": self.max_norm}

    def noise_sd(self, dim: int) -> float:
        """E||noise||^2 is radius^2 d / (d + 2)."""
        return self.radius / math.sqrt(dim + 2)

    def noise_ratio(self, dim: int | None = None) -> float:
        """The mean length is radius d / (d + 1)."""
        size = self._dim(dim)
        return self.radius * size / (size + 1) / self.max_norm

    def _release(self, vectors: Any, draws: Any, step: float) -> Any:
        """A ball in d dimensions is the shadow of a sphere in d + 2: d of its d + 2 coordinates."""
        size = vectors.shape[1]
        wide = normals(draws, size + 2)
        even = wide[:, :size] / np.linalg.norm(wide, axis=1, keepdims=True)
        return add_noise(vectors, even, np.array([self.radius]), step, draws.space)
