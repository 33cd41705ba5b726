"""The oracle: an attacker who may have texts of his own released, or searched for, by the same system.

He knows a stored release and its sentence but for the term. He asks for a release of the sentence with
every candidate in the term's place and names the one whose release lies nearest to the stored one. Where
noise is sticky and keyed by the sentence itself, the true candidate answers with the stored release, bit for
bit; where all candidates get the same answer, asking tells nothing. Where noise is fresh he asks again and
takes means. Where he may only search, he names the candidate whose search comes nearest to the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.attacks.base import (
    Attack,
    Control,
    Embeds,
    Needs,
    OnStep,
    Reads,
    checked,
    entrance_of,
)
from sfumato.attacks.known_texts.answering import Questions, answering
from sfumato.attacks.known_texts.asker import STREAM, Asker, answer_tables, ask_all
from sfumato.attacks.terms.informed import candidate_terms
from sfumato.concepts.concept import Concept
from sfumato.concepts.texts.swaps import written_like
from sfumato.errors import InputError, ParameterError
from sfumato.likelihood import ROUNDING
from sfumato.numbers import whole_number
from sfumato.preparing import Entrance
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.types import Vectors

_CONTROL_ROWS = 200

Ask = Callable[[list[str]], Any]
"""Texts of the attacker's own in, their `(n, d)` releases out."""


def candidate_sentences(concept: Concept, text: str, own: int) -> list[str]:
    """The text with every term in the place of its own, written as that one is."""

    def put(term: str) -> str:
        return concept.replace(
            text, lambda found: term.title() if found.istitle() else written_like(found, term, text)
        )

    made = [put(term) for term in concept.terms]
    made[own] = text
    return made


def name_by_asking(
    ask: Ask, stored: Any, candidates: Sequence[Sequence[str]], *, seed: int = 0
) -> NDArray[np.intp]:
    """`[n]` which of its candidate sentences each stored release is taken for; equally near ones at random.

    Args:
        ask: releases texts as the victim does.
        stored: `(n, d)` releases that are attacked.
        candidates: the sentences each may be a release of.
        seed: draws among candidates whose releases are equally near.
    """
    releases = as_vectors(stored).astype(np.float64)
    if len(releases) != len(candidates) or not all(candidates):
        raise InputError(
            f"Every release must have its candidates. Found {len(releases)} and {len(candidates)}."
        )
    # One call for all, each sentence once: an encoder may round a text otherwise in another batch.
    asked = list(dict.fromkeys(text for each in candidates for text in each))
    answers = dict(zip(asked, np.asarray(ask(asked), np.float64), strict=True))
    rng = generator(STREAM + seed)
    named = np.zeros(len(releases), np.intp)
    for row, (release, sentences) in enumerate(zip(releases, candidates, strict=True)):
        gaps = np.linalg.norm(np.stack([answers[text] for text in sentences]) - release, axis=1)
        named[row] = rng.choice(np.flatnonzero(gaps <= gaps.min() + ROUNDING))
    return named


@dataclass(frozen=True, kw_only=True)
class OracleAttack(Attack):
    """Asks for every candidate of every text that names one term, and keeps the answers.

    `fit` takes the attacked texts themselves, in the order of the releases that `recover` will read. A
    searcher holds no releases: of what `recover` is given he only counts the rows.
    """

    concept: Concept | Sequence[str] | None = None
    """What the attacker is after: a concept with terms, or the candidate terms."""
    oracle: Any = None
    """Who is asked, see `answering`: a gateway's address, a protector, a store; None for the victim of `fit`,
    whose secret he has not, so that its noise is fresh."""
    embedder: Embeds | None = None
    """The victim's encoder, where `oracle` is None and the victim brings none; and for the control."""
    ids: Sequence[str] | None = None
    """For searches: which row of the store each text is, if he knows it; else the nearest row counts."""
    questions: int = 20_000
    """Texts that he sends at most, refused ones and repeated ones included."""
    seed: int = 0

    name: ClassVar[str] = "oracle"
    paper: ClassVar[str] = "chosen texts, as in chosen-plaintext attacks"
    summary: ClassVar[str] = "knows the sentence but for the term, and asks the victim for every candidate"
    reads: ClassVar[Reads] = "terms"
    needs: ClassVar[Needs] = "attacked"

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.questions, "questions", 3, 10**9)
        whole_number(self.seed, "seed", 0, 2**48)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> Asker:
        """Ask; texts for which there are not questions enough are not attacked."""
        sentences, clean = checked(texts, vectors)
        concept = candidate_terms(self.concept)
        if self.ids is not None and len(self.ids) != len(sentences):
            raise ParameterError(f"`ids` must be one a text. Found {len(self.ids)} for {len(sentences)}.")
        terms = tuple(term.lower() for term in concept.terms)
        source = answering(self.oracle, mechanism, self.embedder, seed=self.seed)
        found = [concept.terms_in(text) for text in sentences]
        asked, tables = self._chosen(sentences, found, concept, terms)
        truth = np.array([terms.index(found[row][0]) for row in np.flatnonzero(asked)], np.intp)
        put = Questions(source, self.questions)
        distinct = list(dict.fromkeys(text for row in tables for text in row))
        answers, refused, times = ask_all(put, distinct, on_step)
        ids = None if self.ids is None else [self.ids[row] for row in np.flatnonzero(asked).tolist()]
        made = Asker(terms, asked, *answer_tables(source, answers, tables, refused, ids), self.seed)
        made.counts = {"sent": put.sent, "refused": len(put.refused), "times": times}
        made.control = self._control(mechanism, tables, clean[asked], truth)
        return made

    def _chosen(
        self, sentences: list[str], found: list[list[str]], concept: Concept, terms: tuple[str, ...]
    ) -> tuple[NDArray[np.bool_], list[list[str]]]:
        """Which texts are asked about, and the candidates of each, the true one among them."""
        asked = np.zeros(len(sentences), bool)
        tables: list[list[str]] = []
        distinct: set[str] = set()
        for row, (text, own) in enumerate(zip(sentences, found, strict=True)):
            if len(own) != 1 or own[0] not in terms:
                continue
            candidates = candidate_sentences(concept, text, terms.index(own[0]))
            if len(distinct | set(candidates)) + 1 > self.questions:  # one is asked twice
                break
            distinct |= set(candidates)
            asked[row] = True
            tables.append(candidates)
        if not tables:
            raise InputError(
                f"The oracle needs texts that name exactly one term of `{concept.name}`, and "
                f"{len(terms) + 1} questions for each. Found none that fits {self.questions} questions."
            )
        return asked, tables

    def _control(
        self,
        mechanism: Releasing | None,
        tables: list[list[str]],
        clean: Vectors,
        truth: NDArray[np.intp],
    ) -> Control | None:
        """The same choice among clean vectors; None where others are embedded, or without encoder."""
        encoder = Entrance.of(entrance_of(mechanism, self.embedder))
        if encoder.encoder is None or encoder.hides:
            return None
        rows = generator(self.seed).permutation(len(tables))[:_CONTROL_ROWS]
        named = name_by_asking(
            encoder.encoder.embed, clean[rows], [tables[row] for row in rows], seed=self.seed
        )
        return Control("top-1", float((named == truth[rows]).mean()), len(rows))
