"""What the console shows: made-up records before and after the noise, and what a small attack still reads.

Nothing here is a release. Noise is an experiment's on the records and fresh on what a visitor types, both
apart from a tenant's sticky noise; no vector leaves, and the only text besides the made-up records is the
one that the visitor typed and so knows already.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Embeds
from sfumato.attacks.known_texts.leastsquares import LeaveOneOut, fit_ridge, moments
from sfumato.concepts.concept import Concept
from sfumato.concepts.texts.duplicates import split_texts
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.errors import SfumatoError
from sfumato.evaluation.defence import Defence
from sfumato.mechanisms import Identity
from sfumato.metrics.leakage import pool
from sfumato.metrics.ranking import ranked
from sfumato.metrics.retrieval import neighbours_kept
from sfumato.metrics.similarity import unit_rows
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.records import Record, make_records
from sfumato.release import Releasing, as_release
from sfumato.server.console.words import certificate
from sfumato.server.http.logs import tell
from sfumato.trials.reading import AttackMethod, Guesses, Read, Reading, attack, calibrate
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget
from sfumato.types import Vectors

LONGEST = 2000
"""Characters of a sentence that may be tried."""
RECORDS, SEARCHES, NEIGHBOURS, EXAMPLES = 360, 120, 5, 3
FACTORS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
"""How much of the protector's own noise the slider can add."""
_AT_ONCE = 24
_STEP_SHARE = 20
"""An amount of noise takes about as long as so many records do to embed."""
TOTAL = RECORDS + 2 * _STEP_SHARE * len(FACTORS)
_LEAST_TEXTS, _LEAST_TERMS, _GUESSES = 4, 4, 5
_TESTED = 1 / 3
"""About this share of the records is held back from the attack."""
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
    target: DefenceTarget
    released: Matrix
    read: Read


