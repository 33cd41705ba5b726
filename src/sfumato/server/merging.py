"""One encoder for many requests: texts that wait at the same time are embedded together, in fair shares."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import Embedder, OnBatch

ROUND = 128
"""Texts that are embedded in one go."""
SHARE = 16
"""Texts that one request may add before the next one may."""


@dataclass(slots=True, eq=False)
class _Job:
    texts: list[str]
    vectors: NDArray[np.float32]
    taken: int = 0
    done: int = 0
    error: Exception | None = None

    @property
    def finished(self) -> bool:
        return self.error is not None or self.done == len(self.texts)


@dataclass(slots=True, eq=False)
class _Part:
    job: _Job
    first: int
    last: int

    @property
    def texts(self) -> list[str]:
        return self.job.texts[self.first : self.last]


@dataclass(slots=True, eq=False)
class MergingEmbedder:
    """Any embedder, called by many threads: whoever finds it free works off what all of them wait for.

    An embedder gives a text the same vector whatever stands beside it, so nobody can see the merging.
    """

    embedder: Embedder
    name: str = field(init=False)
    model_id: str = field(init=False)
    dim: int = field(init=False)
    _free: threading.Condition = field(init=False, default_factory=threading.Condition)
    _waiting: deque[_Job] = field(init=False, default_factory=deque)
    _busy: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Take over what names the encoder."""
        self.name, self.model_id, self.dim = self.embedder.name, self.embedder.model_id, self.embedder.dim

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` vectors in the order of the texts."""
        job = _Job(list(texts), np.empty((len(texts), self.dim), np.float32))
        with self._free:
            if not job.finished:
                self._waiting.append(job)
            while not job.finished:
                if self._busy:
                    self._free.wait()
                else:
                    self._work_off()
        if job.error is not None:
            raise job.error
        if on_batch is not None:
            on_batch(len(job.texts))
        return job.vectors

    def _work_off(self) -> None:
        """Embed one round, letting others queue up meanwhile; called with the condition held."""
        parts = self._round()
        self._busy = True
        self._free.release()
        try:
            found = self._embedded(parts)
        finally:
            self._free.acquire()
            self._busy = False
            self._free.notify_all()
        for part, vectors in zip(parts, found, strict=True):
            if isinstance(vectors, Exception):
                part.job.error = part.job.error or vectors
            else:
                part.job.vectors[part.first : part.last] = vectors
                part.job.done += part.last - part.first

    def _round(self) -> list[_Part]:
        """Take shares of the waiting requests in turn, until the round is full."""
        parts: list[_Part] = []
        room = ROUND
        while self._waiting and room:
            job = self._waiting.popleft()
            if job.error is not None:
                continue
            size = min(SHARE, room, len(job.texts) - job.taken)
            parts.append(_Part(job, job.taken, job.taken + size))
            job.taken += size
            room -= size
            if job.taken < len(job.texts):
                self._waiting.append(job)
        return parts

    def _embedded(self, parts: list[_Part]) -> list[NDArray[np.float32] | Exception]:
        try:
            together = self.embedder.embed([text for part in parts for text in part.texts])
        except Exception as error:
            if len(parts) == 1:
                return [error]
            # One request's text may be refused: the others must not suffer for it.
            return [self._embedded([part])[0] for part in parts]
        ends = np.cumsum([part.last - part.first for part in parts])[:-1]
        return list(np.split(together, ends))
