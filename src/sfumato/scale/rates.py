"""Rates measured on the spot: what one core reads, protects, writes and encodes in a second."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sfumato.accounting import Secret
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from sfumato.inputs import RowBatch
from sfumato.mechanisms import Mechanism
from sfumato.protector import Protector
from sfumato.randomness import Draws, OpenBlock, Source, Words, generator
from sfumato.scale.rows import as_table, places, release
from sfumato.scale.worker import open_writer
from sfumato.workspace import Workspace

SECONDS = 0.4
"""About how long each stage is measured."""
WORDS = 100
"""Words of the texts that an encoder is timed with."""
_NUMBERS = 1 << 22


def vectors(mechanism: Mechanism, dim: int, *, sticky: bool) -> dict[str, float]:
    """Vectors a second that one core reads from Parquet, protects, and writes to Parquet on this disk."""
    rows = max(64, min(1 << 14, _NUMBERS // dim))
    inputs = generator(0).standard_normal((rows, dim), dtype=np.float32)
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True)
    protector = Protector(mechanism, normalise=False, secret=Secret.generate() if sticky else None)
    names = places("plan", 0, rows)
    with tempfile.TemporaryDirectory(prefix="sfumato-plan-") as place, _one_thread():
        file = Path(place, "rows.parquet")
        _write(file, as_table(inputs, {}))
        released = as_table(mechanism.privatize(inputs), {})
        batch = RowBatch(0, vectors=inputs)
        # Processor time where a core works, so that other programs do not count; the wall where a disk does.
        seconds = {
            "read": _seconds(lambda: pq.read_table(file, use_threads=False), time.process_time),
            "noise": _seconds(lambda: release(batch, protector, names), time.process_time),
            "write": _seconds(lambda: _write(Path(place, "released.parquet"), released), time.perf_counter),
        }
    return {name: rows / taken for name, taken in seconds.items()}


def encoding(name: str, dim: int) -> float:
    """Texts of a hundred words that one core encodes in a second."""
    encoder = load_embedder(name)
    if encoder.dim != dim:
        raise InputError(f"{name} has {encoder.dim} dimensions and --dim says {dim}. They must agree.")
    rng = generator(1)
    words = ["".join(chr(97 + int(letter)) for letter in rng.integers(0, 26, 5)) for _ in range(500)]
    texts = [" ".join(words[int(i)] for i in rng.integers(0, len(words), WORDS)) for _ in range(16)]
    start = time.process_time()
    calls = 0
    until = time.perf_counter() + SECONDS
    while calls < 1 or time.perf_counter() < until:
        encoder.embed([f"{calls} {text}" for text in texts])
        calls += 1
    # Processor time of all threads: encoders use as many cores as there are.
    return calls * len(texts) / max(time.process_time() - start, 1e-9)


def words_a_row(mechanism: Mechanism, dim: int, rows: int = 512) -> float:
    """Random 64-bit words drawn for one vector."""
    source = _Counting()
    one = np.zeros((rows, dim), np.float32)
    one[:, 0] = 1.0
    mechanism.privatize(one, source, threads=1)
    return source.words / rows


class _Counting(Source):
    """A secure source that counts the words it hands out."""

    words = 0

    def blocks(self, bounds: Sequence[tuple[int, int]]) -> OpenBlock:
        opened = super().blocks(bounds)
        return lambda index, space: _CountedDraws(opened(index, space), self)


class _CountedDraws:
    def __init__(self, draws: Draws, counter: _Counting) -> None:
        self._draws, self._counter = draws, counter
        self.rows, self.flat = draws.rows, draws.flat
        self.space: Workspace = draws.space

    def words(self, per_row: int, rows: Sequence[int] | None = None) -> Words:
        found = self._draws.words(per_row, rows)
        self._counter.words += found.size
        return found


def _write(file: Path, table: Any) -> None:
    with open(file, "wb") as handle:
        with open_writer(handle, table.schema) as writer:
            writer.write_table(table)
        handle.flush()
        os.fsync(handle.fileno())


@contextmanager
def _one_thread() -> Iterator[None]:
    before = os.environ.get("SFUMATO_THREADS")
    os.environ["SFUMATO_THREADS"] = "1"
    try:
        yield
    finally:
        os.environ.pop("SFUMATO_THREADS")
        if before is not None:
            os.environ["SFUMATO_THREADS"] = before


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """The median time of one call."""
    work()
    taken: list[float] = []
    until = time.perf_counter() + SECONDS
    while len(taken) < 3 or (time.perf_counter() < until and len(taken) < 200):
        start = clock()
        work()
        taken.append(clock() - start)
    return float(np.median(taken))
