"""A release: noise, public filter, public eraser and length of what leaves; nothing about texts or secrets.

It is what an attacker knows who knows everything but the secret.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.guarantee import Guarantee
from sfumato.arrays import as_vectors, tensor_rows
from sfumato.errors import ParameterError, VectorError
from sfumato.likelihood import Likelihood, has_density, nearest, of_direction, of_part, simulated, undone
from sfumato.mechanisms import Identity, Mechanism
from sfumato.mechanisms.angles import unit
from sfumato.randomness import InsecureSeedWarning, Source
from sfumato.types import FloatArray, Floats, Vectors

if TYPE_CHECKING:
    from sfumato.sensitivity import Background, Eraser


@dataclass(frozen=True, eq=False)
class Release:
    """Clean vectors in, released vectors out.

    Args:
        mechanism: the noise.
        background: ordinary text's spread, for the public linear filter S (S + N)^-1 applied after the noise.
        normalise: whether released vectors are scaled to unit length.
        eraser: takes directions that give a concept away out of every release, after noise and filter.
    """

    mechanism: Mechanism
    background: Background | None = None
    normalise: bool = True
    eraser: Eraser | None = None

    def __post_init__(self) -> None:
        """Refuse an eraser of other vectors than the mechanism's."""
        if self.eraser is not None and self.mechanism.output_dim(self.eraser.dim) != self.eraser.dim:
            raise ParameterError("An eraser needs a mechanism that keeps the dimension. Found another one.")

    @cached_property
    def filter_matrix(self) -> Floats | None:
        """The public filter S (S + N)^-1 for noise N that is added to vectors; None where there is none."""
        mechanism, background = self.mechanism, self.background
        if background is None or not mechanism.additive:
            return None
        if mechanism.output_dim(background.dim) != background.dim:
            return None
        return background.filter_for(mechanism.noise_covariance(background.dim))

    @property
    def linear(self) -> Floats | None:
        """`[d, d]` the linear part of all that follows the noise, but for the length; None for nothing."""
        if self.eraser is None:
            return self.filter_matrix
        erase = self.eraser.matrix
        return erase if self.filter_matrix is None else erase @ self.filter_matrix

    @property
    def guarantee(self) -> Guarantee:
        """What one release promises: nothing after the noise takes from it."""
        return self.mechanism.guarantee

    @property
    def unchanged(self) -> bool:
        """Whether vectors leave as they are."""
        return self.mechanism.unchanged and self.linear is None and not self.normalise

    def output_dim(self, dim: int) -> int:
        """Dimension of a release of `dim`-dimensional vectors."""
        return self.mechanism.output_dim(dim)

    def scaled(
        self, *, epsilon: float | None = None, noise_ratio: float | None = None, dim: int | None = None
    ) -> Release:
        """The same release with other noise; its filter follows."""
        return replace(
            self, mechanism=self.mechanism.scaled(epsilon=epsilon, noise_ratio=noise_ratio, dim=dim)
        )

    def __call__(self, vectors: Any, rng: object = None, *, rows: NDArray[np.intp] | None = None) -> Any:
        """Release vectors as float32; a torch tensor is released on its own device.

        Args:
            vectors: `(n, d)`.
            rng: None for secure noise, `RowKeys` for sticky noise, a `Source` or a seed for experiments.
            rows: the rows of an array that get noise, where others leave without.
        """
        if not isinstance(vectors, np.ndarray) and tensor_rows(vectors) is not None:
            return self._on_device(vectors, rng)
        return self._of_array(as_vectors(vectors, dim=self.mechanism.dim), rng, rows)

    def _of_array(
        self, array: FloatArray, rng: object, rows: NDArray[np.intp] | None = None
    ) -> NDArray[np.float32]:
        out = self._filtered(self.mechanism.privatize(array if rows is None else array[rows], rng))
        if rows is not None:
            out, noisy = array.astype(np.float32), out
            out[rows] = noisy
        if self.normalise:
            out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), np.float32(1e-12))
        return out

    def _on_device(self, tensor: Any, rng: object) -> Any:
        """What `sfumato.gpu` cannot draw, which is Identity and Suppression, goes through the host."""
        import torch

        from sfumato import gpu
        from sfumato.gpu.filtering import apply_eraser, apply_filter, unit_rows

        if not gpu.runs_on_device(self.mechanism):
            array = as_vectors(tensor, dim=self.mechanism.dim)
            return torch.from_numpy(self._of_array(array, rng)).to(tensor.device)
        released = gpu.privatize(self.mechanism, tensor, rng)
        matrix, background = self.filter_matrix, self.background
        if matrix is not None and background is not None:
            apply_filter(released, matrix, background.mean)
        if self.eraser is not None:
            apply_eraser(released, self.eraser.read, self.eraser.taken)
        return unit_rows(released) if self.normalise else released

    def _filtered(self, rows: NDArray[Any]) -> NDArray[Any]:
        if self.filter_matrix is not None and self.background is not None:
            rows = self.background.filtered(rows, self.filter_matrix)
        return rows if self.eraser is None else self.eraser.erased(rows)

    def fresh(self, seed: int | None = None) -> Callable[[Any], Any]:
        """The function that releases vectors with noise of its own at every call; a seed repeats them all."""
        source = None
        if seed is not None:
            with warnings.catch_warnings():  # this noise protects nobody: it is an attacker's own
                warnings.simplefilter("ignore", InsecureSeedWarning)
                source = Source.seeded(seed)
        return lambda vectors: self(vectors, source)

    def expected(self, vectors: Any) -> Floats:
        """What a release of every row would be without its noise, in float64."""
        rows = self._filtered(self.mechanism.expected(vectors))
        return unit(rows) if self.normalise else rows

    def likelihood(self, dim: int, *, seed: int = 0) -> Likelihood:
        """The log likelihood of releases of `dim`-dimensional vectors.

        Args:
            dim: the dimension of the inputs.
            seed: draws the simulated releases, where there is no density.
        """
        mechanism, undo, mean = self.mechanism, None, None
        if not mechanism.noisy:
            return nearest(self.expected)
        if self.eraser is not None and self.linear is not None:
            if not mechanism.additive:
                return simulated(self.fresh(seed))
            covariance = self.linear @ mechanism.noise_covariance(dim) @ self.linear.T
            centres = replace(self, normalise=False).expected
            return of_part(centres, covariance, self.eraser.basis, direction=self.normalise)
        if self.filter_matrix is not None and self.background is not None:
            undo, mean = np.asarray(np.linalg.inv(self.filter_matrix)), self.background.mean
        ellipse = mechanism.ellipse(dim)
        if self.normalise and ellipse is not None:
            return of_direction(mechanism, ellipse, undo, mean)
        known = mechanism.direction() if self.normalise else mechanism
        if known is None or not has_density(known, dim):
            return simulated(self.fresh(seed))
        return undone(known, undo, mean)

    def log_likelihood(self, released: Any, candidates: Any, *, seed: int = 0) -> Floats:
        """`[m, k]` how likely each release is for each candidate vector, up to a constant of each release."""
        outputs, inputs = (as_vectors(each).astype(np.float64) for each in (released, candidates))
        self.check_pair(outputs, inputs)
        return self.likelihood(inputs.shape[1], seed=seed)(outputs, inputs)

    def check_pair(self, released: Vectors | Floats, inputs: Vectors | Floats) -> None:
        """Refuse releases that cannot have come from these inputs."""
        wanted = self.output_dim(inputs.shape[1])
        if released.shape[1] != wanted:
            raise VectorError(f"Releases of these inputs have dimension {wanted}. Found {released.shape[1]}.")


