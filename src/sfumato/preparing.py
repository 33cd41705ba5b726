"""What is embedded in a text's place: a neutral text where a concept is found, and whose release that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.identity import canonical, of_embedded
from sfumato.concepts.base import Check
from sfumato.concepts.concept import Concept
from sfumato.concepts.spans import SpanLike, searched_once
from sfumato.concepts.texts.neutral import (
    Mention,
    NeutralBy,
    neutral_texts,
    removed_text,
    soft_text,
    spread,
    without_overlaps,
)
from sfumato.embedders.base import Embedder, OnBatch, takes_soft
from sfumato.errors import InputError, ParameterError

Names = tuple[str, ...]
RowSpans = Sequence[Sequence[SpanLike]]
"""The spans that each text came with; they become Span where a concept reads them."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Vectors ready to be released; they still hold everything the noise is there to hide."""

    vectors: NDArray[np.float32]
    matched: NDArray[np.bool_]
    """`[n]` whether a concept was found in the text."""
    names: Names | None = None
    """Identity of what was embedded, which keys sticky noise; None where nothing is keyed or counted."""
    accounts: Names | None = None
    """The ledger's account of each row; the same identity, unless the encoder does not say what it sees."""

    @classmethod
    def together(cls, parts: Sequence[Prepared]) -> Prepared:
        """Join rows that were prepared by one protector."""
        keyed = all(part.names is not None and part.accounts is not None for part in parts)
        return cls(
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([part.matched for part in parts]),
            tuple(name for part in parts for name in part.names or ()) if keyed else None,
            tuple(name for part in parts for name in part.accounts or ()) if keyed else None,
        )


@dataclass(frozen=True, slots=True)
class Copies:
    """The texts that are embedded for some rows: each row's own, or what makes it neutral."""

    texts: list[str]
    first: list[int]
    """Where in `texts` each row's begin."""
    matched: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        mentions: Sequence[Sequence[Mention]],
        neutral: int,
        by: NeutralBy = "copies",
    ) -> Copies:
        """Make each text neutral in which something was found; 0 references leave texts as they are."""
        made: list[str] = []
        first: list[int] = []
        for text, found in zip(texts, mentions, strict=True):
            first.append(len(made))
            if not found or not neutral:
                made.append(text)
            elif by == "removal":
                made.append(removed_text(text, found))
            elif by == "soft":
                made.append(soft_text(text, found))
            else:
                made += neutral_texts(text, found, neutral if by == "copies" else 1)
        return cls(made, first, np.array([bool(found) for found in mentions], bool))

    def means(self, embedded: NDArray[np.float32]) -> NDArray[np.float32]:
        """One unit vector a row from one a copy; a row that is embedded as it is keeps its very bits."""
        sums = np.add.reduceat(embedded.astype(np.float64), self.first, axis=0)
        # A mean of several unit vectors is shorter than one, and its length would tell that it is a mean.
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        single = np.subtract(self._ends(), self.first) == 1
        return np.where(single[:, None], embedded[self.first], sums.astype(np.float32))

    def identities(self, encoder: Embedder) -> tuple[Names, Names]:
        """The identity of each row as its noise, and as its account, knows it."""
        from sfumato.embedders.seen import seen_by

        seen = seen_by(encoder, self.texts)
        rows = [seen[start:end] for start, end in zip(self.first, self._ends(), strict=True)]
        model = encoder.model_id
        names = tuple(of_embedded(model, [each.noise for each in row]) for row in rows)
        return names, tuple(of_embedded(model, [each.account for each in row]) for row in rows)

    def _ends(self) -> list[int]:
        return [*self.first[1:], len(self.texts)]


