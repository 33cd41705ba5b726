"""Which configurations of each registered mechanism are checked, in which dimensions and by which layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.mechanisms import (
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
from sfumato.mechanisms.projection import Sensitivity
from sfumato.randomness import generator
from sfumato.sensitivity import Dense, Factored, Mask
from sfumato.types import Floats
from sfumato.verification.report import ALPHA, CheckRow, Layer

SMALL = (1, 2, 3)
"""Where the privacy loss can be measured; in hundreds of dimensions even a gross excess is invisible."""

COMMON = 384
LARGE = 768
EPSILONS = (10.0, 1.0, 50.0, 500.0)
"""Strengths at which the bits are attacked; the first one also in a quick run."""


@dataclass(frozen=True, slots=True)
class Case:
    """One mechanism in one dimension, for one layer."""

    mechanism: Mechanism
    dim: int
    layer: Layer
    variant: str = ""

    @property
    def label(self) -> str:
        """Mechanism and variant in one name."""
        return f"{self.mechanism.name}, {self.variant}" if self.variant else self.mechanism.name

    def row(
        self, check: str, claim: str, measured: str, value: float, limit: float, passed: bool
    ) -> CheckRow:
        """Make the row of one check of this case."""
        name = self.mechanism.name
        return CheckRow(
            name,
            self.variant,
            self.layer,
            check,
            self.dim,
            claim,
            measured,
            float(value),
            limit,
            bool(passed),
        )

    def p_row(self, check: str, p: float, detail: str = "") -> CheckRow:
        """Make the row of a check that ends in a p-value."""
        return self.row(check, f"p > {ALPHA:g}", f"{detail}p = {p:.2g}", p, ALPHA, p > ALPHA)

    def fact_row(self, check: str, holds: bool) -> CheckRow:
        """Make the row of a check that chance has no part in."""
        return self.row(check, "holds", "holds" if holds else "does not hold", float(holds), 1.0, holds)


Make = Callable[[float], Mechanism]
"""Makes a mechanism from an epsilon."""


def _everywhere(quick: bool, make: Make, small: tuple[int, ...], variant: str = "") -> Iterator[Case]:
    """All layers of a mechanism that works in any dimension."""
    for dim in small:
        yield Case(make(1.0), dim, "epsilon", variant)
        yield Case(make(4.0), dim, "law", variant)
    # Strong enough that an angle is far from a right angle, where its law says most about its parameters.
    yield Case(make(400.0), COMMON, "law", variant)
    if not quick:
        yield Case(make(20.0), LARGE, "law", variant)
    yield from _attacked(quick, make, variant)


def _attacked(quick: bool, make: Make, variant: str = "") -> Iterator[Case]:
    for epsilon in EPSILONS[:1] if quick else EPSILONS:
        yield Case(make(epsilon), COMMON, "bits", variant)


def _spoken(make: Make) -> Iterator[Case]:
    """Words decoded from releases of a mechanism that private text can use."""
    for dim in SMALL[1:]:
        for epsilon in (1.0, 3.0):
            yield Case(make(epsilon), dim, "tokens", "token channel")


def _laplace(quick: bool) -> Iterator[Case]:
    yield from _everywhere(quick, lambda epsilon: Laplace(epsilon=epsilon), SMALL)
    yield from _spoken(lambda epsilon: Laplace(epsilon=epsilon))


def mask_scores(dim: int, floor: float = 0.05) -> Floats:
    """Scores from `floor` to 1 in mixed order; a floor keeps every axis far above the output grid."""
    return np.asarray(floor + (1 - floor) * generator(dim).permutation(np.linspace(0.0, 1.0, dim)))


def covariance(dim: int) -> Dense:
    """A dense covariance of trace `dim`, with eigenvalues that span a factor of twenty, along no axis."""
    basis = np.linalg.qr(generator(dim).standard_normal((dim, dim)))[0]
    values = np.geomspace(0.1, 2.0, dim) if dim > 1 else np.ones(1)
    return Dense((basis * (values * dim / values.sum())) @ basis.T)


def factored(dim: int) -> Factored:
    """A diagonal plus a few strong directions."""
    return Factored(mask_scores(dim, 0.3), generator(dim + 1).standard_normal((dim, max(1, dim // 48))))


def _mahalanobis(quick: bool) -> Iterator[Case]:
    shapes: dict[str, Callable[[int], Mask | Dense | Factored]] = {
        "mask": lambda dim: Mask(mask_scores(dim)),
        "dense": covariance,
        "factored": factored,
    }
    for variant, shape in shapes.items():
        for dim in SMALL:
            yield Case(Mahalanobis(epsilon=1.0, shape=shape(dim)), dim, "epsilon", variant)
        yield Case(Mahalanobis(epsilon=4.0, shape=shape(3)), 3, "law", variant)
        common = Mahalanobis(epsilon=10.0, shape=shape(COMMON))
        yield Case(common, COMMON, "law", variant)
        yield Case(common, COMMON, "bits", variant)
        if not quick:
            yield Case(Mahalanobis(epsilon=10.0, shape=shape(LARGE)), LARGE, "law", variant)
    # A real mask is mostly zeros: rounding hides its weakest axes, and the law of the others is checked.
    for dim in (2, 3):
        yield Case(Mahalanobis(epsilon=1.0, shape=Mask(np.eye(dim)[0])), dim, "epsilon", "sparse mask")
    sparse = Mask(np.where(np.arange(COMMON) % 5 == 0, 1.0, 0.0))
    yield Case(Mahalanobis(epsilon=10.0, shape=sparse), COMMON, "law", "sparse mask")
    yield from _attacked(quick, lambda epsilon: Mahalanobis(epsilon=epsilon, shape=sparse), "sparse mask")


def _purkayastha(quick: bool) -> Iterator[Case]:
    yield from _everywhere(quick, lambda epsilon: Purkayastha(epsilon=epsilon), SMALL[1:])
    yield from _spoken(lambda epsilon: Purkayastha(epsilon=epsilon))
    # Weights that are not kept in logarithms vanish here.
    yield Case(Purkayastha(epsilon=1000.0), LARGE, "law")


def _polar(quick: bool) -> Iterator[Case]:
    yield from _everywhere(quick, lambda epsilon: Polar(epsilon=epsilon), SMALL[1:], "direction")
    yield from _spoken(lambda epsilon: Polar(epsilon=epsilon))
    yield Case(Polar(epsilon=1000.0), LARGE, "law", "direction")
    for dim in SMALL[1:]:
        yield Case(Polar(epsilon=1.0, radius_epsilon=1.0), dim, "epsilon", "with radius")
        yield Case(Polar(epsilon=4.0, radius_epsilon=3.0), dim, "law", "with radius")
    yield Case(Polar(epsilon=400.0, radius_epsilon=20.0), COMMON, "law", "with radius")
    yield Case(Polar(epsilon=100.0, radius_epsilon=10.0), COMMON, "bits", "with radius")


def _gaussian(quick: bool) -> Iterator[Case]:
    def analytic(epsilon: float) -> Mechanism:
        return Gaussian.analytic(epsilon=epsilon, delta=1e-2)

    for dim in SMALL:
        yield Case(analytic(1.0), dim, "epsilon", "analytic")
    yield Case(analytic(1.0), 3, "law", "analytic")
    yield Case(analytic(1.0), COMMON, "law", "analytic")
    yield from _attacked(quick, analytic, "analytic")
    for dim in SMALL:
        yield Case(Gaussian(sigma=0.5), dim, "epsilon", "bare")
        yield Case(Gaussian(sigma=0.5), dim, "law", "bare")
    yield Case(Gaussian(sigma=0.05), COMMON, "law", "bare")
    if not quick:
        yield Case(Gaussian(sigma=0.05), LARGE, "law", "bare")
    # The same spread as Laplace at these strengths.
    root = math.sqrt(COMMON + 1)
    yield from _attacked(quick, lambda epsilon: Gaussian(sigma=root / epsilon), "bare")


def _projection(quick: bool) -> Iterator[Case]:
    ways: tuple[Sensitivity, ...] = ("width", "spectral", "orthonormal")
    for way in ways:
        for m in SMALL:
            yield Case(Projection(epsilon=1.0, sensitivity=way, components=m), 3, "epsilon", way)
        yield Case(Projection(epsilon=4.0, sensitivity=way, components=2), 3, "law", way)
        yield Case(Projection(epsilon=10.0, sensitivity=way, components=64), COMMON, "law", way)
        if not quick:
            yield Case(Projection(epsilon=10.0, sensitivity=way), LARGE, "law", way)
        for epsilon in EPSILONS[:1] if quick else EPSILONS:
            yield Case(Projection(epsilon=epsilon, sensitivity=way), COMMON, "bits", way)


def _suppression(quick: bool) -> Iterator[Case]:
    yield Case(Suppression(epsilon=2.0, mask=mask_scores(5), share=0.6), 5, "law")
    whole = Mask(mask_scores(COMMON))
    yield Case(Suppression(epsilon=10.0, mask=whole), COMMON, "law")
    yield from _attacked(quick, lambda epsilon: Suppression(epsilon=epsilon, mask=whole))


def _identity(quick: bool) -> Iterator[Case]:
    yield Case(Identity(), COMMON, "law")


CASES: dict[str, Callable[[bool], Iterable[Case]]] = {
    "laplace": _laplace,
    "mahalanobis": _mahalanobis,
    "purkayastha": _purkayastha,
    "gaussian": _gaussian,
    "projection": _projection,
    "suppression": _suppression,
    "polar": _polar,
    "identity": _identity,
}
"""Name -> its cases, given whether the run is quick. One that is not here is checked by its examples."""


def examples_of(kind: type[Mechanism]) -> list[Case]:
    """The cases of a registered mechanism that has none of its own: all layers, of its examples."""
    dims = [dim for dim in (*SMALL, COMMON) if dim >= kind.smallest_dim]
    made = {dim: kind.example(dim) for dim in dims}
    found = [case for dim, each in made.items() for case in _layers(each, dim)]
    return [*found, *_bits(made[COMMON], COMMON)]


def cases_of(mechanism: Mechanism) -> list[Case]:
    """The cases of a mechanism somebody made: all layers, in its own dimension or in a few."""
    dims = (mechanism.dim,) if mechanism.dim is not None else (*SMALL, COMMON)
    found: list[Case] = []
    for dim in dims:
        if dim >= mechanism.smallest_dim and _fits(mechanism, dim):
            found += _layers(mechanism, dim)
    return [*found, *_bits(mechanism, found[-1].dim)] if found else []


def _layers(mechanism: Mechanism, dim: int) -> Iterator[Case]:
    if dim <= SMALL[-1] and mechanism.guarantee.is_private:
        yield Case(mechanism, dim, "epsilon")
    yield Case(mechanism, dim, "law")


def _bits(mechanism: Mechanism, dim: int) -> Iterator[Case]:
    if mechanism.noise_sd(dim) > 0:
        yield Case(mechanism, dim, "bits")


def _fits(mechanism: Mechanism, dim: int) -> bool:
    try:
        mechanism.output_dim(dim)
        if mechanism.noise_sd(dim) > 0:
            mechanism.step(dim)
    except ParameterError:
        return False
    return True
