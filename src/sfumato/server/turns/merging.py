"""One encoder for many requests: texts that wait at the same time are embedded together, in fair shares."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import Embedder, OnBatch
from sfumato.server.turns.shares import TIGHT, Shares, Step, cost
from sfumato.server.turns.work import Work

SHARE = 16
"""Texts that one request may add before the next one may."""


@dataclass(slots=True, eq=False)
class _Embedding:
    texts: list[str]
    vectors: NDArray[np.float32]
    work: Work
    taken: int = 0
    done: int = 0
    error: Exception | None = None

    @property
    def finished(self) -> bool:
        return self.error is not None or self.done == len(self.texts)


@dataclass(slots=True, eq=False)
class _Part:
    job: _Embedding
    first: int
    last: int

    @property
    def texts(self) -> list[str]:
        return self.job.texts[self.first : self.last]

    @property
    def cost(self) -> int:
        return sum(map(cost, self.texts))


@dataclass(slots=True, eq=False)
class MergingEmbedder:
    """Any embedder, called by many threads: whose turn it is works off what others wait for too.

    An embedder gives a text the same vector whatever stands beside it, so nobody can see the merging. What is
    handed over as `on_batch` says whose texts they are and whether they are still wanted.
    """

    embedder: Embedder
    shares: Shares = field(default_factory=Shares)
    name: str = field(init=False)
    model_id: str = field(init=False)
    dim: int = field(init=False)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _encoding: threading.Lock = field(init=False, default_factory=threading.Lock)
    """A long round does not keep others from their turns, and still the encoder is never called twice."""
    _waiting: deque[_Embedding] = field(init=False, default_factory=deque)

    def __post_init__(self) -> None:
        """Take over what names the encoder."""
        self.name, self.model_id, self.dim = self.embedder.name, self.embedder.model_id, self.embedder.dim

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` vectors in the order of the texts."""
        work = on_batch if isinstance(on_batch, Work) else Work("", self.shares)
        work.leave()
        job = _Embedding(list(texts), np.empty((len(texts), self.dim), np.float32), work)
        if not job.finished:
            with self._lock:
                self._waiting.append(job)
        begun = time.time_ns()
        try:
            while not job.finished:
                step = self.shares.enter(work.tenant, lambda: job.finished or work.stopped)
                if step is not None:
                    self._work_off(step)
                elif not job.finished:
                    work.check()
        finally:
            with self._lock:
                if job in self._waiting:
                    self._waiting.remove(job)
            work.trace.note("embed", begun, time.time_ns(), texts=len(job.texts))
        if job.error is not None:
            raise job.error
        if on_batch is not None:
            on_batch(len(job.texts))
        return job.vectors

    def _work_off(self, step: Step) -> None:
        """Embed one round in this turn, and end the turn."""
        parts: list[_Part] = []
        try:
            with self._encoding:
                self.shares.begin(step)
                with self._lock:
                    parts = self._round(step.tenant)
                begun = time.monotonic()
                found = self._embedded(parts) if parts else []
                _count(parts, time.monotonic() - begun)
                for part, vectors in zip(parts, found, strict=True):
                    if isinstance(vectors, Exception):
                        part.job.error = part.job.error or vectors
                    else:
                        part.job.vectors[part.first : part.last] = vectors
                        part.job.done += part.last - part.first
        finally:
            whole = sum(part.cost for part in parts)
            shared: dict[str, float] = {}
            for part in parts:
                owner = part.job.work.tenant
                shared[owner] = shared.get(owner, 0.0) + part.cost / whole
            self.shares.leave(step, shared)

    def _round(self, tenant: str) -> list[_Part]:
        """Take shares of the tenant's requests in turn until the round is full; others fill a small one."""
        bound = self.shares.bound(tenant)
        parts: list[_Part] = []
        texts, characters = bound
        for own in (True, False):
            if not own:
                texts = min(texts, TIGHT.texts - (bound.texts - texts))
                characters = min(characters, TIGHT.characters - (bound.characters - characters))
            jobs = deque(job for job in self._waiting if (job.work.tenant == tenant) == own)
            while jobs and texts > 0 and (characters > 0 or not parts):
                job = jobs.popleft()
                if job.finished or job.work.stopped:
                    continue
                left = bound._replace(texts=min(SHARE, texts), characters=max(0, characters))
                size = left.fits(job.texts, job.taken)
                parts.append(_Part(job, job.taken, job.taken + size))
                job.taken += size
                texts, characters = texts - size, characters - parts[-1].cost
                if job.taken < len(job.texts):
                    jobs.append(job)
        taken = {id(part.job) for part in parts}
        # Whoever was served goes behind those who were not.
        kept = [job for job in self._waiting if not job.finished and job.taken < len(job.texts)]
        self._waiting = deque(sorted(kept, key=lambda job: id(job) in taken))
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


def _count(parts: list[_Part], seconds: float) -> None:
    """Tell each request how long the encoder worked for it."""
    whole = sum(part.cost for part in parts)
    for part in parts:
        part.job.work.used += seconds * part.cost / whole
