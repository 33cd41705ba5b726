"""Find the strongest noise that still keeps what a user asks for, measured on their own vectors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import ParameterError
from sfumato.metrics.retrieval import neighbour_ndcg, neighbours_kept
from sfumato.metrics.similarity import pair_cosines
from sfumato.protector import Protector

ROWS = 2000
"""Vectors that a calibration looks at: neighbours among more cost more and say little more."""

_SMALLEST_RATIO, _LARGEST_RATIO = 0.01, 30.0
_ROUNDS = 14


@dataclass(frozen=True, slots=True)
class Keep:
    """A wish such as recall@10=0.9: which figure, and how much of it."""

    metric: str
    target: float
    measure: Callable[[NDArray[np.float32], NDArray[np.float32]], float]

    @classmethod
    def parse(cls, text: str) -> Keep:
        """Read `recall@K=SHARE`, `ndcg=SHARE`, `ndcg@K=SHARE` or `cosine=VALUE`."""
        found = re.fullmatch(r"(recall|ndcg|cosine)(?:@(\d+))?=(0?\.\d+|1(?:\.0*)?)", text.strip())
        if found is None or (found[1] == "cosine" and found[2]):
            raise ParameterError(
                "`keep` must read recall@10=0.9, ndcg=0.95 or cosine=0.8, with a value in (0, 1]. "
                f"Found {text!r:.40}."
            )
        k, target = int(found[2] or 10), float(found[3])
        if target <= 0 or k < 1:
            raise ParameterError(f"`keep` must ask for something in (0, 1]. Found {text!r:.40}.")
        measures: dict[str, Callable[[Any, Any], float]] = {
            "recall": lambda clean, released: neighbours_kept(clean, released, k),
            "ndcg": lambda clean, released: neighbour_ndcg(clean, released, k),
            "cosine": _mean_cosine,
        }
        name = found[1] if found[1] == "cosine" else f"{found[1]}@{k}"
        return cls(name, target, measures[found[1]])


def _mean_cosine(clean: Any, released: Any) -> float:
    a, b = as_vectors(clean), as_vectors(released)
    if a.shape[1] != b.shape[1]:
        raise ParameterError(
            f"A cosine needs one dimension. Found {a.shape[1]} and {b.shape[1]}. Ask for recall or ndcg."
        )
    return float(pair_cosines(a, b).mean())


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A protector with its noise set, and what it measured at that noise."""

    protector: Protector
    metric: str
    target: float
    kept: float
    noise_ratio: float


def scaled(
    protector: Protector, *, epsilon: float | None = None, noise_ratio: float | None = None
) -> Protector:
    """The same protector with other noise; its filter follows."""
    made = protector.mechanism.scaled(epsilon=epsilon, noise_ratio=noise_ratio, dim=protector.dim)
    return replace(protector, mechanism=made)


def calibrate(protector: Protector, vectors: Any, keep: str | Keep) -> Calibrated:
    """Return the protector with the strongest noise whose release of `vectors` keeps what was asked.

    Args:
        protector: what to scale; its shape stays.
        vectors: clean vectors like those to be released; the first 2,000 are used.
        keep: such as "recall@10=0.9".
    """
    wish = Keep.parse(keep) if isinstance(keep, str) else keep
    clean = as_vectors(vectors)[:ROWS].astype(np.float32)
    release, dim = protector.as_release(), clean.shape[1]

    def measured(ratio: float) -> float:
        return wish.measure(clean, release.scaled(noise_ratio=ratio, dim=dim)(clean))

    low, high = math.log(_SMALLEST_RATIO), math.log(_LARGEST_RATIO)
    if measured(math.exp(low)) < wish.target:
        raise ParameterError(
            f"Even a noise ratio of {_SMALLEST_RATIO} keeps less than {wish.metric} = {wish.target}. "
            "Ask for less."
        )
    kept_at = {}
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        kept_at[middle] = measured(math.exp(middle))
        # Ties and measuring error fall towards more noise.
        low, high = (middle, high) if kept_at[middle] >= wish.target else (low, middle)
    ratio = math.exp(low)
    known = replace(protector, learned=replace(protector.learned, dim=dim))
    done = scaled(known, noise_ratio=ratio)
    return Calibrated(done, wish.metric, wish.target, kept_at.get(low, 1.0), ratio)
