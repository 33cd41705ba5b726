"""What an audit works on: some of the texts, cut in two, embedded with and without the concept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.concepts.concept import Concept
from sfumato.concepts.detectors.labelled import Labelled
from sfumato.concepts.texts.duplicates import enough_to_test, split, united
from sfumato.concepts.texts.pairs import Pairs, build_pairs
from sfumato.embedders.base import Embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.errors import InputError
from sfumato.metrics.intervals import Resampling
from sfumato.metrics.leakage import Hits, count_prior
from sfumato.metrics.similarity import pair_cosines
from sfumato.preparing import RowSpans
from sfumato.randomness import generator
from sfumato.trials.suite import Suite
from sfumato.types import Rows, Vectors

TEST_SHARE = 0.4
LEAST = 20
"""Texts with the concept that there must be on either side of the cut."""
MOST_TERMS = 400
_LISTED_WHOLE = 200
_ALIKE = 0.98
_SCATTERED = (
    "Most texts are nearly alike, so near-duplicates stand on both sides of the cut and the "
    "intervals are too narrow."
)


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Texts and their clean vectors, one of which may not be known."""

    texts: list[str] | None
    clean: Vectors | None
    spans: RowSpans | None = None
    embedder: Embedder | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Texts, vectors and the cut; rows count within the pool, the attacked ones are `rows[test]`."""

    texts: list[str]
    """The pool: texts with the concept, and others."""
    source: Rows
    """`[n]` which of the caller's texts each one is."""
    spans: RowSpans | None
    concept: Concept
    vocabulary: Concept
    """The terms an attacker chooses from: those of his own texts, and a short list of the concept's own."""
    rows: Rows
    """`[m]` rows of the pool that hold the concept."""
    terms: list[tuple[str, ...]]
    """`[m]` their sensitive strings."""
    learn: Rows
    """Positions in `rows` that the attacker learns from."""
    test: Rows
    """Positions in `rows` that are attacked."""
    groups: NDArray[np.int64]
    """`[m]` group of each: near-duplicates, and what is known to belong together."""
    clean: Vectors
    """`[n, d]` the pool's own vectors."""
    removed: Vectors | None
    """`[m, d]` of the texts with the concept taken out; None where nothing embeds them."""
    embedder: RememberingEmbedder | None
    notes: tuple[str, ...] = ()

    @property
    def attacked(self) -> Rows:
        """Rows of the pool that are attacked."""
        return self.rows[self.test]

    @property
    def learned(self) -> Rows:
        """Rows of the pool that the attacker learns from."""
        return self.rows[self.learn]

    @property
    def others(self) -> Rows:
        """Rows of the pool that do not hold the concept."""
        return np.setdiff1d(np.arange(len(self.texts)), self.rows).astype(np.intp)

    @property
    def truth(self) -> list[tuple[str, ...]]:
        """What is sensitive in each attacked text."""
        return [self.terms[position] for position in self.test]

    @property
    def known(self) -> list[tuple[str, ...]]:
        """What is sensitive in the attacker's own texts."""
        return [self.terms[position] for position in self.learn]

    def sampled(self, most: int, seed: int) -> Split:
        """The same with fewer attacked texts."""
        return replace(self, test=np.sort(generator(seed).permutation(self.test)[:most]))

    def prior(self) -> Hits:
        """What the best constant guess gets, made from the attacker's own texts."""
        return count_prior(self.truth, self.known)

    def resampling(self, positions: Rows | None = None) -> Resampling:
        """How intervals are drawn: whole groups of what belongs together."""
        return Resampling(groups=self.groups[self.test if positions is None else positions])