def find_mentions(
    concepts: Sequence[Concept],
    neutral: int,
    texts: Sequence[str],
    spans: RowSpans | None = None,
    *,
    by: NeutralBy = "copies",
    check: Check | None = None,
) -> list[list[Mention]]:
    """Where the concepts are in each text, and what may stand in for each: `neutral` terms, or one word."""
    found: list[list[Mention]] = [[] for _ in texts]
    with searched_once():
        for concept in concepts:
            terms = () if by == "placeholder" else concept.terms
            references = spread(terms, max(neutral, 1)) or (concept.placeholder,)
            for row, places in enumerate(concept.find_all(texts, spans, check=check)):
                found[row] += [Mention(span, references) for span in places]
    return [without_overlaps(row) for row in found]


@dataclass(frozen=True, slots=True, eq=False)
class Entrance:
    """The way texts go before a release: an encoder, and neutral texts where a concept is found.

    An attacker who knows it uses it in the encoder's place.
    """

    encoder: Any
    """Whatever has `embed(texts)`."""
    concepts: tuple[Concept, ...] = ()
    neutral: int = 0
    neutral_by: NeutralBy = "copies"

    @property
    def hides(self) -> bool:
        """Whether terms that are found never reach a vector."""
        return bool(self.concepts and self.neutral)

    @property
    def name(self) -> str | None:
        """The encoder's."""
        return getattr(self.encoder, "name", None)

    @property
    def model_id(self) -> str | None:
        """The encoder's."""
        return getattr(self.encoder, "model_id", None)

    @classmethod
    def of(cls, embedder: Any) -> Entrance:
        """Return an entrance as it is, or one that only embeds."""
        return embedder if isinstance(embedder, Entrance) else cls(embedder)

    def copies(
        self, texts: Sequence[str], spans: RowSpans | None = None, *, check: Check | None = None
    ) -> Copies:
        """The texts that are embedded in the place of these."""
        # Spans count characters of the text as it was written, so there it is left as it is.
        clean = list(texts) if spans is not None else [canonical(text) for text in texts]
        if self.hides and self.neutral_by == "soft" and not takes_soft(self.encoder):
            raise ParameterError(
                f"The encoder {self.name or 'given'} takes no soft tokens. Learn with another way of making "
                "texts neutral: removal, placeholder or copies."
            )
        if self.hides and spans is None:
            from sfumato.embedders.reach import within_reach

            clean = within_reach(self.encoder, clean)
        found = find_mentions(self.concepts, self.neutral, clean, spans, by=self.neutral_by, check=check)
        return Copies.of(clean, found, self.neutral, self.neutral_by)

    def prepare(
        self,
        texts: Sequence[str],
        *,
        spans: RowSpans | None = None,
        on_batch: OnBatch | None = None,
        check: Check | None = None,
        keyed: bool = False,
    ) -> Prepared:
        """Embed texts, and with `keyed` say whose release each will be; see `Protector.prepare`."""
        if isinstance(texts, str):
            raise InputError("`texts` must be a list of texts. Found a single text.")
        wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
        if wrong is not None:
            raise InputError(f"Row {wrong} must be a text. Found {type(texts[wrong]).__name__}.")
        copies = self.copies(texts, spans, check=check)
        embedded = self.encoder.embed(copies.texts, on_batch=on_batch)
        if not copies.texts:
            return Prepared(embedded, copies.matched, (), ())
        names, accounts = copies.identities(self.encoder) if keyed else (None, None)
        return Prepared(copies.means(embedded), copies.matched, names, accounts)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors that enter a release for these texts; whatever is embedded is embedded once."""
        if not self.hides or not len(texts):
            return _embedded_once(self.encoder, texts)
        once = list(dict.fromkeys(texts))
        copies = self.copies(once)
        rows = copies.means(_embedded_once(self.encoder, copies.texts))
        places = {text: row for row, text in enumerate(once)}
        return rows[[places[text] for text in texts]]


def _embedded_once(encoder: Any, texts: Sequence[str]) -> NDArray[np.float32]:
    """Neutral texts of one sentence are the same for every term."""
    once = list(dict.fromkeys(texts))
    places = {text: row for row, text in enumerate(once)}
    found: NDArray[np.float32] = np.asarray(encoder.embed(once))[[places[text] for text in texts]]
    return found
