"""The terms an attack looks for, and which of them a text holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.concept import Concept
from sfumato.errors import InputError

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Terms in lower case, and the concept that finds them; without one they are plain words."""

    terms: tuple[str, ...]
    concept: Concept | None = None

    @classmethod
    def of(
        cls, given: Sequence[str] | Concept | None, texts: Sequence[str], *, at_least: int, most: int
    ) -> Vocabulary:
        """Settle what to look for.

        Args:
            given: terms; a concept, whose own terms count, or else whatever it finds often enough; or None
                for the words of the texts.
            texts: where terms are counted when they are not given.
            at_least: a counted term has to stand in so many texts.
            most: only so many counted terms are kept, the most frequent.
        """
        if given is not None and not isinstance(given, Concept):
            given = Concept.from_terms("terms", given)
        if isinstance(given, Concept) and given.terms:
            return cls(tuple(dict.fromkeys(" ".join(term.lower().split()) for term in given.terms)), given)
        counts = Counter(term for found in _found(given, texts) for term in set(found))
        often = [term for term, count in counts.most_common(most) if count >= at_least]
        if not often:
            raise InputError(
                f"No term stands in {at_least} of the {len(texts)} texts, so there is nothing to learn. "
                "Give more texts, or terms."
            )
        return cls(tuple(sorted(often)), given)

    def find(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text: all that the concept finds, or the words of the vocabulary."""
        if self.concept is not None:
            return _found(self.concept, texts)
        known = set(self.terms)
        return [[word for word in found if word in known] for found in _found(None, texts)]

    def table(self, found: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
        """`(n, terms)` which terms of the vocabulary are among those found in each text."""
        index = {term: column for column, term in enumerate(self.terms)}
        held = np.zeros((len(found), len(self.terms)), bool)
        for row, terms in enumerate(found):
            held[row, [index[term] for term in terms if term in index]] = True
        return held


def _found(concept: Concept | None, texts: Sequence[str]) -> list[list[str]]:
    if concept is None:
        return [list(dict.fromkeys(_WORD.findall(text.lower()))) for text in texts]
    return [concept.terms_in(text) for text in texts]
