"""From "this is what I want hidden" to a protector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.concept import Concept
from sfumato.concepts.languages.coverage import unread, warn_unread
from sfumato.concepts.spans import searched_once
from sfumato.concepts.texts.neutral import MOST_COPIES, NeutralBy, neutral_way
from sfumato.concepts.texts.pairs import Pairs, build_pairs
from sfumato.embedders import load_embedder
from sfumato.embedders.base import Embedder, takes_soft
from sfumato.embedders.reach import within_reach
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.erasing import learn_eraser
from sfumato.errors import InputError, ParameterError
from sfumato.learned import Learned
from sfumato.mechanisms import Mahalanobis
from sfumato.numbers import finite_number, whole_number
from sfumato.preparing import RowSpans
from sfumato.protector import NEUTRAL_COPIES, Protector
from sfumato.sampled import Sampled, Sampler, ordinary_text
from sfumato.sensitivity import Background, Ellipsoid, EllipsoidLearner, Mask
from sfumato.sensitivity.ellipsoid import EllipsoidKind, differences
from sfumato.sensitivity.eraser import Eraser, EraserLearner
from sfumato.types import Floats

LearnShape = Literal["ellipsoid", "mask"]
Source = Literal["public", "synthetic", "private", "unknown"]
MASK_NOISE_RATIO = 1.0
BESIDE_NEUTRAL = 5.0
"""Strength of a sharp ellipsoid beside neutral texts: it only has to cover the terms a detector misses."""
LEAST_PAIRS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnSettings:
    """How a protector is learned; the defaults aim at what removing the term leaves, at little cost."""

    shape: LearnShape = "ellipsoid"
    kind: EllipsoidKind = "sharp"
    strength: float | None = None
    """Of the ellipsoid; None takes the kind's own, or half of it beside neutral texts."""
    noise_ratio: float | None = None
    epsilon: float | None = None
    neutral: int = NEUTRAL_COPIES
    neutral_by: NeutralBy = "placeholder"
    """What stands in for what is found; why this one: research/protocol-neutral.md."""
    only_matching: bool = False
    hide_presence: bool = False
    """Beside neutral texts: take out of every release what shows that they are neutral."""
    hide_context: int = 0
    """Beside neutral texts: how many directions that foretell a term are taken out of every release."""
    hide_missed: int = 0
    """Beside neutral texts, for names: how many directions that tell names are taken out of every release."""
    limit: int = 4000
    """Most pairs a concept is learned from, and most background texts; an ellipsoid takes fewer where those
    are enough (`sensitivity.stability`)."""
    source: Source = "unknown"
    """What the texts are; learning from private text is itself a release, and the guarantee says so."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every field."""
        for name, choices in (("shape", LearnShape), ("source", Source)):
            if getattr(self, name) not in get_args(choices):
                raise ParameterError(
                    f"`{name}` must be one of {get_args(choices)}. Found {getattr(self, name)!r}."
                )
        whole_number(self.neutral, "neutral", 0, MOST_COPIES)
        neutral_way(self.neutral_by)
        self.eraser_learner()
        whole_number(self.limit, "limit", LEAST_PAIRS, 10**7)
        if self.noise_ratio is not None and self.epsilon is not None:
            raise ParameterError("Give `epsilon` or `noise_ratio`, not both.")
        if self.noise_ratio is not None:
            finite_number(self.noise_ratio, "noise_ratio", 1e-6, 1e6)

    def eraser_learner(self) -> EraserLearner:
        """What learns the eraser, for texts that are made neutral."""
        return EraserLearner(presence=self.hide_presence, context=self.hide_context, missed=self.hide_missed)


