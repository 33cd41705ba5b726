"""Projection (PRIVEMB): a public random projection to few dimensions, then Laplace noise there."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from sfumato import grid
from sfumato.accounting.guarantee import Guarantee
from sfumato.errors import ParameterError
from sfumato.mechanisms.base import EPSILON_RANGE, LARGEST_DIM, SLACK, Mechanism, add_noise
from sfumato.mechanisms.ellipse import Ellipse
from sfumato.mechanisms.laplace import laplace_scale
from sfumato.mechanisms.moments import laplace_log_constant
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import Draws, StreamDraws
from sfumato.sampling import normals
from sfumato.types import FloatArray, Floats
from sfumato.workspace import Workspace

if TYPE_CHECKING:
    from sfumato.mechanisms.losses import LossLaw

Sensitivity = Literal["width", "spectral", "orthonormal"]
"""How far the projection may stretch a difference, and on what ground that is known.

width: 1 + beta with probability 1 - delta, if the encoder's range has a small Gaussian width (lemma 4).
spectral: the largest singular value of the drawn matrix; exact, no assumption, delta = 0.
orthonormal: rows made orthonormal and scaled by sqrt(n/m); exactly sqrt(n/m), delta = 0.
"""


def target_dim(dim: int, delta: float, beta: float) -> int:
    """Dimension m = ceil((sqrt(log2 n) + sqrt(ln 1/delta))^2 / beta^2), which gives the paper's values."""
    return math.ceil((math.sqrt(math.log2(max(dim, 2))) + math.sqrt(-math.log(delta))) ** 2 / beta**2)


@lru_cache(maxsize=16)
def _matrix(seed: int, rows: int, columns: int, orthonormal: bool) -> tuple[Floats, float]:
    """The public matrix `[n, m]` (transposed) and the most it can stretch a vector."""
    key = hashlib.sha256(f"sfumato public projection {seed} {rows} {columns}".encode()).digest()
    matrix = normals(StreamDraws("aes-256-ctr", key, 0, rows, Workspace()), columns)
    if orthonormal:
        q, r = np.linalg.qr(matrix.T)
        matrix = (q * np.sign(np.diag(r))).T * math.sqrt(columns / rows)
        stretch = math.sqrt(columns / rows)
    else:
        matrix = matrix / math.sqrt(rows)
        stretch = float(np.linalg.norm(matrix, 2))
    transposed = np.ascontiguousarray(matrix.T)
    transposed.flags.writeable = False
    return transposed, stretch * (1 + 1e-9)  # rounding of the decomposition falls on the private side


