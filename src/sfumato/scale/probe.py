"""How long `protect` will take for texts like these: the very protector at work on some of them, timed.

Rows are drawn at random from the file and ordered by length, and every n-th of them is taken: a round of any
size then holds long and short texts as the file does. Rounds grow until the time is up. Times are of the
clock on the wall, with whatever else this machine is doing now.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Secret
from sfumato.embedders.base import Embedder, OnBatch
from sfumato.errors import InputError
from sfumato.inputs import RowBatch, count, read
from sfumato.protector import Protector
from sfumato.randomness import generator

SECONDS = 12.0
"""About how long the probe takes, without loading the encoder."""
MOST_READ = 200_000
"""Rows of the file that are looked at."""
MOST_KEPT = 4096
"""Rows that are drawn from them."""
_ROUND = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectEstimate:
    """What protecting a file takes on this machine, as it is now."""

    rows: int
    """How many there are to protect."""
    seconds: float
    """For all of them, starting included."""
    starting: float
    """Seconds to load the encoder and to use it for the first time."""
    stages: dict[str, float]
    """Seconds a row by stage: finding concepts and making texts neutral, embedding, releasing."""
    passes: float
    """Texts that the encoder is given for each row."""
    matched: float | None
    """Share of rows with a concept; None for vectors."""
    probed: int
    """Rows that were timed."""
    characters: float | None
    """Mean length of a text in the file."""

    @property
    def row_seconds(self) -> float:
        """For one row."""
        return sum(self.stages.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {**found, "rows_a_second": 1 / self.row_seconds, "extrapolated": True}


def probe(
    source: Path, protector: Protector, *, rows: int | None = None, seconds: float | None = None
) -> ProtectEstimate:
    """Time a protector on some rows of a file; nothing is kept, published or charged.

    Args:
        source: the file, or one like it.
        protector: what is to protect it; where it holds a secret, another one is used.
        rows: how many there will be; those of the file if not said.
        seconds: about how long to measure.
    """
    secret = None if protector.secret is None else Secret.generate()
    sample, found = _sampled(source)
    timed = _Timed(replace(protector, secret=secret, ledger=None))
    starting = timed.start(sample)
    until = time.monotonic() + (SECONDS if seconds is None else seconds)
    size, place = _ROUND, 0
    while place < len(sample):
        last = min(place + size, len(sample))
        begun = time.monotonic()
        timed.run(sample.some(place, last))
        spent = time.monotonic() - begun
        place, left = last, until - time.monotonic()
        if left < spent:  # another round of this size would end late
            break
        size = int(min(2 * size, max(size, size * left / max(spent, 1e-6) / 2)))
    stages = timed.stages()
    whole = found if rows is None else rows
    return ProtectEstimate(
        rows=whole,
        seconds=starting + whole * sum(stages.values()),
        starting=starting,
        stages=stages,
        passes=timed.passes(),
        matched=timed.matched(),
        probed=timed.rows,
        characters=sample.mean_length,
    )


class _Sample:
    """Rows of a file in an order of which every stretch is like the whole."""

    def __init__(self, batches: Sequence[RowBatch], mean_length: float | None) -> None:
        self._rows = _joined(batches)
        self.mean_length = mean_length
        lengths = [len(text) for text in self._rows.texts or [""] * len(self._rows)]
        by_length = np.argsort(np.array(lengths), kind="stable")
        self._order = by_length[_spread(len(by_length))]

    def __len__(self) -> int:
        return len(self._order)

    def some(self, first: int, last: int) -> RowBatch:
        """A stretch of them."""
        rows, chosen = self._rows, self._order[first:last]
        return RowBatch(
            0,
            None if rows.texts is None else [rows.texts[row] for row in chosen],
            None if rows.spans is None else [rows.spans[row] for row in chosen],
            None if rows.vectors is None else rows.vectors[chosen],
        )


def _spread(count: int) -> NDArray[np.intp]:
    """The numbers up to `count` so that each stretch is spread evenly over all (van der Corput, base 2)."""
    bits = max(1, (count - 1).bit_length())
    numbers = np.arange(1 << bits)
    turned = np.zeros_like(numbers)
    for bit in range(bits):
        turned |= ((numbers >> bit) & 1) << (bits - 1 - bit)
    return np.asarray(turned[turned < count], np.intp)


def _sampled(source: Path) -> tuple[_Sample, int]:
    """Some rows of a file, and how many it has."""
    rng = generator(0)
    kept: list[tuple[float, RowBatch]] = []
    rows = characters = 0
    texts, more = False, False
    for batch in read(source, columns=()):
        if rows >= MOST_READ:
            more = True
            break
        texts = batch.texts is not None
        characters += sum(map(len, batch.texts or ()))
        rows += len(batch)
        drawn = rng.random(len(batch))
        kept += [(float(draw), batch.rows(row, row + 1)) for row, draw in enumerate(drawn)]
        kept = sorted(kept, key=lambda each: each[0])[:MOST_KEPT]
    whole = count(source) if more else rows
    if whole is None:
        whole = sum(len(batch) for batch in read(source, columns=()))
    return _Sample([row for _, row in kept], characters / rows if texts else None), whole


def _joined(batches: Sequence[RowBatch]) -> RowBatch:
    texts = [text for batch in batches for text in batch.texts or ()]
    spans = [row for batch in batches for row in batch.spans or [[] for _ in range(len(batch))]]
    marked = any(batch.spans is not None for batch in batches)
    found = [batch.vectors for batch in batches if batch.vectors is not None]
    vectors: Any = np.concatenate(found) if found else None
    return RowBatch(0, texts or None, spans if marked else None, vectors)


class _Timed:
    """A protector whose stages are timed."""

    def __init__(self, protector: Protector) -> None:
        self._protector = protector
        self._encoder: _TimedEncoder | None = None
        self._found = self._released = 0.0
        self._matches = 0
        self.rows = 0

    def start(self, sample: _Sample) -> float:
        """Load the encoder and use everything once; return how long that takes beyond the work itself."""
        begun = time.monotonic()
        if self._protector.embedder is not None:
            self._encoder = _TimedEncoder(self._protector.encoder)
            self._protector = replace(self._protector, embedder=self._encoder)
        self.run(sample.some(0, min(_ROUND, len(sample))))
        first = time.monotonic() - begun
        self._forget()
        begun = time.monotonic()
        self.run(sample.some(0, min(_ROUND, len(sample))))
        again = time.monotonic() - begun
        self._forget()
        return max(0.0, first - again)

    def run(self, batch: RowBatch) -> None:
        """Protect some rows and throw the vectors away."""
        begun = time.monotonic()
        if batch.texts is not None and self._encoder is not None:
            before = self._encoder.seconds
            ready = self._protector.prepare(batch.texts, spans=batch.spans)
            self._found += time.monotonic() - begun - (self._encoder.seconds - before)
            begun = time.monotonic()
            self._protector.release(ready)
            self._matches += int(ready.matched.sum())
        elif batch.vectors is not None:
            self._protector.protect(batch.vectors, units=[str(row) for row in range(len(batch))])
        else:
            raise InputError(
                "The protector has no embedder and the input has no vectors. Give one or the other."
            )
        self._released += time.monotonic() - begun
        self.rows += len(batch)

    def stages(self) -> dict[str, float]:
        """Seconds a row."""
        released = {"release": self._released / self.rows}
        if self._encoder is None or not self._encoder.texts:
            return released
        encoded = self._encoder.seconds / self.rows
        return {"find": self._found / self.rows, "embed": encoded, **released}

    def passes(self) -> float:
        """Texts embedded a row."""
        return 0.0 if self._encoder is None else self._encoder.texts / self.rows

    def matched(self) -> float | None:
        """Share of rows with a concept."""
        return None if self._encoder is None or not self._encoder.texts else self._matches / self.rows

    def _forget(self) -> None:
        self._found = self._released = 0.0
        self._matches = self.rows = 0
        if self._encoder is not None:
            self._encoder.seconds, self._encoder.texts = 0.0, 0


class _TimedEncoder:
    """Any encoder, with a clock."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.name, self.model_id, self.dim = embedder.name, embedder.model_id, embedder.dim
        self.seconds, self.texts = 0.0, 0

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Embed, and add to the time."""
        begun = time.monotonic()
        try:
            return self.embedder.embed(texts, on_batch=on_batch)
        finally:
            self.seconds += time.monotonic() - begun
            self.texts += len(texts)