def learn(
    texts: Sequence[str],
    concepts: Concept | Sequence[Concept],
    *,
    embedder: Embedder | str = "minilm",
    spans: RowSpans | None = None,
    background: Sequence[str] | NDArray[np.float32] | Background | None = None,
    settings: LearnSettings | None = None,
    on_step: Callable[[str, int], object] | None = None,
    on_total: Callable[[int], object] | None = None,
) -> Protector:
    """Learn where `concepts` live in an encoder's vectors and return a protector.

    Args:
        texts: texts that hold the concepts, and others like them.
        concepts: what to hide.
        embedder: the encoder, or its name.
        spans: labelled spans of each text, for concepts defined by a label.
        background: ordinary texts or vectors, or their spread under this encoder; by default the texts in
            which no concept is found.
        settings: how to learn.
        on_step: called with a label and a number of texts as they are embedded.
        on_total: called with how many texts will be embedded in all, as far as that is known.
    """
    chosen = settings or LearnSettings()
    wanted = _wanted(texts, concepts)
    encoder = load_embedder(embedder) if isinstance(embedder, str) else embedder
    if spans is None:
        # What an encoder does not read moves no vector, and is not searched when texts are protected.
        texts = within_reach(encoder, texts)
    way = _way(encoder, chosen)
    with searched_once():
        pairs = [_pairs(texts, concept, spans, chosen) for concept in wanted]
    work = _Learning(RememberingEmbedder(encoder), pairs, chosen, on_step or _nobody, on_total or _nobody)
    learned = Learned(
        model_id=encoder.model_id,
        dim=encoder.dim,
        source=chosen.source,
        shape=chosen.shape,
        concepts={each.concept: each.statistics() for each in pairs},
    )
    if chosen.shape == "mask":
        mechanism, learned, spread = *work.mask(wanted, learned), None
    else:
        ordinary = ordinary_text(texts, background, pairs, encoder, limit=chosen.limit, source=chosen.source)
        mechanism, learned, spread = work.ellipsoid(ordinary, learned)
    made = Protector(
        mechanism=mechanism,
        background=spread,
        learned=learned,
        embedder=encoder,
        concepts=wanted,
        neutral=chosen.neutral,
        neutral_by=way,
        only_matching=chosen.only_matching,
    )
    if chosen.shape == "mask" or not made.embeds_neutral or chosen.only_matching:
        return made
    return replace(made, eraser=work.eraser(made, texts, spans))


def _nobody(*_: Any) -> None:
    """Where nobody listens."""


@dataclass(frozen=True, slots=True)
class _Learning:
    """One protector in the making: what it is learned from, and how."""

    embedder: RememberingEmbedder
    pairs: list[Pairs]
    settings: LearnSettings
    step: Callable[[str, int], object]
    total: Callable[[int], object]

    def mask(self, concepts: Sequence[Concept], learned: Learned) -> tuple[Mahalanobis, Learned]:
        """Noise along axes, from all pairs."""
        embedded = _embed_pairs(self.pairs, self.embedder, self.step, self.total)
        mask = _learn_mask([(plus, minus) for plus, minus, _ in embedded], concepts, self.settings)
        mechanism = _scaled(mask, MASK_NOISE_RATIO, self.settings)
        moves = [_moves(plus, minus, substitutes) for plus, minus, substitutes in embedded]
        removed = [substitutes is None for _, _, substitutes in embedded]
        return mechanism, replace(learned, **_substitutions(mechanism, moves, removed))

    def ellipsoid(
        self, ordinary: list[str] | Background, learned: Learned
    ) -> tuple[Mahalanobis, Learned, Background]:
        """Noise in any direction, from as many pairs as it takes."""
        chosen = self.settings
        beside = chosen.strength is None and chosen.neutral and chosen.kind == "sharp"
        learner = EllipsoidLearner(kind=chosen.kind, strength=BESIDE_NEUTRAL if beside else chosen.strength)
        sampler = Sampler(
            pairs=self.pairs,
            ordinary=ordinary,
            embedder=self.embedder,
            fit=partial(learner.fit, source=chosen.source),
            source=chosen.source,
            seed=chosen.seed,
            on_step=self.step,
            on_total=self.total,
        )
        found = sampler.gather()
        spread, made = found.background, sampler.fit(found.moves, found.background)
        mechanism = _scaled(made, None, chosen)
        learned = replace(
            learned,
            concepts=_with_sampled(learned.concepts, found),
            kind=made.kind,
            strength=made.strength,
            rank=made.factors.shape[1],
            agreement=found.agreement,
            background_rows=spread.rows,
            background_source=spread.source,
            **_substitutions(mechanism, found.moves, found.removed),
        )
        return mechanism, learned, spread

    def eraser(self, made: Protector, texts: Sequence[str], spans: RowSpans | None) -> Eraser | None:
        """What is taken out of its releases, where that was asked for."""
        chosen = self.settings
        beside = replace(made, embedder=self.embedder)
        return learn_eraser(beside, texts, self.pairs, chosen.eraser_learner(), spans, chosen.seed, self.step)


def _with_sampled(figures: Mapping[str, Any], found: Sampled) -> dict[str, Any]:
    """Say beside how often a concept was found from how many of these texts it was learned, if not all."""
    return {
        name: each | ({"learned_from": rows} if rows < each["rows"] else {})
        for (name, each), rows in zip(figures.items(), found.rows, strict=True)
    }


