"""What is embedded in a text's place: neutral copies where a concept is found, and whose release that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.identity import of_embedded
from sfumato.concepts.neutral import Mention, neutral_texts
from sfumato.embedders.base import Embedder
from sfumato.embedders.seen import seen_by

Names = tuple[str, ...]


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
    """The texts that are embedded for some rows: each row's own, or its neutral copies."""

    texts: list[str]
    first: list[int]
    """Where in `texts` each row's begin."""
    matched: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Sequence[str], mentions: Sequence[Sequence[Mention]], neutral: int) -> Copies:
        """Make `neutral` copies of each text in which something was found; 0 leaves texts as they are."""
        made: list[str] = []
        first: list[int] = []
        for text, found in zip(texts, mentions, strict=True):
            first.append(len(made))
            made += neutral_texts(text, found, neutral) if found and neutral else [text]
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
        seen = seen_by(encoder, self.texts)
        rows = [seen[start:end] for start, end in zip(self.first, self._ends(), strict=True)]
        model = encoder.model_id
        names = tuple(of_embedded(model, [each.noise for each in row]) for row in rows)
        return names, tuple(of_embedded(model, [each.account for each in row]) for row in rows)

    def _ends(self) -> list[int]:
        return [*self.first[1:], len(self.texts)]
