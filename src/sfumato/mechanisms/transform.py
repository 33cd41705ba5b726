"""A plain function of vectors dressed as a mechanism, so that attacks and protectors can use it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.guarantee import Guarantee
from sfumato.errors import ParameterError, VectorError
from sfumato.mechanisms import Mechanism
from sfumato.randomness import Draws
from sfumato.types import FloatArray, Floats

Function = Callable[[Floats], Any]
"""`(n, d)` float64 vectors in, `(n, m)` vectors out."""


class Transform(Mechanism):
    """Applies a function and promises nothing.

    Args:
        label: what it is called.
        function: what is applied; noise it may draw is its own.
        note: what it does, for the guarantee.
        output: dimension of what comes out, where it differs.
        noisy: whether it draws noise of its own, so that two releases of one vector differ.
        settings: its settings, for the record.
    """

    name = "transform"
    paper = "baseline"
    additive = False

    def __init__(
        self,
        label: str,
        function: Function,
        *,
        note: str,
        output: int | None = None,
        noisy: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.label = label
        self.function = function
        self.note = note
        self.output = output
        self.noisy = noisy
        self.settings = dict(settings or {})

    @property
    def guarantee(self) -> Guarantee:
        """None."""
        return Guarantee(self.label, math.inf, "none", "none", notes=(self.note,))

    def parameters(self) -> dict[str, Any]:
        """Its settings."""
        return {"label": self.label, **self.settings}

    def output_dim(self, dim: int) -> int:
        """Dimension of what comes out."""
        return dim if self.output is None else self.output

    def noise_sd(self, dim: int) -> float:
        """Refuse: nothing is known about its noise."""
        raise ParameterError(f"{self.label} is no noise mechanism, so its noise is not known.")

    def noise_ratio(self, dim: int | None = None) -> float:
        """Refuse: nothing is known about its noise."""
        return self.noise_sd(dim or 0)

    def privatize(
        self, vectors: Any, rng: object = None, *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Apply the function; `rng` is not used."""
        array = self._check(vectors)
        if not np.isfinite(array).all():
            raise VectorError("Vectors must be finite. Found NaN or infinity.")
        out = np.asarray(self.function(array.astype(np.float64)), np.float32)
        wanted = (len(array), self.output_dim(array.shape[1]))
        if out.shape != wanted:
            raise VectorError(f"{self.label} must return shape {wanted}. Found {out.shape}.")
        return out

    def expected(self, vectors: Any) -> Floats:
        """What the function gives, noise of its own included."""
        return np.asarray(self.function(super().expected(vectors)), np.float64)

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        raise ParameterError(f"{self.label} is no noise mechanism, so it has no noisy release.")
