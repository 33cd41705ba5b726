"""What is handed over to be audited, checked before anything is embedded, and what is said of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors, check_finite
from sfumato.auditing.settings import AuditSettings
from sfumato.concepts.concept import Concept
from sfumato.concepts.texts.duplicates import joined, same_group
from sfumato.embedders.base import Embedder, OnBatch
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.embedders.texts import checked_texts
from sfumato.errors import InputError, ParameterError
from sfumato.evaluation.defence import Defence
from sfumato.preparing import RowSpans
from sfumato.protector import Protector
from sfumato.trials.control import MARGIN
from sfumato.trials.places import Beside
from sfumato.trials.split import Split, gather, remembered
from sfumato.trials.suite import Suite
from sfumato.trials.target import DefenceTarget, FixedTarget, Target
from sfumato.trials.utility import ScoredPairs, Searches, chosen_searches
from sfumato.types import Vectors
from sfumato.version import __version__

Gold = Searches | ScoredPairs
DEFAULT_EMBEDDER = "minilm"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Subject:
    """Texts, and either the protector that releases their vectors or vectors that somebody released."""

    texts: list[str]
    concepts: tuple[Concept, ...]
    """What is sensitive; each is audited by itself."""
    protector: Protector | None
    released: Vectors | None
    clean: Vectors | None
    encoder: RememberingEmbedder | None
    spans: RowSpans | None
    showable: list[bool]
    gold: tuple[Gold, ...]
    groups: NDArray[np.int64] | None = None
    """`[n]` group of each text: those given, and pairs of gold; None where nothing is known."""
    labels: tuple[object, ...] | None = None
    tags: tuple[tuple[str, ...], ...] | None = None

    def beside(self, split: Split) -> Beside:
        """What is known of the pool's rows beside their texts and vectors."""
        from sfumato.concepts.texts.labels import labels_of

        own = {} if self.labels is None else labels_of(self.texts, self.labels)
        tags = None if self.tags is None else [self.tags[row] for row in split.source]
        return Beside(own, tags, self.groups is not None)

    def split(self, concept: Concept, suite: Suite, seed: int) -> Split:
        """Choose, cut and embed."""
        return gather(
            self.texts,
            concept,
            suite,
            spans=self.spans,
            embedder=self.encoder,
            clean=self.clean,
            needed=self._needed(suite, seed),
            seed=seed,
            groups=self.groups,
        )

    def target(self, audited: Concept, split: Split, suite: Suite, seed: int) -> Target:
        """What the attacks are run on."""
        if self.released is not None:
            return FixedTarget(self.released[split.source], split.texts, split.clean)
        assert self.protector is not None
        own = [
            split.concept if concept is audited else remembered(concept, split.texts, split.spans)
            for concept in self.protector.concepts
        ]
        quiet = replace(self.protector, concepts=tuple(own), embedder=self.encoder)
        defence = Defence.from_protector(quiet)
        return DefenceTarget(defence, split, draws=suite.draws, seed=seed)

    def _needed(self, suite: Suite, seed: int) -> set[int]:
        """Rows that searches look for and, where texts can only be looked up, the searches themselves."""
        rows: set[int] = set()
        own = {text: row for row, text in enumerate(self.texts)} if self.released is not None else {}
        for gold in self.gold:
            if isinstance(gold, ScoredPairs):
                rows |= {own[text] for text in (*gold.first, *gold.second) if text in own}
                continue
            for number in chosen_searches(gold, suite.searches, seed):
                rows |= set(gold.relevant[number])
                rows |= {own[text] for text in (gold.texts[number],) if text in own}
        if rows and not 0 <= min(rows) <= max(rows) < len(self.texts):
            raise InputError(
                f"Relevant rows must be rows of the input, from 0 to {len(self.texts) - 1}. "
                f"Found {max(rows) if max(rows) >= len(self.texts) else min(rows)}."
            )
        return rows


def subject(
    texts: Sequence[str],
    concept: Concept | Sequence[Concept] | None,
    *,
    protector: Protector | None,
    released: Any,
    clean: Any,
    embedder: Embedder | str | None,
    spans: RowSpans | None,
    truth_spans: str | None,
    showable: Sequence[bool] | None,
    gold: Sequence[Gold],
    groups: Sequence[Hashable] | None,
    on_batch: OnBatch | None,
    labels: Sequence[object] | None = None,
    tags: Sequence[Sequence[str]] | None = None,
) -> Subject:
    """Check what was handed over, and load the encoder."""
    rows = checked_texts(texts)
    if (protector is None) == (released is None):
        raise InputError("An audit takes either a protector or vectors that somebody released.")
    per_text: dict[str, Any] = {
        "spans": spans, "showable": showable, "groups": groups, "labels": labels, "tags": tags
    }  # fmt: skip
    for name, given in per_text.items():
        if given is not None and len(given) != len(rows):
            raise InputError(f"`{name}` must have one entry a text. Found {len(given)} for {len(rows)}.")
    stored, own = _vectors(released, len(rows), "released"), _vectors(clean, len(rows), "clean")
    _require_known(rows, gold, stored is not None, embeds=embedder is not None or clean is None)
    encoder = _encoder(protector, embedder, clean)
    if stored is not None and embedder is None and encoder is not None and stored.shape[1] != encoder.dim:
        raise InputError(
            f"The vectors have dimension {stored.shape[1]}, those of {encoder.name} {encoder.dim}. Name the "
            "encoder they came from, or give its clean vectors."
        )
    return Subject(
        texts=rows,
        concepts=_concepts(concept, protector)
        if truth_spans is None
        else _labelled(truth_spans, concept, spans),
        protector=protector,
        released=stored,
        clean=own,
        encoder=None if encoder is None else RememberingEmbedder(encoder, on_batch),
        spans=spans,
        showable=[False] * len(rows) if showable is None else [bool(each) for each in showable],
        gold=tuple(gold),
        groups=_groups(rows, groups, gold),
        labels=None if labels is None else tuple(labels),
        tags=None if tags is None else tuple(tuple(map(str, each)) for each in tags),
    )


