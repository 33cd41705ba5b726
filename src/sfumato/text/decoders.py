"""Nearest word of a released vector, by cosine (STAMP, section 4, equations 1 to 4).

Decoding looks at the released vector and at public vectors only: whatever it does, exactly or not, is
post-processing and costs no privacy. Which decoder is used decides about the text, never about the promise.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sfumato import blocks
from sfumato.mechanisms.base import one_blas_thread
from sfumato.registry import Entry, Registry
from sfumato.text.prefixes import Ids, Prefixes, margin_of, where
from sfumato.types import FloatArray, Floats, Vectors
from sfumato.workspace import Workspace

_ROWS = 1024
_WORDS = 512
"""Rows and words multiplied at a time: their scores stay in a core's cache."""

_RECHECKED = 1 << 12
"""Pairs whose cosine is taken again in float64 at a time."""

_MANY = 4096
"""Leading coordinates are worth making for so many words at least, once so many rows were asked for."""


class WordDecoder(Protocol):
    """Finds the word whose unit vector has the largest cosine with each released row."""

    def nearest(self, released: FloatArray, *, threads: int | None = None, hints: Ids | None = None) -> Ids:
        """Return `[n]` word numbers; `hints` name words that may be near and change nothing but the time."""


class Exact:
    """The true nearest word, by a blocked matrix product whose close calls are decided in float64.

    A float32 product of d terms errs by at most about d 2^-24 |y| |w|. Every word within more than twice that
    of the best is looked at again in float64, so the answer depends neither on blocks nor on threads nor on
    the library of matrix products. Equal words give the first one.

    Rows that lie near their hint need only the leading coordinates of most words (see `Prefixes`). The time
    then tells something about noise and word, the answer does not: as in the paper (appendix A), whoever can
    time the sender is out of scope.
    """

    def __init__(self, vectors: Vectors) -> None:
        self._words = np.ascontiguousarray(vectors, np.float32)
        self._prefixes: Prefixes | None = None
        self._hinted = 0

    def nearest(self, released: FloatArray, *, threads: int | None = None, hints: Ids | None = None) -> Ids:
        """Return `[n]` word numbers; a row of zeros has no direction and gets word 0."""
        rows = np.ascontiguousarray(released, np.float32)
        out = np.zeros(len(rows), np.int64)
        if not len(rows):
            return out
        least = self._at_least(rows, hints)
        # Rows that need as many coordinates as each other stand together.
        order = np.argsort(-least, kind="stable")
        workers = blocks.thread_count(threads)
        ranges = np.array_split(order, _parts(len(rows), workers))
        self._hinted += int(np.isfinite(least).sum())
        if self._prefixes is None and min(self._hinted, len(self._words)) >= _MANY:
            self._prefixes = Prefixes(self._words)

        def work(index: int, space: Workspace) -> None:
            own = ranges[index]
            out[own] = self._block(rows[own], least[own], space)

        with one_blas_thread():
            blocks.run(work, len(ranges), workers)
        return out

    def _at_least(self, rows: Vectors, hints: Ids | None) -> Floats:
        """A cosine that the best word of each row reaches for certain."""
        least = np.full(len(rows), -np.inf)
        if hints is None:
            return least
        known = np.flatnonzero(hints >= 0)
        lengths = np.maximum(np.linalg.norm(rows[known].astype(np.float64), axis=1), 1e-30)
        least[known] = np.vecdot(rows[known], self._words[hints[known]]) / lengths
        return least

    def _block(self, rows: Vectors, least: Floats, space: Workspace) -> Ids:
        margin = margin_of(rows)
        if self._prefixes is not None:
            found = self._prefixes.candidates(rows, least, space)
            if found is not None:
                return self._decide(rows, *self._closest(rows, margin, *found))
        best = np.full(len(rows), -np.inf, np.float32)
        parts: list[tuple[Ids, Ids, Vectors]] = []
        for low in range(0, len(self._words), _WORDS):
            words = self._words[low : low + _WORDS]
            scores = space.take("scores", (len(rows), len(words)), np.float32)
            np.matmul(rows, words.T, out=scores)
            top = scores.max(axis=1)
            # Later blocks rarely hold a better word, so few rows are looked at twice.
            close = np.flatnonzero(top >= best - margin)
            np.maximum(best, top, out=best)
            near, word = where(scores[close] >= (best - margin)[close, None])
            parts.append((close[near], word + low, scores[close[near], word]))
        row, word, score = (np.concatenate(part) for part in zip(*parts, strict=True))
        kept = (score >= (best - margin)[row]) & (margin > 0)[row]
        return self._decide(rows, row[kept], word[kept])

    def _closest(self, rows: Vectors, margin: Vectors, row: Ids, word: Ids) -> tuple[Ids, Ids]:
        """The pairs that are close calls, out of more."""
        score = np.empty(len(row), np.float32)
        for low in range(0, len(row), _RECHECKED):
            part = slice(low, low + _RECHECKED)
            score[part] = np.vecdot(rows[row[part]], self._words[word[part]])
        best = np.full(len(rows), -np.inf, np.float32)
        np.maximum.at(best, row, score)
        kept = score >= (best - margin)[row]
        return row[kept], word[kept]

    def _decide(self, rows: Vectors, row: Ids, word: Ids) -> Ids:
        """The best of the close calls of each row."""
        out = np.zeros(len(rows), np.int64)
        single = (np.bincount(row, minlength=len(rows)) == 1)[row]
        out[row[single]] = word[single]
        row, word = row[~single], word[~single]
        cosine = np.empty(len(row))
        for low in range(0, len(row), _RECHECKED):
            part = slice(low, low + _RECHECKED)
            left, right = rows[row[part]].astype(np.float64), self._words[word[part]].astype(np.float64)
            cosine[part] = np.vecdot(left, right)
        order = np.lexsort((word, -cosine, row))
        chosen, first = np.unique(row[order], return_index=True)
        out[chosen] = word[order][first]
        return out


def _parts(rows: int, workers: int) -> int:
    """Into how many blocks rows are cut: as many for each thread, where there are enough of them."""
    parts = -(-rows // _ROWS)
    return parts if parts <= 1 else -(-parts // workers) * workers


DECODERS: Registry[WordDecoder] = Registry(
    "decoder",
    [
        Entry("exact", "sfumato.text.decoders:Exact", "the true nearest word, by a blocked matrix product"),
        Entry("hnsw", "sfumato.text.hnsw:Hnsw", "a near word, by a FAISS graph", ("faiss",), "faiss"),
        Entry(
            "torch",
            "sfumato.text.on_device:OnDevice",
            "the true nearest word, on a GPU where there is one",
            ("torch",),
            "learn",
        ),
    ],
)
