"""Which mechanisms stand for each bug, and the same list without bugs."""

from __future__ import annotations

import numpy as np

from sfumato.mechanisms import Gaussian, Laplace, Mahalanobis, Polar, Projection, Purkayastha, Suppression
from sfumato.sensitivity import Dense, Mask
from sfumato.verification.cases import covariance, mask_scores
from tests.verification.mutants import (
    Cholesky,
    DirectionFromCube,
    FineGrid,
    FivePercentShort,
    Float32Sum,
    GammaOneShort,
    GaussianSameSpread,
    HalfNoise,
    HalfSpace,
    InverseRoot,
    KappaFivePercent,
    KappaTwice,
    LopsidedTangent,
    MaskIgnored,
    MissingGrid,
    OneRadius,
    PerCoordinate,
    PushedAway,
    RadiusBare,
    RadiusExponential,
    SameNoiseEveryBlock,
    SigmaFivePercent,
    SigmaForItsRoot,
    SignedZero,
    SphereOneShort,
    StretchForgotten,
    SymmetricRoot,
    TraceTooLarge,
    TraceTooSmall,
    TransposedCholesky,
    WrongAxes,
    WrongExponent,
)


def shaped(kind, shape=covariance):
    return [kind(epsilon=10.0, shape=shape(dim)) for dim in (3, 384)]


def sparse_mask(dim):
    return Mask(np.where(np.arange(dim) % 5 == 0, 1.0, 0.0))


MUTANTS = {
    kind.__name__: [kind(epsilon=10.0)]
    for kind in (
        GammaOneShort, RadiusExponential, HalfNoise, FivePercentShort, PerCoordinate, GaussianSameSpread,
        OneRadius, DirectionFromCube, HalfSpace, SameNoiseEveryBlock, Float32Sum, MissingGrid, SignedZero,
        FineGrid,
    )
} | {
    kind.__name__: shaped(kind)
    for kind in (SigmaForItsRoot, InverseRoot, TransposedCholesky, TraceTooLarge, TraceTooSmall)
} | {
    "MaskIgnored": shaped(MaskIgnored, lambda dim: Mask(mask_scores(dim))),
    "SparseMaskIgnored": shaped(MaskIgnored, sparse_mask),
    "SparseTraceTooSmall": shaped(TraceTooSmall, sparse_mask),
    "KappaTwice": [KappaTwice(epsilon=300.0)],
    "KappaFivePercent": [KappaFivePercent(epsilon=300.0)],
    "SphereOneShort": [SphereOneShort(epsilon=300.0)],
    "WrongExponent": [WrongExponent(epsilon=300.0)],
    "LopsidedTangent": [LopsidedTangent(epsilon=300.0)],
    "RadiusBare": [RadiusBare(epsilon=300.0, radius_epsilon=5.0)],
    "SigmaFivePercent": [SigmaFivePercent(sigma=0.1)],
    "StretchForgotten": [StretchForgotten(epsilon=10.0, components=2)],
    "PushedAway": [PushedAway(epsilon=10.0, mask=mask_scores(384))],
    "WrongAxes": [WrongAxes(epsilon=10.0, mask=mask_scores(384))],
}  # fmt: skip
"""Name -> the mechanisms to verify: one for every dimension, or one for each."""

CORRECT = {
    "Cholesky": shaped(Cholesky),
    "SymmetricRoot": shaped(SymmetricRoot),
    "Dense": shaped(Mahalanobis, lambda dim: Dense(covariance(dim).matrix)),
    "SparseMask": shaped(Mahalanobis, sparse_mask),
    "Laplace": [Laplace(epsilon=10.0)],
    "Polar": [Polar(epsilon=300.0), Polar(epsilon=10.0, radius_epsilon=5.0)],
    "Purkayastha": [Purkayastha(epsilon=300.0)],
    "Gaussian": [Gaussian(sigma=0.1), Gaussian.analytic(epsilon=2.0, delta=1e-3)],
    "Projection": [Projection(epsilon=10.0, components=2)],
    "Suppression": [Suppression(epsilon=10.0, mask=mask_scores(384))],
}
"""The same list without bugs."""
