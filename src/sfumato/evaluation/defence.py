"""A defence ready to be attacked: whatever stands between clean vectors and what is stored."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Guarantee
from sfumato.arrays import as_vectors
from sfumato.embedders.base import Embedder
from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Identity, Mechanism
from sfumato.numbers import whole_number
from sfumato.preparing import RowSpans
from sfumato.protector import Protector
from sfumato.randomness import InsecureSeedWarning, Source, generator
from sfumato.release import Release, Releasing, as_release
from sfumato.types import Vectors

if TYPE_CHECKING:
    from sfumato.evaluation.leaked import Undoing

Rewrite = Callable[[Sequence[str], "RowSpans | None", np.random.Generator], list[str]]
"""Texts, their labelled spans and a generator in, the texts that are embedded instead out."""
QueryMode = Literal["noisy", "clean", "filtered"]
"""noisy: released like a document; clean: as embedded; filtered: everything but the noise."""

# Documents, queries and an attacker's own releases share no noise, though they may share a seed.
_DOCUMENTS, _QUERIES = 1 << 50, 1 << 62
_DRAWS = 1000


def victim_noise(seed: int, draw: int = 0) -> Source:
    """The noise of one release of documents: no attacker who counts from the same seed draws any of it."""
    whole_number(seed, "seed", 0, 2**60)
    return _seeded(_DOCUMENTS + _DRAWS * seed + whole_number(draw, "draw", 0, _DRAWS - 1))


def _seeded(number: int) -> Source:
    with warnings.catch_warnings():  # an experiment protects nobody
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return Source.seeded(number)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Defence:
    """One setting of a baseline, or a protector: what it releases, and all that an adaptive attacker needs.

    An attacker who knows the defence trains by `attack.fit(texts, defence.prepare(texts, vectors),
    defence.victim)` and reads `defence.release(texts, vectors)`; every call draws fresh noise. Where there
    is a `key`, that attacker can have texts of his own protected under it; one who cannot, and only holds
    some leaked pairs, trains on clean vectors and reads `fit_undo(clean, leaked, defence.key)(released)`.
    """

    name: str
    setting: str = ""
    """Which point of the baseline's grid this is, in words."""
    mechanism: Mechanism = field(default_factory=Identity)
    """What vectors go through."""
    protector: Protector | None = None
    """What texts and vectors go through instead, with the same mechanism inside; it counts nothing."""
    rewrite: Rewrite | None = None
    """What texts go through before they are embedded."""
    embedder: Embedder | None = None
    """Embeds what was rewritten."""
    parameters: dict[str, Any] = field(default_factory=dict)
    key: Undoing | None = None
    """What its secret key does, where it has one; the attacker does not hold it."""

    @classmethod
    def from_protector(cls, protector: Protector, *, name: str = "protector", setting: str = "") -> Defence:
        """The same view of a protector; nothing is spent from its ledger and no sticky noise is made."""
        inner = protector.mechanism
        return cls(
            name=name,
            setting=setting,
            mechanism=inner,
            protector=protector.without_accounting(),
            parameters=inner.parameters(),
        )

    @property
    def victim(self) -> Releasing:
        """All that an attacker knows of what texts and vectors go through."""
        return self.mechanism if self.protector is None else self.protector

    @property
    def through(self) -> Release:
        """What happens to vectors."""
        return as_release(self.victim)

    @property
    def guarantee(self) -> Guarantee:
        """What one release promises."""
        return self.mechanism.guarantee if self.protector is None else self.protector.guarantee

    @property
    def unchanged(self) -> bool:
        """Whether clean vectors leave as they are."""
        return self.through.unchanged and not self.hides

    @property
    def hides(self) -> bool:
        """Whether other texts are embedded than those that were given."""
        return self.rewrite is not None or (self.protector is not None and self.protector.embeds_neutral)

    @property
    def label(self) -> str:
        """Name and setting."""
        return f"{self.name}, {self.setting}" if self.setting else self.name

    def prepare(
        self,
        texts: Sequence[str],
        vectors: Any = None,
        *,
        spans: RowSpans | None = None,
        seed: int | None = None,
    ) -> Vectors:
        """The vectors that enter the mechanism: of rewritten or neutral texts, else those given.

        Args:
            texts: the texts.
            vectors: their clean vectors; embedded here where they are needed and not given.
            spans: labelled spans of each text, for concepts defined by a label.
            seed: repeats what a rewriting draws.
        """
        return self.prepare_rows(texts, vectors, spans, seed)[0]

    def release(
        self,
        texts: Sequence[str],
        vectors: Any = None,
        *,
        spans: RowSpans | None = None,
        seed: int | None = None,
    ) -> Vectors:
        """What an attacker sees of these texts; a seed is for experiments and repeats the noise."""
        source = None if seed is None else victim_noise(seed)
        return self.noised(*self.prepare_rows(texts, vectors, spans, seed), source)

    def queries(
        self,
        texts: Sequence[str],
        vectors: Any = None,
        *,
        mode: QueryMode = "noisy",
        spans: RowSpans | None = None,
        seed: int | None = None,
    ) -> Vectors:
        """What a searcher looks up among released documents, see `QueryMode`."""
        if mode not in get_args(QueryMode):
            raise ParameterError(
                f"`mode` must be one of {', '.join(get_args(QueryMode))}. Found {mode!r:.40}."
            )
        if mode == "noisy":
            source = None if seed is None else _seeded(_QUERIES + whole_number(seed, "seed", 0, 2**60))
            return self.noised(*self.prepare_rows(texts, vectors, spans, seed), source)
        if mode == "filtered":
            ready = self.prepare(texts, vectors, spans=spans, seed=seed)
            return self.through.expected(ready).astype(np.float32)
        clean = self._clean(texts, vectors)
        if self.key or self.mechanism.output_dim(clean.shape[1]) != clean.shape[1]:
            raise ParameterError(
                f"Clean queries cannot be compared with what {self.name} releases. Use filtered ones."
            )
        return clean

    def noised(self, ready: Vectors, matched: NDArray[np.bool_] | None, source: Source | None) -> Vectors:
        """One release of what `prepare_rows` gave."""
        if self.protector is not None:
            return self.protector.protect(ready, matched=matched, rng=source)
        return self.mechanism.privatize(ready, source)

    def _clean(self, texts: Sequence[str], vectors: Any) -> Vectors:
        if isinstance(texts, str):
            raise InputError("`texts` must be a list of texts. Found a single text.")
        if vectors is None:
            inner = self.embedder if self.protector is None else self.protector.encoder
            if inner is None:
                raise InputError(f"{self.name} has no embedder of its own. Give the vectors of the texts.")
            return inner.embed(texts)
        array = as_vectors(vectors).astype(np.float32)
        if len(array) != len(texts):
            raise InputError(
                f"There must be one text a vector. Found {len(texts)} texts and {len(array)} vectors."
            )
        return array

    def prepare_rows(
        self, texts: Sequence[str], vectors: Any, spans: RowSpans | None, seed: int | None
    ) -> tuple[Vectors, NDArray[np.bool_] | None]:
        """The vectors that enter the mechanism and, for a protector, which rows hold a concept."""
        inner = self.protector
        if inner is not None and inner.concepts and (vectors is None or inner.embedder):
            ready = inner.prepare(texts, spans=spans)
            return ready.vectors, ready.matched
        clean = self._clean(texts, vectors)
        if self.rewrite is None:
            return clean, None
        if self.embedder is None:
            raise InputError(f"{self.name} rewrites texts, so it must have an embedder. Found none.")
        written = self.rewrite(texts, spans, generator(seed))
        changed = [row for row, text in enumerate(texts) if written[row] != text]
        if changed:
            clean = clean.copy()
            clean[changed] = self.embedder.embed([written[row] for row in changed])
        return clean, None