def gather(
    texts: Sequence[str],
    concept: Concept,
    suite: Suite,
    *,
    spans: RowSpans | None,
    embedder: RememberingEmbedder | None,
    clean: Any,
    needed: Collection[int],
    seed: int,
    groups: NDArray[np.int64] | None = None,
) -> Split:
    """Choose texts, cut them in two and embed them.

    Args:
        texts: all texts.
        concept: what is looked for.
        suite: how many to take.
        spans: labelled spans of each text.
        embedder: the encoder, where there is one.
        clean: `(n, d)` clean vectors of all texts; embedded where they are not given.
        needed: rows that have to be in the pool, for searches that look for them.
        seed: draws the sample and the cut.
        groups: `[n]` group of each text, where it is known what else belongs together.
    """
    pairs = build_pairs(
        texts, concept, spans=spans, kinds=("removal",), limit=suite.rows, test_share=TEST_SHARE,
        groups=groups, seed=seed,
    )  # fmt: skip
    pool = _pool(pairs, needed, suite, seed)
    place = {row: number for number, row in enumerate(pool)}
    chosen = [texts[row] for row in pool]
    own_spans = None if spans is None else [spans[row] for row in pool]
    learn, test, together, notes = _cut(pairs, groups, seed)
    return Split(
        texts=chosen,
        source=np.array(pool, np.intp),
        spans=own_spans,
        concept=remembered(concept, chosen, own_spans),
        vocabulary=_vocabulary(concept, [pairs.terms[position] for position in learn]),
        rows=np.array([place[row] for row in pairs.rows], np.intp),
        terms=list(pairs.terms),
        learn=learn,
        test=test,
        groups=together,
        clean=_clean(chosen, pool, clean, embedder),
        removed=None if embedder is None else embedder.embed(pairs.minus),
        embedder=embedder,
        notes=notes,
    )


def remembered(concept: Concept, texts: Sequence[str], spans: RowSpans | None) -> Concept:
    """The same concept, which need not look at these texts again."""
    if concept.detector is None:
        return concept
    rows = list(zip(texts, concept.find_all(texts, spans), strict=True))
    return replace(concept, detector=Labelled(rows, name=concept.found_by, otherwise=concept.detector))


def _pool(pairs: Pairs, needed: Collection[int], suite: Suite, seed: int) -> list[int]:
    """The rows with the concept, those that have to be there, and some more."""
    chosen = dict.fromkeys([*pairs.rows, *sorted(needed)])
    others = [row for row in pairs.clean if row not in chosen]
    more = generator(seed).permutation(len(others))[: max(0, suite.pool - len(chosen))]
    return sorted([*chosen, *(others[place] for place in more)])


def _cut(
    pairs: Pairs, known: NDArray[np.int64] | None, seed: int
) -> tuple[Rows, Rows, NDArray[np.int64], tuple[str, ...]]:
    """Learned, attacked, the groups that stand on one side, and what to know of them.

    Where too many texts are near-duplicates, rows are drawn one by one, or by the groups that are `known`.
    """
    rng = generator(seed)
    learn, test, whole = enough_to_test(pairs.train, pairs.test, TEST_SHARE, rng)
    together = pairs.groups if whole else np.arange(len(pairs))
    if not whole and known is not None:
        together = united(known[list(pairs.rows)])
        learn, test = split(together, TEST_SHARE, rng)
    if min(len(learn), len(test)) < LEAST:
        smaller = "" if known is None else ", or smaller groups"
        raise InputError(
            f"At least {LEAST} texts with the concept `{pairs.concept}` have to be learned from and as many "
            f"attacked. Found {len(learn)} and {len(test)}. Give more texts{smaller}."
        )
    return np.asarray(learn, np.intp), np.asarray(test, np.intp), together, () if whole else (_SCATTERED,)


def _vocabulary(concept: Concept, known: Sequence[Sequence[str]]) -> Concept:
    counts = Counter(term for terms in known for term in terms)
    seen = [term for term, _ in counts.most_common(MOST_TERMS)]
    own = concept.terms if len(concept.terms) <= _LISTED_WHOLE else ()
    return Concept.from_terms(concept.name, [*own, *seen])


def _clean(texts: list[str], pool: list[int], given: Any, embedder: RememberingEmbedder | None) -> Vectors:
    if given is None:
        if embedder is None:
            raise InputError("Clean vectors are needed: name the encoder, or give its vectors.")
        return embedder.embed(texts)
    vectors = np.asarray(as_vectors(given)[pool], np.float32)
    if embedder is not None:
        _same_encoder(vectors[:8], embedder.embed(texts[:8]))
    return vectors


def _same_encoder(given: Vectors, made: Vectors) -> None:
    if given.shape == made.shape and (pair_cosines(given, made) >= _ALIKE).all():
        return
    raise InputError(
        f"The clean vectors must be those of the encoder. Found others, of dimension {given.shape[1]} "
        f"where it gives {made.shape[1]}. Name the encoder they came from, or none."
    )