class Projection(Mechanism):
    """Lipschitz privacy in the Euclidean distance, with noise in m dimensions instead of n.

    Args:
        epsilon: loss per unit of Euclidean distance between inputs.
        delta: with `sensitivity="width"`, the chance over the matrix that the promise fails.
        beta: how far the projection may stretch a distance in (0, 1); sets m together with delta.
        sensitivity: on what ground the stretch is known, see `Sensitivity`.
        components: m itself, instead of the one that follows from delta and beta.
        seed: names the public matrix; it is no secret.
    """

    name = "projection"
    paper = "PRIVEMB"

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float = 1e-6,
        beta: float = 0.9,
        sensitivity: Sensitivity = "width",
        components: int | None = None,
        seed: int = 0,
        max_norm: float = 1.0,
    ) -> None:
        super().__init__(max_norm=max_norm)
        self.epsilon = finite_number(epsilon, "epsilon", *EPSILON_RANGE)
        self.delta = finite_number(delta, "delta", 1e-300, 0.5)
        self.beta = finite_number(beta, "beta", 1e-3, 1 - 1e-9)
        if sensitivity not in get_args(Sensitivity):
            raise ParameterError(
                f"`sensitivity` must be one of {get_args(Sensitivity)}. Found {sensitivity!r}."
            )
        self.sensitivity = sensitivity
        self.components = (
            None if components is None else whole_number(components, "components", 1, LARGEST_DIM)
        )
        self.seed = whole_number(seed, "seed", 0, 2**63)
        self.uses_blas = True

    @property
    def guarantee(self) -> Guarantee:
        """(epsilon, delta) on the paper's condition, or epsilon alone with an exact bound on the stretch."""
        if self.sensitivity == "width":
            return Guarantee(
                self.name,
                self.epsilon,
                "l2",
                "conditional",
                delta=self.delta,
                slack=SLACK,
                notes=(
                    "holds if differences of encoder outputs have a Gaussian width of at most sqrt(log2 n)",
                    "the matrix is public: inputs it happens to stretch more than 1 + beta are not covered; "
                    "see worst_epsilon(dim)",
                ),
            )
        note = "the bound is the largest singular value of the public matrix; no assumption on the encoder"
        return Guarantee(
            self.name, self.epsilon, "l2", "proved", worst_case_l2=self.epsilon, slack=SLACK, notes=(note,)
        )

    def parameters(self) -> dict[str, Any]:
        """Everything but the matrix, which the seed names."""
        names = ("epsilon", "delta", "beta", "sensitivity", "components", "seed", "max_norm")
        return {name: getattr(self, name) for name in names}

    def expected(self, vectors: Any) -> Floats:
        """The projected vectors."""
        rows = super().expected(vectors)
        return np.asarray(rows @ self.matrix(rows.shape[1]))

    def output_dim(self, dim: int) -> int:
        """The projected dimension m."""
        chosen = target_dim(dim, self.delta, self.beta) if self.components is None else self.components
        if self.sensitivity == "orthonormal" and chosen > dim:
            raise ParameterError(f"An orthonormal projection needs m <= n. Found m {chosen} for n {dim}.")
        if chosen > LARGEST_DIM:
            raise ParameterError(f"m must be at most {LARGEST_DIM}. Found {chosen}. Raise beta or delta.")
        return chosen

    def matrix(self, dim: int) -> Floats:
        """The public `(n, m)` matrix applied to row vectors."""
        return _matrix(self.seed, self.output_dim(dim), dim, self.sensitivity == "orthonormal")[0]

    def stretch(self, dim: int) -> float:
        """The stretch that the noise is scaled for."""
        if self.sensitivity == "width":
            return 1.0 + self.beta
        return _matrix(self.seed, self.output_dim(dim), dim, self.sensitivity == "orthonormal")[1]

    def worst_epsilon(self, dim: int) -> float:
        """The exact loss per unit of Euclidean distance in the direction the matrix stretches most."""
        exact = _matrix(self.seed, self.output_dim(dim), dim, self.sensitivity == "orthonormal")[1]
        return self.epsilon * exact / self.stretch(dim)

    def noise_sd(self, dim: int) -> float:
        """sqrt(m + 1) stretch/epsilon."""
        return math.sqrt(self.output_dim(dim) + 1) * self.stretch(dim) / self.epsilon

    def step(self, dim: int) -> float:
        """The grid; a projected vector may be longer than its input."""
        return grid.step(self.noise_sd(dim), 2 * self.max_norm * max(1.0, self.stretch(dim)))

    def noise_ratio(self, dim: int | None = None) -> float:
        """Noise length m stretch/epsilon: the projection keeps lengths on average."""
        n = self._dim(dim)
        return self.output_dim(n) * self.stretch(n) / self.epsilon / self.max_norm

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        matrix = self.matrix(vectors.shape[1])
        m = matrix.shape[1]
        rate = self.epsilon / self.stretch(vectors.shape[1])
        projected = vectors.astype(np.float64) @ matrix
        return add_noise(projected, normals(draws, m), laplace_scale(draws, m, rate), step, draws.space)

    def ellipse(self, dim: int) -> Ellipse:
        """A ball in m dimensions."""
        rate = self.epsilon / self.stretch(dim)
        return Ellipse(lambda noise: noise * rate, laplace_log_constant(self.output_dim(dim), rate))

    def loss_law(self, distance: float, dim: int | None = None) -> LossLaw:
        """Of two inputs that differ in the direction which the matrix stretches most."""
        from sfumato.mechanisms.losses import laplace_loss

        n = self._dim(dim)
        return laplace_loss(self.worst_epsilon(n) * distance, self.output_dim(n))


def _noise_bound(points: int, m: int, epsilon: float, delta: float) -> float:
    """(2 m ln(2 n m/delta))/epsilon: claim 6 for all points at once."""
    return 2 * m * math.log(2 * points * m / delta) / epsilon


def distance_bound(
    *, points: int, m: int, epsilon: float, delta: float, beta: float, radius: float = 1.0
) -> float:
    """Most that a pairwise distance changes, with probability 1 - delta (PRIVEMB, proposition 7)."""
    return 2 * beta * radius + 2 * _noise_bound(points, m, epsilon, delta)


def inner_product_bound(
    *, points: int, m: int, epsilon: float, delta: float, beta: float, radius: float = 1.0
) -> float:
    """Most that a pairwise inner product changes, with probability 1 - delta (PRIVEMB, proposition 8)."""
    noise = _noise_bound(points, m, epsilon, delta)
    return beta * radius**2 + 4 * radius * noise + noise**2


def linear_loss_bound(
    *, points: int, m: int, epsilon: float, delta: float, beta: float, lipschitz: float, diameter: float,
    radius: float = 1.0,
) -> float:  # fmt: skip
    """Most that the best linear model's loss rises, with probability 1 - delta (PRIVEMB, proposition 9)."""
    return lipschitz * diameter * (2 * _noise_bound(points, m, epsilon, delta) + beta * radius)