def _wanted(texts: Sequence[str], concepts: Concept | Sequence[Concept]) -> tuple[Concept, ...]:
    """The concepts, of which there must be one; texts that nothing here reads are counted in a warning."""
    wanted = (concepts,) if isinstance(concepts, Concept) else tuple(concepts)
    if not wanted:
        raise InputError("There must be at least one concept to hide. Found none.")
    warn_unread(unread(texts, wanted))
    return wanted


def _way(encoder: Embedder, chosen: LearnSettings) -> NeutralBy:
    if chosen.neutral_by == "soft" and chosen.neutral and not takes_soft(encoder):
        raise ParameterError(
            f"The encoder must take soft tokens for `soft`. {encoder.name} does not. "
            "Use removal, placeholder or copies."
        )
    return chosen.neutral_by


def _pairs(texts: Sequence[str], concept: Concept, spans: RowSpans | None, chosen: LearnSettings) -> Pairs:
    found = build_pairs(
        texts,
        concept,
        spans=spans,
        kinds=("removal", "substitution"),
        limit=chosen.limit,
        seed=chosen.seed,
    )
    if len(found.plus) < LEAST_PAIRS:
        raise InputError(
            f"Concept {concept.name!r} must be in at least {LEAST_PAIRS} texts to be learned. "
            f"Found it in {len(found.plus)}. Give more texts, or more terms."
        )
    return found


Triple = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32] | None]


def _substitutions(
    mechanism: Mahalanobis, moves: Sequence[Floats], removed: Sequence[bool]
) -> dict[str, Any]:
    """How far apart two terms of the concept are in the mechanism's metric, and what that costs.

    Where no other term was known, moves lead to the text without its term: two terms are at most twice as far
    apart.
    """
    apart = np.concatenate(
        [
            (2 if bare else 1) * np.linalg.norm(mechanism.shape.whiten(each), axis=1)
            for each, bare in zip(moves, removed, strict=True)
        ]
    )
    distances = {
        "median": float(np.median(apart)),
        "p95": float(np.quantile(apart, 0.95)),
        "max": float(apart.max()),
    }
    losses = {name: mechanism.epsilon * distance for name, distance in distances.items()}
    found = {"substitution_distances": distances, "loss_over_substitutions": losses}
    return found | ({"distances_by_removal": True} if any(removed) else {})


def _embed_pairs(
    pairs: Sequence[Pairs],
    encoder: Embedder,
    step: Callable[[str, int], object],
    total: Callable[[int], object],
) -> list[Triple]:
    """Embed all of them, each text once."""
    texts = [text for each in pairs for text in (*each.plus, *each.minus, *each.substitutes)]
    total(len(set(texts)))
    encoder.embed(texts, on_batch=lambda count: step("learning", count))
    return [
        (
            encoder.embed(each.plus),
            encoder.embed(each.minus),
            encoder.embed(each.substitutes) if each.substitutes else None,
        )
        for each in pairs
    ]


def _moves(plus: Any, minus: Any, substitutes: Any) -> Any:
    """Substitutions show how terms differ, which attackers read; removals serve where there are none."""
    return differences(plus, minus) if substitutes is None else differences(plus, substitutes)


def _scaled(shape: Mask | Ellipsoid, ratio: float | None, settings: LearnSettings) -> Mahalanobis:
    if settings.epsilon is not None:
        return Mahalanobis(epsilon=settings.epsilon, shape=shape)
    wanted = settings.noise_ratio if settings.noise_ratio is not None else ratio
    if wanted is not None:
        return Mahalanobis.from_noise_ratio(wanted, shape=shape)
    if isinstance(shape, Ellipsoid):
        return Mahalanobis(epsilon=shape.epsilon, shape=shape)
    return Mahalanobis.from_noise_ratio(MASK_NOISE_RATIO, shape=shape)


def _learn_mask(
    pairs: Sequence[tuple[Any, Any]], concepts: Sequence[Concept], settings: LearnSettings
) -> Mask:
    from sfumato.sensitivity.combine import combine_masks
    from sfumato.sensitivity.learned import MaskSettings
    from sfumato.sensitivity.learner import MaskLearner

    learner = MaskLearner(MaskSettings(seed=settings.seed))
    named = {concept.name: pair for concept, pair in zip(concepts, pairs, strict=True)}
    masks = [found.mask for found in learner.fit_many(named, source=settings.source).values()]
    return masks[0] if len(masks) == 1 else combine_masks(masks)
