"""Where a language model's pieces lie in the victim's space: each embedded once, alone, for every target."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sfumato.attacks.base import Embeds
from sfumato.attacks.huggingface.pieces import Pieces
from sfumato.errors import ArtifactError
from sfumato.metrics.similarity import unit_rows
from sfumato.release import Release
from sfumato.types import Flags, Floats, Rows, Vectors

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")


@dataclass(frozen=True, slots=True, eq=False)
class WordList:
    """Pieces that begin a word, and the vectors of those words."""

    words: list[str]
    vectors: Vectors
    """`(words, d)` what each would be released as without noise, at unit length."""
    of_piece: Rows
    """`(pieces,)` the word of each piece, or -1."""
    written: Flags
    """`(pieces,)` which pieces may be written: those that show, in one line."""

    @classmethod
    def of(cls, pieces: Pieces, encoder: Embeds, release: Release, size: int, most: int) -> WordList:
        """Embed the first `most` of `size` pieces that are words; tokenizers number frequent ones low."""
        texts = pieces.decode([[number] for number in range(size)])
        begins = _begins(pieces, texts)
        numbers: dict[str, int] = {}
        of_piece = np.full(size, -1, np.intp)
        for piece, text in enumerate(texts):
            word = text.lower()
            if not begins[piece] or not _WORD.fullmatch(word):
                continue
            if word not in numbers and len(numbers) >= most:
                continue
            of_piece[piece] = numbers.setdefault(word, len(numbers))
        if not numbers:
            raise ArtifactError("The language model's pieces must hold words of letters. Found none.")
        rows = release.expected(np.asarray(encoder.embed(list(numbers)), np.float64))
        shown = [bool(text) and "\n" not in text and "\ufffd" not in text for text in texts]
        return cls(list(numbers), unit_rows(rows).astype(np.float32), of_piece, np.array(shown))

    def nearness(self, vector: Floats) -> Floats:
        """`(words,)` cosine of every word with a vector."""
        return np.asarray(self.vectors @ unit_rows(vector[None])[0].astype(np.float32), np.float64)

    def by_piece(self, values: Floats) -> Floats:
        """`(pieces,)` the value of each piece's word; of a piece that is no word, their mean."""
        return np.asarray(np.where(self.of_piece >= 0, values[self.of_piece], values.mean()))


def _begins(pieces: Pieces, texts: list[str]) -> list[bool]:
    """Which pieces begin a word: behind another word they stand apart."""
    first = next((number for number, text in enumerate(texts) if _WORD.fullmatch(text)), 0)
    both = pieces.decode([[first, number] for number in range(len(texts))])
    return [text.startswith(f"{texts[first]} ") for text in both]
