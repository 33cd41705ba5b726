"""What is attacked: ours in its one configuration, what anybody can do with a text, and the papers' noise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from sfumato.concepts import Concept
from sfumato.concepts.base import Span
from sfumato.concepts.detectors.capitals import Capitals
from sfumato.concepts.detectors.union import Union
from sfumato.concepts.texts.edits import put
from sfumato.concepts.texts.swaps import pick, written_like
from sfumato.embedders.base import Embedder
from sfumato.evaluation import BASELINES, Defence, Sample
from sfumato.evaluation.baselines import Baseline
from sfumato.evaluation.text_baselines import rewriting
from sfumato.learning import LearnSettings, learn

REMOVED, STARRED, OTHER = "removal, taken out", "removal, starred", "another value"
OURS = "ours"
ERASED, WIDE = "ours, eraser", "ours, eraser, wide"
FEW = (STARRED, REMOVED, OTHER, OURS)
_ERASER = {"hide_presence": True, "hide_context": 32, "hide_missed": 32}
_BASELINES: dict[str, tuple[str, dict[str, object]]] = {
    STARRED: ("removal", {"stars": (True,)}),
    REMOVED: ("removal", {"stars": (False,)}),
}
_RIVALS: dict[str, tuple[str, dict[str, object]]] = {
    "laplace, noise ratio 1.4": ("laplace", {"noise_ratios": (1.4,)}),
    "sparse, noise ratio 1.4": ("sparse", {"noise_ratios": (1.4,)}),
    "suppression, noise ratio 1.4": ("suppression", {"noise_ratios": (1.4,)}),
    "leace, terms erased": ("leace", {"labels": ("terms",)}),
}
"""One setting each; grids are in the older tables."""


def all_defences(
    sample: Sample,
    public: Sequence[str],
    wanted: Collection[str] | None = None,
    made: Mapping[str, Defence] = MappingProxyType({}),
) -> Iterator[tuple[str, Defence]]:
    """Every row of the tables with its name, or those that are wanted; what is not wanted is not learned.

    Removal and other values look with our own detector. With an eraser ours is learned from `public` text: it
    leaves nothing to find in the very rows it was learned from, so an attacker who trains on those would look
    weaker than he is. What was `made` before is taken as it is.
    """
    embedder, own, seed = sample.embedder, sample.concept, sample.seed
    rows: dict[str, Callable[[], Defence]] = {
        **{label: partial(_baseline, sample, *each) for label, each in _BASELINES.items()},
        OTHER: lambda: pseudonyms(sample),
        OURS: lambda: ours(sample.texts, embedder, own, OURS, seed),
        ERASED: lambda: erased(public, embedder, own, seed),
        WIDE: lambda: erased(public, embedder, widened(own), seed, WIDE),
        **{label: partial(_baseline, sample, *each) for label, each in _RIVALS.items()},
        **{label: partial(_as_it_is, defence) for label, defence in made.items()},
    }
    for label, make in rows.items():
        if (wanted is None or label in wanted) and _there(label):
            yield label, make()


def _there(label: str) -> bool:
    return label not in _RIVALS or BASELINES.installed(_RIVALS[label][0])


def _as_it_is(defence: Defence) -> Defence:
    return defence


def _baseline(sample: Sample, name: str, settings: dict[str, object]) -> Defence:
    kind: Callable[..., Baseline] = BASELINES.get(name)
    return kind(**settings).fit(sample)[0]


def ours(
    texts: Sequence[str], embedder: Embedder, concept: Concept, name: str, seed: int, **changed: object
) -> Defence:
    """The protector that `learn` makes of these texts with its defaults, or with other settings."""
    given: dict[str, Any] = dict(changed)
    settings = LearnSettings(source="public", seed=seed, **given)
    return Defence.from_protector(learn(texts, concept, embedder=embedder, settings=settings), name=name)


def erased(
    public: Sequence[str], embedder: Embedder, concept: Concept, seed: int, name: str = ERASED
) -> Defence:
    """Ours with its eraser, learned from public text."""
    return ours(public, embedder, concept, name, seed, **_ERASER)


def widened(concept: Concept) -> Concept:
    """The same that also takes capitalised words of any kind, as `--wide` does."""
    assert concept.detector is not None
    return replace(concept, detector=Union(concept.detector, Capitals(label=concept.name)), wide=True)


def pseudonyms(sample: Sample) -> Defence:
    """Another value of the sample, drawn anew, wherever one is found."""
    places = zip(sample.texts, sample.found(), strict=True)
    values = sorted({text[span.start : span.end] for text, found in places for span in found})

    def edit(text: str, found: list[Span], rng: np.random.Generator) -> str:
        return put(text, found, lambda surface: written_like(surface, pick(values, rng), text))

    rewrite = rewriting(sample.concept, edit)
    return Defence(name="another value", rewrite=rewrite, embedder=sample.embedder)
