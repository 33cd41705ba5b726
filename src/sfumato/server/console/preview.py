"""What the console shows: made-up records before and after the noise, and what a small attack still reads.

Nothing here is a release. Noise is drawn afresh and apart from a tenant's sticky noise, no vector leaves, and
the only text besides the made-up records is the one that the visitor typed and so knows already.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.leastsquares import LeaveOneOut, LinearMap, fit_ridge, moments
from sfumato.errors import ParameterError, SfumatoError
from sfumato.metrics.leakage import count_leaked
from sfumato.metrics.ranking import ranked
from sfumato.metrics.retrieval import neighbours_kept
from sfumato.metrics.similarity import unit_rows
from sfumato.protector import Protector
from sfumato.records import Record, make_records
from sfumato.release import Release
from sfumato.server.http.logs import tell

RECORDS, SEARCHES, NEIGHBOURS, EXAMPLES = 360, 120, 5, 3
FACTORS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
"""How much of the protector's own noise the slider can add."""
_LEAST_TEXTS, _LEAST_TERMS, _GUESSES = 4, 4, 5
_TESTED = 3
"""One record in so many is held back from the attack."""
_SEED = 20
Matrix = NDArray[np.float32]
Status = Literal["idle", "building", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one amount of noise does to the made-up records."""

    factor: float
    noise_ratio: float
    found: float
    """Share of searches that still find their record among the first ten."""
    neighbours: float
    """Share of ten nearest neighbours that stay."""
    read: float
    """Share of terms the attack names."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    figures: Figures
    release: Release | None
    released: Matrix
    reader: LinearMap


class Preview:
    """The made-up records of one protector, embedded once and released at several amounts of noise."""

    def __init__(self, protector: Protector) -> None:
        self._protector = protector
        self.steps: dict[float, _Step] = {}
        self.records: list[Record] = []
        self.examples: list[str] = []
        self.looks_for = ""
        self.control = self.guess = 0.0
        self.clean_found = 0.0
        self.failed = False
        self.complete = False
        self._started = threading.Lock()

    def start(self) -> None:
        """Begin to build in a thread of its own, once."""
        if self._started.acquire(blocking=False):
            threading.Thread(target=self._build_or_fail, name="preview", daemon=True).start()

    @property
    def status(self) -> Status:
        """How far it is; ready means that a sentence can be tried at the protector's own noise."""
        if self.failed:
            return "failed"
        if 1.0 in self.steps:
            return "ready"
        return "building" if self._started.locked() else "idle"

    def look(self, text: str, factor: float) -> dict[str, Any]:
        """Neighbours of a text and what the attack reads, before and after."""
        step = self.steps[factor]
        clean = self._protector.encoder.embed([text])
        prepared = self._protector.entrance().prepare([text])
        after = prepared.vectors if step.release is None else step.release(prepared.vectors)
        before_rows, after_rows = _nearest(clean, self._clean), _nearest(after, step.released)
        kept = {row for row, _ in before_rows}
        said = text.lower()
        return {
            "matched": bool(prepared.matched[0]),
            "before": [{"text": self.records[row].text, "cosine": cosine} for row, cosine in before_rows],
            "after": [
                {"text": self.records[row].text, "cosine": cosine, "kept": row in kept}
                for row, cosine in after_rows
            ],
            "read_clean": self._reads(self._clean_reader, clean, said),
            "read_released": self._reads(step.reader, after, said),
        }

    def _reads(self, reader: LinearMap, vectors: Matrix, said: str) -> list[dict[str, Any]]:
        scores = reader(vectors)
        guesses = ranked(scores, self._terms, [_GUESSES])[0]
        return [{"term": term, "hit": term in said} for term in guesses]

    def _build_or_fail(self) -> None:
        try:
            self._build()
        except Exception as error:
            self.failed = True
            tell("preview failed", logging.ERROR, error=error)

    def _build(self) -> None:
        # Drawn together, so that the examples are none of the records.
        made = make_records(RECORDS + EXAMPLES, seed=_SEED)
        self.records, self.examples = made[EXAMPLES:], [record.text for record in made[:EXAMPLES]]
        texts = [record.text for record in self.records]
        self._learn_terms(texts)
        self._clean = self._protector.encoder.embed(texts)
        self._prepared = self._protector.entrance().prepare(texts).vectors
        self._searches = self._protector.encoder.embed([record.query for record in self.records[:SEARCHES]])
        self._test = np.arange(RECORDS) % _TESTED == 0
        self._ridge = LeaveOneOut(self._clean[~self._test], self._held[~self._test]).best()
        self._clean_reader = self._reader(self._clean, None)
        self.control = self._named(self._clean_reader, self._clean)
        often = np.tile(self._held[~self._test].mean(axis=0), (int(self._test.sum()), 1))
        self.guess = self._share(often)
        self.clean_found = _found(self._searches, self._clean)
        for factor in sorted(FACTORS, key=lambda each: abs(each - 1.0)):
            step = self._step(factor)
            if step is not None:
                self.steps[factor] = step
        self.complete = True

    def _learn_terms(self, texts: list[str]) -> None:
        """What the attack looks for: the protector's concepts where the records name them often enough."""
        concepts = self._protector.concepts
        found = [[term for concept in concepts for term in concept.terms_in(text)] for text in texts]
        terms = _often(found)
        self.looks_for = ", ".join(concept.name for concept in concepts)
        if len(terms) < _LEAST_TERMS:
            found, terms = [_facts(record) for record in self.records], ()
            terms = _often(found)
            self.looks_for = "diseases and cities"
        self._terms = list(terms)
        self._held = np.array([[term in set(row) for term in terms] for row in found], bool)

    def _step(self, factor: float) -> _Step | None:
        dim = self._protector.encoder.dim
        own = self._protector.mechanism.noise_ratio(dim)
        ratio = factor * own
        release: Release | None = self._protector.as_release()
        if release is None or factor == 0.0 or own == 0.0:
            release = None
        elif factor != 1.0:
            try:
                release = release.scaled(noise_ratio=ratio, dim=dim)
            except (ParameterError, SfumatoError):
                return None  # a mechanism may not reach so much or so little noise
        released = self._prepared if release is None else release(self._prepared)
        searches = self._searches if release is None else release(self._searches)
        reader = self._reader(self._prepared, release)
        figures = Figures(
            factor,
            ratio,
            _found(searches, released),
            neighbours_kept(self._clean, released, 10),
            self._named(reader, released),
        )
        return _Step(figures, release, released, reader)

    def _reader(self, vectors: Matrix, release: Release | None) -> LinearMap:
        """A linear attack that knows mechanism, noise and filter, and was trained on what they do."""
        train = ~self._test
        mean, noise = moments(release, vectors[train], _SEED)
        return fit_ridge(mean, self._held[train].astype(np.float64), ridge=self._ridge, noise=noise)

    def _named(self, reader: LinearMap, vectors: Matrix) -> float:
        return self._share(reader(vectors[self._test]))

    def _share(self, scores: NDArray[Any]) -> float:
        held = self._held[self._test]
        terms = np.array(self._terms, object)
        truth = [list(terms[row]) for row in held]
        return count_leaked(truth, ranked(scores, self._terms, held.sum(axis=1).tolist())).rate


def _facts(record: Record) -> list[str]:
    wanted = [record.text[a:b].lower() for a, b, label in record.spans if label == "city"]
    return [*wanted, record.disease.lower()] if record.disease else wanted


def _often(found: list[list[str]]) -> tuple[str, ...]:
    counts = Counter(term for row in found for term in set(row))
    return tuple(sorted(term for term, count in counts.items() if count >= _LEAST_TEXTS))


def _nearest(query: Matrix, rows: Matrix) -> list[tuple[int, float]]:
    cosine = (unit_rows(query) @ unit_rows(rows).T)[0]
    best = np.argsort(-cosine)[:NEIGHBOURS]
    return [(int(row), round(float(cosine[row]), 3)) for row in best]


def _found(searches: Matrix, rows: Matrix) -> float:
    """Share of searches whose own record is among the first ten."""
    cosine = unit_rows(searches) @ unit_rows(rows).T
    own = cosine[np.arange(len(searches)), np.arange(len(searches))][:, None]
    return float(((cosine > own).sum(axis=1) < 10).mean())
