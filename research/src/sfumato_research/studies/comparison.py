"""One experiment for every study of concept protection: prepare once, then measure any defence the same way.

    on = Comparison(corpus, encoder(setting), sizes(setting), seed=setting.seed)
    on.control, on.floor                       # leakages that every other one stands beside
    found = on.measure(Defence(name="laplace", mechanism=Laplace.from_noise_ratio(1.4, dim=on.dim)))
    found.leakage.released, found.confidence.value, found.utility.kept

A comparison draws texts with the concept and others, cuts those with it in two (near-duplicates on one side),
and embeds them with and without the concept. `on.sample` holds only texts that are not attacked: learn masks,
protectors and baselines from it. The attacks, their control, floor and prior, and the measures of utility are
those of an audit (`sfumato.trials`); several seeds and draws are pooled, and intervals draw whole groups of
near-duplicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.auditing.settings import Suite
from sfumato.embedders.base import Embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence, Sample
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Laplace
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics import Leakage, Utility, count_confidence
from sfumato.metrics.intervals import ratio_interval
from sfumato.metrics.leakage import pool
from sfumato.protector import Protector
from sfumato.trials.control import works
from sfumato.trials.questions.averaging import averaging_row
from sfumato.trials.questions.informed import informed_row
from sfumato.trials.reading import (
    Instrument,
    Read,
    Reading,
    Scale,
    TermReader,
    attack,
    calibrate,
    leakage,
    tokens,
)
from sfumato.trials.rows import AttackRow, LeftOut
from sfumato.trials.split import Split, gather
from sfumato.trials.target import DefenceTarget, FixedTarget, Target
from sfumato.trials.utility import (
    Neighbours,
    SearchQuality,
    SimilarityQuality,
    Yardstick,
    chosen_searches,
)
from sfumato.types import Vectors
from sfumato_research.studies.base import Cell
from sfumato_research.studies.corpora import ClassAccuracy, Corpus
from sfumato_research.studies.measured import Measured


class Comparison:
    """Texts, a concept and an encoder, ready for any defence and any attack.

    Args:
        corpus: texts, what is protected and attacked in them, and what they are for.
        embedder: the encoder; every text is embedded once.
        suite: sizes.
        most_pairs: scored pairs that utility is measured on; else as many as searches.
        seed: of the sample, the cut, the attackers and the noise.
    """

    def __init__(
        self,
        corpus: Corpus,
        embedder: Embedder,
        suite: Suite,
        *,
        most_pairs: int | None = None,
        seed: int = 0,
    ) -> None:
        self.corpus, self.suite, self.seed = corpus, suite, seed
        self.most_pairs = most_pairs or suite.searches
        self.embedder = RememberingEmbedder(embedder)
        self.split: Split = gather(
            corpus.texts,
            corpus.concept,
            suite,
            spans=None,
            embedder=self.embedder,
            clean=None,
            needed={*corpus.needed, *self._searched()},
            seed=seed,
        )
        self.dim = self.split.clean.shape[1]
        self._calibrations: dict[str, Scale] = {}
        self._target: DefenceTarget | None = None

    @cached_property
    def measures(self) -> dict[str, Yardstick]:
        """What there is a gold standard for, the main one first; without pairs and searches, neighbours."""
        corpus, split, most = self.corpus, self.split, self.suite.searches
        made: dict[str, Yardstick] = {}
        if corpus.pairs is not None:
            made["STS"] = SimilarityQuality(split, corpus.pairs, self.most_pairs, self.seed)
        if corpus.searches is not None:
            made["search"] = SearchQuality(split, corpus.searches, most, self.seed)
        if corpus.labels is not None:
            made["classes"] = ClassAccuracy(split, corpus.labels)
        if corpus.pairs is None and corpus.searches is None:
            made["neighbours"] = Neighbours(split, most, self.seed)
        return made

    @cached_property
    def sample(self) -> Sample:
        """Texts that are not attacked, to learn defences from."""
        split = self.split
        attacked = set(split.attacked.tolist())
        own = [row for row in range(len(split.texts)) if row not in attacked]
        texts = [split.texts[row] for row in own]
        return Sample(texts, split.clean[own], split.concept, self.embedder, None, self.seed)

    @cached_property
    def tokens(self) -> Instrument:
        """The default attack: the token classifier, the best of a network, a linear one and both."""
        return tokens(self.suite, self.split)

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

    def calibration(self, method: Instrument | None = None) -> Scale:
        """What an attack reads from clean vectors and from texts without the concept."""
        chosen = method or self.tokens
        if chosen.name not in self._calibrations:
            with one_blas_thread():
                runs = self._runs(chosen)
                self._calibrations[chosen.name] = calibrate(
                    chosen, self.split, runs, query=True, seed=self.seed
                )
        return self._calibrations[chosen.name]

    def works(self, method: Instrument) -> bool:
        """Whether an attack reads clean vectors, by an audit's own rule; if not, its figures say nothing."""
        scale = self.calibration(method)
        return works(scale.control, scale.floor, scale.prior, self.split.resampling())

    def measure(self, defence: Defence, method: Instrument | None = None) -> Measured:
        """Attack a defence and use it."""
        chosen, target = method or self.tokens, self.target(defence)
        with one_blas_thread():
            found = self._read(defence, chosen, target, self._runs(chosen))
            draws = range(target.draws if chosen.reads == "terms" else 0)
            seen = [target.documents(draw)[self.split.attacked] for draw in draws]
            utility = next(iter(self.measures.values())).measure(target)
        return Measured(
            defence.label,
            leakage(self.calibration(chosen), found, self.split),
            self._confidence(found.readers, seen),
            utility,
            defence.mechanism.noise_ratio(self.dim),
            defence.guarantee.epsilon,
        )

    def leakage(
        self,
        defence: Defence,
        method: Instrument | None = None,
        *,
        runs: int | None = None,
        leaked: bool = False,
    ) -> Leakage:
        """What an attack reads.

        Args:
            defence: what is attacked.
            method: the attack.
            runs: how often it is trained, if not as often as the suite says.
            leaked: whether the attacker learns from releases that leaked, not from his own.
        """
        chosen = method or self.tokens
        target = self._leaked(defence) if leaked else self.target(defence)
        found = self._read(defence, chosen, target, runs or self._runs(chosen))
        return leakage(self.calibration(chosen), found, self.split)

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

    def averaged(self, defence: Defence) -> AttackRow:
        """The default attack on means of many releases."""
        target, scale = self.target(defence), self.calibration()
        return averaging_row(self.split, target, scale, self.suite.averaged, seed=self.seed)

    def clean(self, method: Instrument | None = None) -> Measured:
        """The control as a row of its own: nothing is protected."""
        scale = self.calibration(method)
        nothing = Defence(name="unprotected")
        found = leakage(scale, Reading(scale.control, [], scale.readers), self.split)
        sure = self._confidence(scale.readers, [self.split.clean[self.split.attacked]])
        utility = next(iter(self.measures.values())).measure(self.target(nothing))
        return Measured("unprotected", found, sure, utility, 0.0, float("inf"))

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
        everything = len(split.texts)
        held = np.setdiff1d(split.rows, split.learned)
        assert split.removed is not None  # there is an embedder
        bare, groups = split.clean.copy(), np.arange(everything) + split.groups.max() + 1
        bare[split.rows], groups[split.rows] = split.removed, split.groups
        terms: list[tuple[str, ...]] = [()] * everything
        for row, found in zip(split.rows, split.terms, strict=True):
            terms[row] = found
        wide = replace(
            split,
            rows=np.arange(everything),
            terms=terms,
            learn=np.setdiff1d(np.arange(everything), held),
            test=split.attacked,
            groups=groups,
            removed=bare,
        )
        return self._with(wide)

    def _with(self, split: Split) -> Comparison:
        other = copy(self)
        other.sample = self.sample  # what is not attacked now may be so elsewhere
        other.split, other._calibrations, other._target = split, {}, None
        return other

    def _runs(self, method: Instrument) -> int:
        """How often an attack is trained: one that writes texts is slow."""
        return self.suite.seeds if method.reads == "terms" else 1

    def _read(self, defence: Defence, method: Instrument, target: Target, runs: int) -> Reading:
        # Texts with another term put in do not go the way of rewritten texts, or of those under a key.
        query = defence.rewrite is None and defence.key is None
        return attack(method, self.split, target, runs, query=query, seed=self.seed)

    def _leaked(self, defence: Defence) -> FixedTarget:
        """One release of the pool that leaked beside its texts."""
        released = self.target(defence).documents()
        by_source = np.zeros((int(self.split.source.max()) + 1, self.dim), released.dtype)
        by_source[self.split.source] = released
        return FixedTarget(by_source, self.split)

    def _confidence(self, readers: Sequence[Read], seen: Sequence[Vectors]) -> Cell:
        """Mean probability given to what is really there; empty where the attack gives none."""
        hits = [
            count_confidence(self.split.truth, read.inner.probabilities(vectors), read.inner.vocabulary)
            for read in readers
            if isinstance(read, TermReader)
            for vectors in seen
        ]
        if not hits:
            return Cell(None)
        all_runs = pool(hits)
        interval = ratio_interval(all_runs.found, all_runs.total, self.split.resampling())
        return Cell.between(all_runs.rate, interval)

    def _searched(self) -> set[int]:
        """Rows that searches look for."""
        searches = self.corpus.searches
        if searches is None:
            return set()
        chosen = chosen_searches(searches, self.suite.searches, self.seed)
        return {row for number in chosen for row in searches.relevant[number]}
