"""Smaller vectors: said to protect because they say less; here that is measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.baselines import Baseline, Sample
from sfumato.evaluation.defence import Defence
from sfumato.mechanisms.transform import Transform
from sfumato.types import Floats


@dataclass(frozen=True, kw_only=True)
class Quantised(Baseline):
    """Each dimension in 8 bits between its extremes in the sample, or its sign alone."""

    name = "quantised"
    bits: tuple[int, ...] = (8, 1)

    def fit(self, sample: Sample) -> list[Defence]:
        """Take the range of each dimension; a release holds the values the codes stand for."""
        low, high = sample.vectors.min(axis=0), sample.vectors.max(axis=0)
        defences = []
        for bits in sorted(self.bits, reverse=True):
            top = 2**bits - 1
            step = np.maximum((high.astype(np.float64) - low) / top, 1e-12)

            def levels(vectors: Floats, top: int = top, step: Floats = step) -> Floats:
                return np.asarray(low + step * np.clip(np.rint((vectors - low) / step), 0, top))

            def signs(vectors: Floats) -> Floats:
                return np.asarray(np.where(vectors >= 0, 1.0, -1.0) / np.sqrt(vectors.shape[1]))

            mechanism = Transform(
                f"{bits}-bit",
                signs if bits == 1 else levels,
                note="rounding: the same text always gives the same vector",
                settings={"bits": bits},
            )
            defences.append(
                Defence(
                    name=self.name,
                    setting=f"{bits} bit{'s' if bits > 1 else ''} a dimension",
                    mechanism=mechanism,
                    embedder=sample.embedder,
                    parameters={"bits": bits},
                )
            )
        return defences


@dataclass(frozen=True, kw_only=True)
class Truncated(Baseline):
    """The first dimensions, as Matryoshka embeddings are shortened."""

    name = "truncated"
    shares: tuple[float, ...] = (0.5, 0.25, 0.125)

    def fit(self, sample: Sample) -> list[Defence]:
        """Nothing is learned."""
        sizes = sorted({max(1, round(share * sample.dim)) for share in self.shares}, reverse=True)
        return [
            Defence(
                name=self.name,
                setting=f"first {size} of {sample.dim} dimensions",
                mechanism=_first(size),
                embedder=sample.embedder,
                parameters={"dimensions": size},
            )
            for size in sizes
        ]


def _first(size: int) -> Transform:
    return Transform(
        "truncated",
        lambda vectors: vectors[:, :size],
        note="the dimensions that are left are released as they are",
        output=size,
        settings={"dimensions": size},
    )
