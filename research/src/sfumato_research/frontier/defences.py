"""What is attacked: ours in its one configuration, what anybody can do with a text, and the papers' noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sfumato.concepts import Concept
from sfumato.concepts.base import Span
from sfumato.concepts.texts.edits import put
from sfumato.concepts.texts.swaps import pick, written_like
from sfumato.evaluation import BASELINES, Defence, Sample
from sfumato.evaluation.text_baselines import rewriting
from sfumato.learning import LearnSettings, learn

REMOVED = "removal, taken out"
OURS, LISTS = "ours", "ours, lists alone"
_RIVALS: dict[str, dict[str, object]] = {
    "laplace": {"noise_ratios": (1.4,)},
    "sparse": {"noise_ratios": (1.4,)},
    "suppression": {"noise_ratios": (1.4,)},
    "leace": {"labels": ("terms",)},
}
"""One setting each; grids are in the older tables."""


def all_defences(sample: Sample, lists: Concept, *, few: bool = False) -> Iterator[tuple[str, Defence]]:
    """Every row of the tables with its name; removal and pseudonyms look with our own detector."""
    for defence in BASELINES.get("removal")().fit(sample):
        yield defence.label, defence
    yield "another value", pseudonyms(sample)
    for name, concept in ((OURS, sample.concept), (LISTS, lists)):
        if name == OURS or not few:
            yield name, ours(sample, concept, name)
    for name, settings in ({} if few else _RIVALS).items():
        if BASELINES.installed(name):
            make: Callable[..., object] = BASELINES.get(name)
            for defence in make(**settings).fit(sample):  # type: ignore[attr-defined]
                yield defence.label, defence


def ours(sample: Sample, concept: Concept, name: str, **changed: object) -> Defence:
    """The protector that `learn` makes by default of texts that are not attacked."""
    settings = LearnSettings(source="public", seed=sample.seed, **changed)  # type: ignore[arg-type]
    protector = learn(sample.texts, concept, embedder=sample.embedder, settings=settings)
    return Defence.from_protector(protector, name=name)


def pseudonyms(sample: Sample) -> Defence:
    """Another value of the sample, drawn anew, wherever one is found."""
    places = zip(sample.texts, sample.found(), strict=True)
    values = sorted({text[span.start : span.end] for text, found in places for span in found})

    def edit(text: str, found: list[Span], rng: np.random.Generator) -> str:
        return put(text, found, lambda surface: written_like(surface, pick(values, rng), text))

    rewrite = rewriting(sample.concept, edit)
    return Defence(name="another value", rewrite=rewrite, embedder=sample.embedder)
