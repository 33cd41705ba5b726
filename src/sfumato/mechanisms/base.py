"""What every mechanism is: vectors in, released vectors out, and an honest word about both."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato import blocks, grid
from sfumato.accounting.guarantee import Guarantee, Substitutions
from sfumato.arrays import as_vectors, check_rows
from sfumato.errors import ParameterError, VectorError
from sfumato.mechanisms.calibration import solve
from sfumato.mechanisms.ellipse import Ellipse
from sfumato.numbers import finite_number
from sfumato.randomness import NOISE_VERSION, Draws, resolve
from sfumato.types import FloatArray, Floats
from sfumato.workspace import Workspace

if TYPE_CHECKING:
    from sfumato.mechanisms.losses import LossLaw

M = TypeVar("M", bound="Mechanism")

EPSILON_RANGE = (1e-3, 1e6)
MAX_NORM_RANGE = (1e-6, 1e6)
LARGEST_DIM = 8192
"""The bound on floating-point loss in docs/numerics.md is stated up to this dimension."""

SLACK = 1e-6
"""Privacy loss that rounding may add to one release of up to LARGEST_DIM dimensions (docs/numerics.md)."""


@cache
def _blas_controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep matrix products on their caller's core: blocks already run side by side."""
    limit: AbstractContextManager[Any] = _blas_controller().limit(limits=1, user_api="blas")
    return limit