class Preview:
    """The made-up records of one protector, embedded once and released at several amounts of noise."""

    def __init__(self, protector: Protector) -> None:
        self._protector = protector
        self.steps: dict[float, _Step] = {}
        self.plain: dict[float, _Step] = {}
        """The same with texts embedded as they are; empty where the protector has no neutral texts."""
        self.done = 0
        """How many of `TOTAL` pieces of work."""
        self.records: list[Record] = []
        self.examples: list[str] = []
        self.looks_for = ""
        self.control = self.guess = 0.0
        self.clean_found = 0.0
        self.failed = False
        self.complete = False
        self._ridge: float | None = None
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

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What an attacker can do, worked out once."""
        return certificate(self._protector)

    @property
    def progress(self) -> float:
        """Which share of the work is done, so that a page can say so from its first second."""
        return 1.0 if self.complete else min(0.99, self.done / TOTAL)

    def look(self, text: str, factor: float, *, neutral: bool = True) -> dict[str, Any]:
        """Neighbours of a text and what the attack reads, before and after, with neutral texts or without."""
        step = self.steps[factor] if neutral else self.plain[factor]
        clean = self._protector.encoder.embed([text])
        entered = self._protector if neutral else replace(self._protector, neutral=0)
        prepared = entered.entrance().prepare([text])
        after = step.target.defence.noised(prepared.vectors, prepared.matched, None)
        before_rows, after_rows = _nearest(clean, self._split.clean), _nearest(after, step.released)
        kept = {row for row, _ in before_rows}
        said = text.lower()
        return {
            "matched": bool(prepared.matched[0]),
            "neutral": neutral and self._protector.embeds_neutral,
            "before": [{"text": self.records[row].text, "cosine": cosine} for row, cosine in before_rows],
            "after": [
                {"text": self.records[row].text, "cosine": cosine, "kept": row in kept}
                for row, cosine in after_rows
            ],
            "read_clean": _marked(self._read_clean(clean), said),
            "read_released": _marked(step.read(after), said),
        }

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
        encoder = RememberingEmbedder(self._protector.encoder)
        for start in range(0, len(texts), _AT_ONCE):  # a page that waits sees how far it is
            encoder.embed(texts[start : start + _AT_ONCE])
            self.done = min(start + _AT_ONCE, RECORDS)
        self._split = self._cut(texts, encoder)
        self._queries = [record.query for record in self.records[:SEARCHES]]
        self._method = AttackMethod("linear", "terms", self._fit)
        clean = calibrate(self._method, self._split, 1, query=False, seed=_SEED)
        self.control, self.guess = pool(clean.control).rate, clean.prior.rate
        rows = self._split.learned
        self._read_clean = self._fit([], self._split.clean[rows], None, None, _SEED)
        self.clean_found = _found(encoder.embed(self._queries), self._split.clean)
        inner = replace(self._protector.without_accounting(), embedder=encoder)
        self._measure(inner, self.steps)
        if self._protector.embeds_neutral:
            self._measure(replace(inner, neutral=0), self.plain)
        self.complete = True

    def _measure(self, inner: Protector, steps: dict[float, _Step]) -> None:
        """Release at every amount of noise, the protector's own first."""
        for factor in sorted(FACTORS, key=lambda each: abs(each - 1.0)):
            stronger = _scaled(inner, factor)
            if stronger is not None:
                steps[factor] = self._step(stronger, factor)
            self.done += _STEP_SHARE

    def _cut(self, texts: list[str], encoder: RememberingEmbedder) -> Split:
        """The records cut in two, with what the attack looks for.

        That is the protector's concepts where the records name them often enough.
        """
        concepts = self._protector.concepts
        found = [[term for concept in concepts for term in concept.terms_in(text)] for text in texts]
        self.looks_for = ", ".join(concept.name for concept in concepts)
        if len(_often(found)) < _LEAST_TERMS:
            found = [_facts(record) for record in self.records]
            self.looks_for = "diseases and cities"
        terms = _often(found)
        learn, test = split_texts(texts, _TESTED, generator(_SEED))
        looked_for = Concept.from_terms("records", terms)
        return Split(
            texts=texts,
            source=np.arange(len(texts)),
            spans=None,
            concept=looked_for,
            vocabulary=looked_for,
            rows=np.arange(len(texts)),
            terms=[tuple(term for term in dict.fromkeys(row) if term in terms) for row in found],
            learn=learn.astype(np.intp),
            test=test.astype(np.intp),
            groups=np.arange(len(texts)),
            clean=encoder.embed(texts),
            removed=None,
            embedder=encoder,
        )

    def _step(self, inner: Protector, factor: float) -> _Step:
        """What so much of the protector's own noise does."""
        target = DefenceTarget(Defence.from_protector(inner), self._split, seed=_SEED)
        released = target.documents()
        found: Reading = attack(self._method, self._split, target, 1, query=False, seed=_SEED)
        figures = Figures(
            factor,
            factor * self._protector.mechanism.noise_ratio(inner.encoder.dim),
            _found(target.others(self._queries), released),
            neighbours_kept(self._split.clean, released, 10),
            pool(found.hits).rate,
        )
        return _Step(figures, target, released, found.readers[0])

    def _fit(
        self,
        texts: Sequence[str],
        vectors: Vectors,
        victim: Releasing | None,
        embedder: Embeds | None,
        seed: int,
    ) -> Read:
        """A linear attack that knows mechanism, noise and filter, and was trained on what they do."""
        terms = list(self._split.vocabulary.terms)
        held = np.array([[term in row for term in terms] for row in self._split.known], bool)
        if self._ridge is None:
            self._ridge = LeaveOneOut(vectors, held).best()
        mean, noise = moments(as_release(victim), vectors, seed)
        reader = fit_ridge(mean, held.astype(np.float64), ridge=self._ridge, noise=noise)
        most = max(_GUESSES, max(len(row) for row in self._split.terms))
        return lambda rows: ranked(reader(rows), terms, [most] * len(rows))


def _scaled(inner: Protector, factor: float) -> Protector | None:
    """The protector with so much of its own noise; None where its mechanism does not reach that."""
    dim = inner.encoder.dim
    own = inner.mechanism.noise_ratio(dim)
    if factor == 0.0 or own == 0.0:
        return replace(inner, mechanism=Identity(), background=None, normalise=False)
    if factor == 1.0:
        return inner
    try:
        return replace(inner, mechanism=inner.mechanism.scaled(noise_ratio=factor * own, dim=dim))
    except SfumatoError:
        return None


def _facts(record: Record) -> list[str]:
    wanted = [record.text[span.start : span.end].lower() for span in record.spans if span.label == "city"]
    return [*wanted, record.disease.lower()] if record.disease else wanted


def _often(found: list[list[str]]) -> tuple[str, ...]:
    counts = Counter(term for row in found for term in set(row))
    return tuple(sorted(term for term, count in counts.items() if count >= _LEAST_TEXTS))


def _marked(guesses: Guesses, said: str) -> list[dict[str, Any]]:
    return [{"term": term, "hit": term in said} for term in guesses[0][:_GUESSES]]


def _nearest(query: Matrix, rows: Matrix) -> list[tuple[int, float]]:
    cosine = (unit_rows(query) @ unit_rows(rows).T)[0]
    best = np.argsort(-cosine)[:NEIGHBOURS]
    return [(int(row), round(float(cosine[row]), 3)) for row in best]


def _found(searches: Matrix, rows: Matrix) -> float:
    """Share of searches whose own record is among the first ten."""
    cosine = unit_rows(searches) @ unit_rows(rows).T
    own = cosine[np.arange(len(searches)), np.arange(len(searches))][:, None]
    return float(((cosine > own).sum(axis=1) < 10).mean())
