"""The papers' noise mechanisms over a grid of noise ratios, so that unlike epsilons can be compared."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache

from sfumato.concepts.texts.pairs import build_pairs
from sfumato.evaluation.baselines import NOISE_RATIOS, Baseline, Sample
from sfumato.evaluation.defence import Defence
from sfumato.mechanisms import (
    Gaussian,
    Laplace,
    Mahalanobis,
    Mechanism,
    Projection,
    Purkayastha,
    Suppression,
)
from sfumato.sensitivity import Mask

_MOST_PAIRS = 4000


@dataclass(frozen=True, kw_only=True)
class Noise(Baseline):
    """One mechanism at several noise ratios."""

    noise_ratios: tuple[float, ...] = NOISE_RATIOS

    def fit(self, sample: Sample) -> list[Defence]:
        """Scale the mechanism to each noise ratio."""
        made = [(ratio, self.mechanism(ratio, sample)) for ratio in sorted(self.noise_ratios)]
        return [
            Defence(
                name=self.name,
                setting=f"noise ratio {ratio:g}",
                mechanism=mechanism,
                embedder=sample.embedder,
                parameters={"noise_ratio": ratio, **mechanism.parameters()},
            )
            for ratio, mechanism in made
        ]

    @abstractmethod
    def mechanism(self, ratio: float, sample: Sample) -> Mechanism:
        """The mechanism whose noise is `ratio` times as long as the vectors."""


class LaplaceNoise(Noise):
    """The same noise in every direction."""

    name = "laplace"
    paper = "SPARSE, DPPN: LapMech"

    def mechanism(self, ratio: float, sample: Sample) -> Mechanism:
        """Scale Laplace noise."""
        return Laplace.from_noise_ratio(ratio, dim=sample.dim)


class PurkayasthaNoise(Noise):
    """Noise of the direction alone."""

    name = "purkayastha"
    paper = "SPARSE, DPPN: PurMech"

    def mechanism(self, ratio: float, sample: Sample) -> Mechanism:
        """Scale Purkayastha noise."""
        return Purkayastha.from_noise_ratio(ratio, dim=sample.dim)


class GaussianNoise(Noise):
    """Gaussian noise of a plain scale."""

    name = "gaussian"
    paper = "Vec2Text, section 6"

    def mechanism(self, ratio: float, sample: Sample) -> Mechanism:
        """Scale Gaussian noise."""
        return Gaussian.from_noise_ratio(ratio, dim=sample.dim)


class ProjectionNoise(Noise):
    """Noise in a random subspace."""

    name = "projection"
    paper = "PRIVEMB"

    def mechanism(self, ratio: float, sample: Sample) -> Mechanism:
        """Scale the noise after the projection."""
        return Projection.from_noise_ratio(ratio, dim=sample.dim)


@dataclass(frozen=True, kw_only=True)
class SparseNoise(Noise):
    """Elliptical noise along a mask; the mask is learned from the sample unless one is given."""

    name = "sparse"
    paper = "SPARSE"
    mask: Mask | None = None

    def mechanism(self, ratio: float, sample: Sample) -> Mechanism:
        """Scale the Mahalanobis mechanism."""
        return Mahalanobis.from_noise_ratio(ratio, shape=self.mask or learn_mask(sample))


@dataclass(frozen=True, kw_only=True)
class SuppressionNoise(Noise):
    """One-sided noise on the top of a mask; the mask is learned from the sample unless one is given."""

    name = "suppression"
    paper = "DPPN"
    mask: Mask | None = None
    share: float = 0.2

    def mechanism(self, ratio: float, sample: Sample) -> Mechanism:
        """Scale the suppression."""
        mask = self.mask or learn_mask(sample)
        return Suppression.from_noise_ratio(ratio, mask=mask, share=self.share)


@lru_cache(maxsize=2)
def learn_mask(sample: Sample) -> Mask:
    """Learn the mask of a sample's concept from removals (SPARSE, section 3.1); once for each sample."""
    from sfumato.sensitivity.learned import MaskSettings
    from sfumato.sensitivity.learner import MaskLearner

    pairs = build_pairs(
        sample.texts,
        sample.concept,
        spans=sample.spans,
        kinds=("removal",),
        limit=_MOST_PAIRS,
        seed=sample.seed,
    )
    learner = MaskLearner(MaskSettings(seed=sample.seed))
    minus = sample.embedder.embed(pairs.minus)
    return learner.fit(sample.vectors[list(pairs.rows)], minus, name=sample.concept.name).mask