def _groups(
    texts: list[str], given: Sequence[Hashable] | None, gold: Sequence[Gold]
) -> NDArray[np.int64] | None:
    """What belongs together: the caller's groups, and pairs of texts that are both in the input."""
    together = same_group(given or ())
    own = {text: row for row, text in enumerate(texts)}
    for pairs in gold:
        if isinstance(pairs, ScoredPairs):
            both = zip(pairs.first, pairs.second, strict=True)
            together += [[own[one], own[other]] for one, other in both if one in own and other in own]
    return joined(len(texts), together) if together else None


def _concepts(given: Concept | Sequence[Concept] | None, protector: Protector | None) -> tuple[Concept, ...]:
    """Those that are named, as the protector knows them; else all that the protector hides."""
    own = () if protector is None else protector.concepts
    if given is None:
        if not own:
            raise InputError("Say what is sensitive: give a concept. See: sfumato concepts")
        return own
    named = [given] if isinstance(given, Concept) else list(given)
    if not named:
        raise InputError("Say what is sensitive: give a concept. Found an empty list.")
    return tuple(next((each for each in own if each == concept), concept) for concept in named)


def _labelled(truth_spans: str, concept: object, spans: RowSpans | None) -> tuple[Concept, ...]:
    """The concept that the labels are the truth of."""
    if concept is not None:
        raise InputError("What is sensitive is said once: by a concept or by `truth_spans`. Found both.")
    if spans is None:
        raise InputError(
            "`truth_spans` must have labelled spans to go by. Found none beside the texts: give `spans`."
        )
    return (Concept.from_spans(truth_spans),)


def _encoder(protector: Protector | None, embedder: Embedder | str | None, clean: Any) -> Embedder | None:
    """The one that is named, the protector's own, or the default where clean vectors have to be made."""
    if embedder is not None and not isinstance(embedder, str):
        return embedder
    if embedder is None and protector is not None and protector.embedder is not None:
        return protector.encoder
    if embedder is None and clean is not None:
        return None
    from sfumato.embedders import load_embedder

    return load_embedder(embedder or DEFAULT_EMBEDDER)


def _vectors(given: Any, rows: int, name: str) -> Vectors | None:
    if given is None:
        return None
    array = np.asarray(as_vectors(given), np.float32)
    if len(array) != rows:
        raise InputError(f"There must be one {name} vector a text. Found {len(array)} for {rows} texts.")
    check_finite(array, f"the {name} vectors")
    return array


def _require_known(texts: list[str], gold: Sequence[Gold], stored: bool, *, embeds: bool) -> None:
    """Refuse searches and pairs, before any work, that nobody can release or embed."""
    asked = [
        text
        for each in gold
        for text in (each.texts if isinstance(each, Searches) else (*each.first, *each.second))
    ]
    unknown = len(set(asked).difference(texts))
    if unknown and stored:
        raise InputError(
            "Vectors made elsewhere can only be looked up: searches and pairs must be texts of the input. "
            f"Found {unknown} that are not. Audit with --protector, or leave --searches and --utility out."
        )
    if unknown and not embeds:
        raise InputError(
            f"Searches and pairs have to be embedded. Found {unknown} that are not texts of the input. Name "
            "the encoder with --embedder."
        )


def noise_of(protector: Protector | None, dim: int) -> dict[str, float | None]:
    """How long the noise is beside a vector, and which cosine that leaves; before any filter."""
    unknown: dict[str, float | None] = {"ratio": None, "cosine": None}
    if protector is None:
        return unknown
    try:
        return {
            "ratio": float(protector.mechanism.noise_ratio(dim)),
            "cosine": float(protector.mechanism.cosine_kept(dim)),
        }
    except ParameterError:
        return unknown


def settings_of(settings: AuditSettings, given: Subject, split: Split, target: Target) -> dict[str, Any]:
    """Everything needed to run the audit again, and not one text."""
    concept = split.concept
    return settings.to_dict() | {
        "target": "protector" if given.protector is not None else "embeddings",
        "parameters": None if given.protector is None else given.protector.mechanism.parameters(),
        "protector": None if given.protector is None else given.protector.settings_digest(),
        "neutral": None if given.protector is None else given.protector.neutral_copies,
        "neutral_by": None if given.protector is None else given.protector.neutral_by,
        "concept": {
            "name": concept.name,
            "source": concept.source,
            "found_by": concept.found_by,
            "terms": len(concept.terms),
        },
        "truth_labels": list(concept.labels),
        "embedder": None if split.embedder is None else split.embedder.model_id,
        "dim": int(split.clean.shape[1]),
        "texts": len(given.texts),
        "pool": len(split.texts),
        "learned_from": len(split.learn),
        "attacked": len(split.test),
        "groups": len(np.unique(split.groups[split.test])),
        "releases_read": target.draws,
        "texts_embedded": 0 if split.embedder is None else len(split.embedder),
        "coverage": 0.95,
        "margin": MARGIN,
        "sfumato": __version__,
    }
