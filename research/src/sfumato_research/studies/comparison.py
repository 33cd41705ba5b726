"""One experiment for every study of concept protection: prepare once, then measure any defence the same way.

    on = Comparison(corpus, encoder(setting), sizes(setting), seed=setting.seed)
    found = on.measure(Defence(name="laplace", mechanism=Laplace.from_noise_ratio(1.4, dim=on.dim)))
    found.leakage.released, found.leakage.control, found.confidence.value, found.utility.kept

The split, the attacks with their control, floor and prior, and the measures of utility are those of an audit
(`sfumato.trials`): seeds and draws are pooled, and intervals draw whole groups of near-duplicates. A sample
holds only texts that are not attacked: learn masks, protectors and baselines from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence, Sample
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Laplace
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics import Leakage, Utility, count_confidence
from sfumato.metrics.intervals import ratio_interval
from sfumato.metrics.leakage import Hits, pool
from sfumato.protector import Protector
from sfumato.trials import reading, utility
from sfumato.trials.questions.informed import informed_row
from sfumato.trials.rivals import sample_of
from sfumato.trials.rows import LeftOut
from sfumato.trials.split import Split, gather
from sfumato.trials.suite import Suite
from sfumato.trials.target import DefenceTarget, FixedTarget, Target
from sfumato.types import Vectors
from sfumato_research.studies.base import Cell
from sfumato_research.studies.corpora import ClassAccuracy, Corpus
from sfumato_research.studies.kept import KeptCells
from sfumato_research.studies.measured import Measured


class Comparison:
    """Texts, a concept and an encoder, ready for any defence and any attack.

    Args:
        corpus: texts, what is protected and attacked in them, and what they are for.
        embedder: the encoder; every text is embedded once.
        suite: sizes.
        most_pairs: scored pairs that utility is measured on; else as many as searches.
        kept: where measured cells are written, to be found again.
        seed: of the sample, the cut, the attackers and the noise.
    """

    def __init__(
        self,
        corpus: Corpus,
        embedder: Embedder,
        suite: Suite,
        *,
        most_pairs: int | None = None,
        kept: Path | None = None,
        seed: int = 0,
    ) -> None:
        self.corpus, self.suite, self.seed = corpus, suite, seed
        self.cells = KeptCells(kept)
        self.most_pairs = most_pairs or suite.searches
        self.embedder = RememberingEmbedder(embedder)
        needed = {*corpus.needed, *corpus.answers(suite.searches, seed)}
        self.split: Split = gather(
            corpus.texts, corpus.concept, suite, spans=None, embedder=self.embedder, clean=None,
            needed=needed, seed=seed, groups=None if corpus.groups is None else np.asarray(corpus.groups),
        )  # fmt: skip
        self.dim = self.split.clean.shape[1]
        self._calibrations: dict[str, reading.Calibration] = {}
        self._target: DefenceTarget | None = None

    @cached_property
    def measures(self) -> dict[str, utility.UtilityMeasure]:
        """What there is a gold standard for, the main one first; without pairs and searches, neighbours."""
        corpus, split, most, seed = self.corpus, self.split, self.suite.searches, self.seed
        made: dict[str, utility.UtilityMeasure] = {}
        if corpus.pairs is not None:
            made["STS"] = utility.SimilarityQuality(split, corpus.pairs, self.most_pairs, seed)
        if corpus.searches is not None:
            made["search"] = utility.SearchQuality(split, corpus.searches, most, seed)
        if corpus.labels is not None:
            made["classes"] = ClassAccuracy(split, corpus.labels)
        if corpus.pairs is None and corpus.searches is None:
            made["neighbours"] = utility.Neighbours(split, most, seed)
        return made

    @cached_property
    def sample(self) -> Sample:
        """Texts that are not attacked, to learn defences from."""
        return sample_of(self.split, self.seed)

    @cached_property
    def tokens(self) -> reading.AttackMethod:
        """The default attack: the token classifier, the best of a network, a linear one and both."""
        return reading.tokens(self.suite, self.split)

    @property
    def control(self) -> float:
        """Leakage of clean vectors under the default attack."""
        return pool(self.calibration().control).rate

    @property
    def floor(self) -> float:
        """Leakage where the concept was removed from the text."""
        return pool(self.calibration().floor).rate

    def protector(self, **changed: Any) -> Protector:
        """Ours: the protector that `learn` makes of the sample by default, or with other settings."""
        settings = LearnSettings(source="public", seed=self.seed, **changed)
        return learn(self.sample.texts, self.split.concept, embedder=self.embedder, settings=settings)

    def ours(self) -> Defence:
        """The default protector as a defence."""
        return Defence.from_protector(self.protector(), name="ours")

    def target(self, defence: Defence) -> DefenceTarget:
        """What the attacks are run on; that of the last defence is kept."""
        if self._target is None or self._target.defence is not defence:
            self._target = DefenceTarget(defence, self.split, draws=self.suite.draws, seed=self.seed)
        return self._target

    def leaked(self, defence: Defence) -> FixedTarget:
        """One release of the pool that leaked beside its texts, for an attacker who can make none himself."""
        return FixedTarget(self.target(defence).documents(), self.split.texts)

    def calibration(self, method: reading.AttackMethod | None = None) -> reading.Calibration:
        """What an attack reads from clean vectors and from texts without the concept."""
        chosen = method or self.tokens
        if chosen.name not in self._calibrations:
            runs = self._runs(chosen)
            with one_blas_thread():
                found = reading.calibrate(chosen, self.split, runs, query=True, seed=self.seed)
            self._calibrations[chosen.name] = found
        return self._calibrations[chosen.name]

    def measure(self, defence: Defence, method: reading.AttackMethod | None = None) -> Measured:
        """Attack a defence and use it."""
        chosen, target = method or self.tokens, self.target(defence)
        with one_blas_thread():
            found = self._read(defence, chosen, target)
            seen = [target.documents(draw)[self.split.attacked] for draw in range(target.draws)]
            main = next(iter(self.measures.values())).measure(target)
        return Measured(
            defence.label,
            reading.leakage(self.calibration(chosen), found, self.split),
            self._confidence(found.readers, seen),
            main,
            defence.mechanism.noise_ratio(self.dim),
            defence.guarantee.epsilon,
            _runs(found.hits, self._runs(chosen)),
        )

    def clean(self, method: reading.AttackMethod | None = None) -> Measured:
        """The control as a row of its own: nothing is protected."""
        known, attacked = self.calibration(method), self.split.attacked
        found = reading.Reading(known.control, known.clean, attacked, known.readers)
        leaks = reading.leakage(known, found, self.split)
        sure = self._confidence(known.readers, [self.split.clean[attacked]])
        main = next(iter(self.measures.values())).measure(self.target(Defence(name="unprotected")))
        runs = _runs(known.control, len(known.control))
        return Measured("unprotected", leaks, sure, main, 0.0, float("inf"), runs)

    def leakage(
        self,
        defence: Defence,
        method: reading.AttackMethod | None = None,
        *,
        target: Target | None = None,
        runs: int | None = None,
    ) -> Leakage:
        """What an attack reads of a defence or a target of it, trained as the suite says or `runs` times."""
        chosen = method or self.tokens
        found = self._read(defence, chosen, target or self.target(defence), runs)
        return reading.leakage(self.calibration(chosen), found, self.split)

    def utility(self, defence: Defence) -> dict[str, Utility]:
        """What is left of each measure of use."""
        target = self.target(defence)
        return {name: measure.measure(target) for name, measure in self.measures.items()}

    def informed(self, defence: Defence) -> float | None:
        """How often one who knows the text but for its term names it; None where he cannot be asked."""
        target = self.target(defence)
        try:
            with one_blas_thread():
                return informed_row(self.split, target, self.suite, counts=False, seed=self.seed).released
        except LeftOut:
            return None

    def kept_by_laplace(self, ratio: float, draws: int = 3) -> float:
        """Share of clean utility that Laplace noise of this ratio keeps, as a mean over draws."""
        defence = Defence(name="laplace", mechanism=Laplace.from_noise_ratio(ratio, dim=self.dim))
        targets = [DefenceTarget(defence, self.split, seed=self.seed + draw) for draw in range(draws)]
        main = next(iter(self.measures.values()))
        return float(np.mean([main.measure(target).kept or 0.0 for target in targets]))

    def ratio_that_keeps(self, kept: float, low: float = 0.02, high: float = 8.0, steps: int = 12) -> float:
        """The noise ratio at which Laplace noise keeps this share of clean utility, by bisection."""
        for _ in range(steps):
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if self.kept_by_laplace(middle) > kept else (low, middle)
        return float(np.sqrt(low * high))

    def narrowed(self, most: int) -> Comparison:
        """The same with fewer attacked texts, for attacks that are slow."""
        return self._with(self.split.sampled(most, self.seed))

    def widened(self) -> Comparison:
        """The same for an attacker who learns from all texts that are not attacked."""
        split = self.split
        assert split.removed is not None  # there is an embedder
        rows = np.arange(len(split.texts))
        terms: list[tuple[str, ...]] = [()] * len(rows)
        for row, found in zip(split.rows, split.terms, strict=True):
            terms[row] = found
        removed, groups = split.clean.copy(), rows + split.groups.max() + 1
        removed[split.rows], groups[split.rows] = split.removed, split.groups
        learn = np.setdiff1d(rows, np.setdiff1d(split.rows, split.learned))
        return self._with(
            replace(
                split,
                rows=rows,
                terms=terms,
                learn=learn,
                test=split.attacked,
                groups=groups,
                removed=removed,
            )
        )

    def _with(self, split: Split) -> Comparison:
        other = copy(self)
        other.sample = self.sample  # what is not attacked now may be so elsewhere
        other.split, other._calibrations, other._target = split, {}, None
        return other

    def _runs(self, method: reading.AttackMethod) -> int:
        """How often an attack is trained: one that writes texts is slow."""
        return self.suite.seeds if method.reads == "terms" else 1

    def _read(
        self, defence: Defence, method: reading.AttackMethod, target: Target, runs: int | None = None
    ) -> reading.Reading:
        # Texts with another term put in do not go the way of rewritten texts, or of those under a key.
        query = defence.rewrite is None and defence.key is None
        trained = runs or self._runs(method)
        return reading.attack(method, self.split, target, trained, query=query, seed=self.seed)

    def _confidence(self, readers: list[reading.Read], seen: list[Vectors]) -> Cell:
        """Mean probability given to what is really there; empty where the attack gives none."""
        hits = [
            count_confidence(self.split.truth, read.inner.probabilities(vectors), read.inner.vocabulary)
            for read in readers
            if isinstance(read, reading.TermReader)
            for vectors in seen
        ]
        if not hits:
            return Cell(None)
        pooled = pool(hits)
        return Cell.between(pooled.rate, ratio_interval(pooled.found, pooled.total, self.split.resampling()))


def _runs(hits: Sequence[Hits], attackers: int) -> tuple[float, ...]:
    """Leakage of each attacker on one release, another one for each as far as there are others."""
    draws = len(hits) // attackers
    return tuple(hits[run * draws + run % draws].rate for run in range(attackers))