AS_IT_IS = Release(Identity(), normalise=False)
"""What vectors go through that nobody protects."""


class HoldsRelease(Protocol):
    """Whatever has a release inside, such as a protector."""

    @property
    def guarantee(self) -> Guarantee:
        """What one release promises."""

    def as_release(self) -> Release:
        """Return it."""


Releasing = Release | Mechanism | HoldsRelease
"""What a caller may say that vectors go through."""


@overload
def as_release(given: None) -> None: ...
@overload
def as_release(given: Releasing) -> Release: ...
def as_release(given: Releasing | None) -> Release | None:
    """Return the release in what a caller gave: a release, a bare mechanism, a protector, or nothing."""
    if given is None or isinstance(given, Release):
        return given
    if isinstance(given, Mechanism):
        return Release(given, normalise=False)
    inside = getattr(given, "as_release", None)
    if inside is not None:
        return inside()  # type: ignore[no-any-return]
    raise ParameterError(
        f"What vectors were released through must be a mechanism, a release or a protector. "
        f"Found {type(given).__name__}."
    )


def shortened(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The first numbers of released vectors, at unit length: computed from the release alone."""
    kept = vectors[:, :dimensions].astype(np.float64)
    kept /= np.maximum(np.linalg.norm(kept, axis=1, keepdims=True), 1e-12)
    return np.asarray(kept, np.float32)