class Mechanism(ABC):
    """Releases noisy copies of vectors.

    Args (of every mechanism):
        max_norm: longest vector accepted; longer ones are refused, because the noise ratio would be untrue.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    strength: ClassVar[str] = "epsilon"
    """The parameter that sets how much noise there is."""
    strength_range: ClassVar[tuple[float, float]] = EPSILON_RANGE
    smallest_dim: ClassVar[int] = 1
    additive: ClassVar[bool] = True
    steady: ClassVar[bool] = True
    """Whether noise that is added lies alike around every vector, so that it has one covariance."""
    needs_shape: ClassVar[bool] = False
    """Whether it takes a shape or a mask, which has to be learned first."""
    noisy: bool = True
    """Whether two releases of one vector differ."""
    unchanged: ClassVar[bool] = False
    """Whether it releases vectors as they are."""
    learned_from: str | None = None
    """What kind of text the shape of its noise was learned from, where its promise rests on one."""
    uses_blas: bool = False
    dim: int | None = None
    """The only dimension it works in, where its parameters fix one."""

    def __init__(self, *, max_norm: float = 1.0) -> None:
        self.max_norm = finite_number(max_norm, "max_norm", *MAX_NORM_RANGE)

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one release promises."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Every scalar parameter, ready for JSON."""

    def tensors(self) -> dict[str, Floats]:
        """Every array parameter."""
        return {}

    def _given(self) -> dict[str, Any]:
        """What its constructor takes to make it again, strength included."""
        return {**self.parameters(), **self.tensors()}

    @classmethod
    def from_saved(
        cls: type[M], parameters: Mapping[str, Any], tensors: Mapping[str, Floats], *, source: str = "unknown"
    ) -> M:
        """Make a mechanism again from what `parameters` and `tensors` said.

        Args:
            parameters: its scalar parameters.
            tensors: its arrays.
            source: what kind of text its shape was learned from.
        """
        given: dict[str, Any] = {**parameters, **tensors}
        return cls(**given)

    @classmethod
    def example(cls: type[M], dim: int) -> M:
        """One with ordinary parameters for vectors of this dimension, to ask, time or check it."""
        return cls.from_noise_ratio(1.0, dim=dim)

    def scaled(
        self: M, *, epsilon: float | None = None, noise_ratio: float | None = None, dim: int | None = None
    ) -> M:
        """The same mechanism at another strength.

        Args:
            epsilon: its epsilon, if that is what sets it.
            noise_ratio: the length of the noise over that of the vectors.
            dim: the dimension of the vectors, where its parameters fix none.
        """
        if (epsilon is None) == (noise_ratio is None):
            raise ParameterError("Give an `epsilon` or a `noise_ratio`.")
        if not self.noisy:
            raise ParameterError(f"{self.name} has no noise to scale.")
        given = {key: value for key, value in self._given().items() if key != self.strength}
        if noise_ratio is not None:
            made = type(self).from_noise_ratio(noise_ratio, dim=dim, **given)
        elif self.strength != "epsilon":
            raise ParameterError(f"{self.name} is set by its {self.strength}, not by an epsilon.")
        else:
            made = type(self)(**given | {"epsilon": epsilon})
        made.learned_from = self.learned_from
        return made

    @abstractmethod
    def noise_sd(self, dim: int) -> float:
        """Root mean square of the noise in one output coordinate, from parameters alone."""

    def noise_covariance(self, dim: int) -> Floats:
        """Covariance of additive noise; the same in every direction unless a mechanism says otherwise."""
        if not self.additive or self.output_dim(dim) != dim:
            raise ParameterError(
                f"{self.name} does not add noise to the vector itself, so it has no covariance."
            )
        return np.eye(dim) * self.noise_sd(dim) ** 2

    @abstractmethod
    def noise_ratio(self, dim: int | None = None) -> float:
        """Predicted E||noise|| over ||x|| for vectors of norm `max_norm`."""

    def cosine_kept(self, dim: int | None = None) -> float:
        """Predicted cosine between a vector and its release, about 1/sqrt(1 + noise_ratio^2)."""
        return 1.0 / math.hypot(1.0, self.noise_ratio(dim))

    @abstractmethod
    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        """Return the float64 release of a block, in units of the grid `step`."""

    def expected(self, vectors: Any) -> Floats:
        """What a release of every row would be without its noise, in float64."""
        return self._check(vectors).astype(np.float64)

    def output_dim(self, dim: int) -> int:
        """Dimension of a release of `dim`-dimensional vectors."""
        return dim

    def step(self, dim: int) -> float:
        """The output grid for `dim`-dimensional vectors, from parameters alone."""
        return grid.step(self.noise_sd(dim), self.max_norm)

    def _dim(self, dim: int | None) -> int:
        chosen = self.dim if dim is None else dim
        if chosen is None:
            raise ParameterError("`dim` must be given: this mechanism works in any dimension.")
        if not self.smallest_dim <= chosen <= LARGEST_DIM or (self.dim is not None and chosen != self.dim):
            rule = str(self.dim) if self.dim is not None else f"in [{self.smallest_dim}, {LARGEST_DIM}]"
            raise ParameterError(f"`dim` must be {rule} for {self.name}. Found {chosen}.")
        return chosen

    def _check(self, vectors: Any) -> FloatArray:
        array = as_vectors(vectors, dim=self.dim)
        if not self.smallest_dim <= array.shape[1] <= LARGEST_DIM:
            raise VectorError(
                f"{self.name} takes vectors of {self.smallest_dim} to {LARGEST_DIM} dimensions. "
                f"Found {array.shape[1]}."
            )
        return array

    def check(self, vectors: Any) -> FloatArray:
        """Return `vectors` as an array, or refuse what `privatize` would refuse."""
        array = self._check(vectors)
        check_rows(array, self.max_norm)
        return array

    def privatize(
        self, vectors: Any, rng: object = None, *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Release a noisy copy of every row.

        Args:
            vectors: `(n, d)` numbers: numpy, nested lists, a torch tensor or an Arrow list column.
            rng: None for secure noise, `RowKeys` for sticky noise, a `Source` or a seed for experiments.
            threads: how many threads; None means all cores. The result does not depend on it.
        """
        array = self.check(vectors)
        rows, dim = array.shape
        step = self.step(dim)
        out = np.empty((rows, self.output_dim(dim)), np.float32)
        ranges = blocks.bounds(rows, dim)
        draws = resolve(rng).blocks(ranges)

        def work(index: int, space: Workspace) -> None:
            low, high = ranges[index]
            grid.snap(self._release(array[low:high], draws(index, space), step), step, out[low:high])

        with one_blas_thread() if self.uses_blas else nullcontext():
            blocks.run(work, len(ranges), blocks.thread_count(threads))
        return out

    def ellipse(self, dim: int) -> Ellipse | None:
        """The law of the noise around `expected`, where it is elliptical and `expected` is linear."""
        return None

    def log_density(self, released: Any, vectors: Any) -> Floats:
        """Log density of `released` rows given `vectors` rows; one row against many is allowed."""
        outputs, inputs = self._pairs(released, vectors)
        ellipse = self.ellipse(inputs.shape[1])
        if ellipse is None:
            raise ParameterError(f"{self.name} has no density: its output is not random in every dimension.")
        return ellipse.log_density(outputs - self.expected(inputs))

    def log_densities(self, released: NDArray[Any], vectors: NDArray[Any]) -> NDArray[Any]:
        """`[n, k]` log densities of every release given every vector, up to a constant of each release."""
        ellipse = self.ellipse(vectors.shape[1])
        if ellipse is not None:
            return ellipse.log_densities(released, self.expected(vectors))
        if len(released) <= len(vectors):
            return np.stack([self.log_density(row[None], vectors) for row in released])
        return np.stack([self.log_density(released, row[None]) for row in vectors], axis=1)

    def loss_law(self, distance: float, dim: int | None = None) -> LossLaw | None:
        """Law of the privacy loss between the worst two inputs at `distance` in its metric, where known."""
        return None

    def direction(self) -> Mechanism | None:
        """The mechanism of a release scaled to unit length, where that has a density of its own."""
        return None

    def worst_epsilon(self, dim: int) -> float:
        """The largest loss per unit of Euclidean distance between any two inputs."""
        return self.guarantee.worst_case_l2

    def substitutions(self, distances: Mapping[str, float]) -> Substitutions | None:
        """What one term put for another costs, from their distances in the metric its shape makes."""
        return None

    def _pairs(self, released: Any, vectors: Any) -> tuple[Floats, Floats]:
        inputs = self._check(vectors).astype(np.float64)
        outputs = as_vectors(released, dim=self.output_dim(inputs.shape[1])).astype(np.float64)
        if len(inputs) != len(outputs) and 1 not in (len(inputs), len(outputs)):
            raise VectorError(
                f"Rows must pair up or be one. Found {len(outputs)} released and {len(inputs)} inputs."
            )
        return outputs, inputs

    def fingerprint(self) -> bytes:
        """32 bytes that change whenever any parameter, array or the noise code changes."""
        from sfumato.artifacts import canonical_json

        head = {"mechanism": self.name, "noise_version": NOISE_VERSION, "parameters": self.parameters()}
        digest = hashlib.sha256(canonical_json(head))
        for key, values in sorted(self.tensors().items()):
            digest.update(canonical_json([key, list(values.shape)]))
            digest.update(np.ascontiguousarray(values, "<f8").tobytes())
        return digest.digest()

    @classmethod
    def from_noise_ratio(cls: type[M], ratio: float, *, dim: int | None = None, **parameters: Any) -> M:
        """Make the mechanism whose noise is `ratio` times as long as the vectors."""
        ratio = finite_number(ratio, "ratio", 1e-6, 1e6)
        return solve(cls, lambda made: math.log(made.noise_ratio(dim)), math.log(ratio), parameters)

    @classmethod
    def from_cosine(cls: type[M], cosine: float, *, dim: int | None = None, **parameters: Any) -> M:
        """Make the mechanism that keeps this cosine between a vector and its release."""
        cosine = finite_number(cosine, "cosine", 1e-6, 1 - 1e-9)
        return solve(cls, lambda made: -made.cosine_kept(dim), -cosine, parameters)

    def __repr__(self) -> str:
        """Name and scalar parameters."""
        inside = ", ".join(f"{key}={value!r}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({inside})"


def add_noise(vectors: FloatArray, noise: Floats, scale: Floats, step: float, space: Workspace) -> Floats:
    """Return (vectors + scale * noise) / step in float64, over `noise`; `scale` is `[n]` or `[1]`."""
    noise *= (scale / step)[:, None]
    noise += np.multiply(vectors, 1.0 / step, out=space.take("vectors", vectors.shape))
    return noise
