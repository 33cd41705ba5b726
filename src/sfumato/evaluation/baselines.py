"""What else could be done: every other defence, in one shape, to be attacked and compared like ours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.concepts.base import Span
from sfumato.concepts.concept import Concept
from sfumato.embedders.base import Embedder
from sfumato.errors import InputError
from sfumato.evaluation.defence import Defence
from sfumato.preparing import RowSpans
from sfumato.registry import Entry, Registry

NOISE_RATIOS = (0.7, 1.4, 2.8)
"""Noise in lengths of the vector: about 82, 58 and 34 % of the cosine kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """What a defence may be learned from: texts that are not the ones it is tested on."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]
    """`[n, d]` their clean vectors."""
    concept: Concept
    embedder: Embedder
    spans: RowSpans | None = None
    """Labelled spans of each text, for a concept defined by a label."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that texts and vectors match."""
        if isinstance(self.texts, str):
            raise InputError("`texts` must be a list of texts. Found a single text.")
        array = as_vectors(self.vectors).astype(np.float32)
        if len(array) != len(self.texts) or not len(array):
            raise InputError(
                f"There must be one text a vector. Found {len(self.texts)} texts and {len(array)} vectors."
            )
        object.__setattr__(self, "vectors", array)

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self.vectors.shape[1])

    def found(self) -> list[list[Span]]:
        """Where the concept stands in each text."""
        return list(self.concept.find_all(self.texts, self.spans))


class Baseline(ABC):
    """Makes defences from a sample, one for each point of its grid.

    Subclasses are frozen dataclasses whose fields are the settings, each with a default.
    """

    name: ClassVar[str]
    paper: ClassVar[str] = ""

    @abstractmethod
    def fit(self, sample: Sample) -> list[Defence]:
        """Learn what has to be learned and return the defences, the weakest first."""


_HOME = "sfumato.evaluation"

BASELINES: Registry[Baseline] = Registry(
    "baseline",
    [
        Entry(
            "laplace", f"{_HOME}.noise_baselines:LaplaceNoise", "Laplace noise in all directions (LapMech)"
        ),
        Entry("purkayastha", f"{_HOME}.noise_baselines:PurkayasthaNoise", "noise on the sphere (PurMech)"),
        Entry("gaussian", f"{_HOME}.noise_baselines:GaussianNoise", "Gaussian noise (Vec2Text's defence)"),
        Entry(
            "projection",
            f"{_HOME}.noise_baselines:ProjectionNoise",
            "random projection, then noise (PRIVEMB)",
        ),
        Entry(
            "sparse",
            f"{_HOME}.noise_baselines:SparseNoise",
            "noise along a learned mask (SPARSE)",
            ("torch",),
            "learn",
        ),
        Entry(
            "suppression",
            f"{_HOME}.noise_baselines:SuppressionNoise",
            "one-sided noise on the top of a learned mask (DPPN)",
            ("torch",),
            "learn",
        ),
        Entry(
            "leace",
            f"{_HOME}.erasure:Leace",
            "linear erasure of the concept, or of each of its terms",
            ("torch", "concept_erasure"),
            "learn",
        ),
        Entry("removal", f"{_HOME}.text_baselines:Removal", "the concept taken out of the text, or starred"),
        Entry("random-word", f"{_HOME}.text_baselines:RandomWord", "a random word in the concept's place"),
        Entry("nearest-term", f"{_HOME}.text_baselines:NearestTerm", "the term most like it in its place"),
        Entry("quantised", f"{_HOME}.compression:Quantised", "8 bits or 1 bit a dimension"),
        Entry("truncated", f"{_HOME}.compression:Truncated", "the first dimensions only"),
        Entry("rotation", f"{_HOME}.keyed_baselines:Rotation", "a secret rotation"),
        Entry(
            "ironcore",
            f"{_HOME}.keyed_baselines:Ironcore",
            "ironcore-alloy: secret shuffle and perturbation",
            ("ironcore_alloy",),
            "peers",
        ),
        Entry(
            "privrag",
            f"{_HOME}.keyed_baselines:Privrag",
            "privrag-guard: secret rotation and small noise, or its strict mode",
            ("privrag",),
            "peers",
        ),
    ],
)


def fit_baselines(
    sample: Sample,
    names: Iterable[str] | None = None,
    *,
    on_step: Callable[[str], Any] | None = None,
) -> list[Defence]:
    """Fit the named baselines, or all whose packages are installed, with their default grids."""
    chosen = (
        [entry.name for entry in BASELINES if BASELINES.installed(entry.name)] if names is None else names
    )
    defences: list[Defence] = []
    for name in chosen:
        if on_step is not None:
            on_step(name)
        defences += BASELINES.get(name)().fit(sample)
    return defences
