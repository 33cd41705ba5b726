"""One rig for every study of concept protection: prepare once, then measure any defence the same way.

    rig = Rig(texts, concept, encoder(setting), effort(setting), gold=pairs, seed=setting.seed)
    rig.control, rig.floor, rig.prior          # leakages that every other one stands beside
    found = rig.measure(Defence(name="laplace", mechanism=Laplace.from_noise_ratio(1.4, dim=rig.dim)))
    found.leakage.released, found.confidence.value, found.utility.kept

`Rig` draws texts with the concept and others, cuts those with it in two (near-duplicates on one side), and
embeds them with and without the concept. `rig.sample` holds only texts that are not attacked: learn masks,
protectors and baselines from it. `measure` trains the attacker on fresh releases of his own texts, lets him
read releases of the attacked ones (several seeds and draws are pooled), and measures utility by the gold
standard the rig was given, else by clean neighbours. Intervals draw whole groups of near-duplicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.concepts.concept import Concept
from sfumato.embedders.base import Embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence, Sample
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Laplace
from sfumato.mechanisms.base import one_blas_thread
from sfumato.metrics import Hits, Leakage, count_confidence, count_leaked, measure_leakage
from sfumato.metrics.intervals import ratio_interval
from sfumato.metrics.leakage import pool
from sfumato.preparing import RowSpans
from sfumato.protector import Protector
from sfumato.trials.split import Split, gather
from sfumato.trials.target import DefenceTarget
from sfumato.trials.utility import ScoredPairs, Searches, chosen_searches, utility_measures
from sfumato.types import Rows, Vectors
from sfumato_research.studies.base import Cell
from sfumato_research.studies.measured import Effort, Measured, effort
from sfumato_research.studies.readers import Attacker, Read, tokens

__all__ = ["Effort", "Gold", "Measured", "Rig", "effort"]

Gold = ScoredPairs | Searches


@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
    """What an attacker reads from clean vectors and from texts without the concept."""

    control: list[Hits]
    floor: list[Hits]
    sure: list[Hits]


class Rig:
    """Texts, a concept and an encoder, ready for any defence and any attacker.

    Args:
        texts: the texts; different ones.
        concept: what is protected and attacked.
        embedder: the encoder; every text is embedded once.
        effort: sizes.
        gold: pairs with scores or searches with answers, for utility; rows of searches count in `texts`.
        spans: labelled spans of each text, for concepts defined by a label.
        seed: of the sample, the cut, the attackers and the noise.
    """

    def __init__(
        self,
        texts: Sequence[str],
        concept: Concept,
        embedder: Embedder,
        effort: Effort,
        *,
        gold: Gold | None = None,
        spans: RowSpans | None = None,
        seed: int = 0,
    ) -> None:
        self.effort, self.seed, self.suite = effort, seed, effort.suite()
        self.embedder = RememberingEmbedder(embedder)
        self.material: Split = gather(
            texts,
            concept,
            self.suite,
            spans=spans,
            embedder=self.embedder,
            clean=None,
            needed=_needed(gold, effort.gold, seed),
            seed=seed,
        )
        self.dim = self.material.clean.shape[1]
        kinds = {"pairs": gold} if isinstance(gold, ScoredPairs) else {"searches": gold}
        # None of a kind stands for clean neighbours.
        known: dict[str, Any] = {kind: value for kind, value in kinds.items() if value is not None}
        self.yardstick = utility_measures(self.material, **known, most=effort.gold, seed=seed)[0]
        self._scales: dict[str, _Scale] = {}

    @cached_property
    def sample(self) -> Sample:
        """Texts that are not attacked, to learn defences from."""
        attacked = set(self.material.attacked.tolist())
        own = [row for row in range(len(self.material.texts)) if row not in attacked]
        spans = self.material.spans
        return Sample(
            [self.material.texts[row] for row in own],
            self.material.clean[own],
            self.material.concept,
            self.embedder,
            None if spans is None else [spans[row] for row in own],
            self.seed,
        )

    @cached_property
    def attacker(self) -> Attacker:
        """The default attacker: the token classifier, the best of a network, a linear one and both."""
        return tokens(self.material, epochs=self.effort.epochs, copies=self.effort.copies)

    @property
    def control(self) -> float:
        """Leakage of clean vectors under the default attacker."""
        return pool(self._scale(self.attacker).control).rate

    @property
    def floor(self) -> float:
        """Leakage where the concept was removed from the text."""
        return pool(self._scale(self.attacker).floor).rate

    @property
    def prior(self) -> float:
        """Leakage of the best constant guess."""
        return self.material.prior().rate

    def protector(self, **changed: Any) -> Protector:
        """Ours: the protector that `learn` makes of the sample by default, or with other settings."""
        settings = LearnSettings(source="public", seed=self.seed, **changed)
        return learn(
            self.sample.texts,
            self.material.concept,
            embedder=self.embedder,
            spans=self.sample.spans,
            settings=settings,
        )

    def ours(self, **changed: Any) -> Defence:
        """The same protector as a defence."""
        return Defence.from_protector(self.protector(**changed), name="ours")

    def measure(self, defence: Defence, attacker: Attacker | None = None) -> Measured:
        """Attack a defence and use it."""
        chosen = attacker or self.attacker
        target = DefenceTarget(defence, self.material, draws=self.effort.draws, seed=self.seed)
        scale = self._scale(chosen)
        with one_blas_thread():
            rows = self._own_rows(chosen)
            texts = [self.material.texts[row] for row in rows]
            vectors, victim = target.learning(rows)
            # Texts with another term put in do not go the way of rewritten texts, or of those under a key.
            encoder = self.embedder if defence.rewrite is None and defence.key is None else None
            hits: list[Hits] = []
            sure: list[Hits] = []
            for run in range(chosen.runs(self.effort.seeds)):
                read = chosen.fit(texts, vectors, victim, encoder, self.seed + run)
                for draw in range(chosen.runs(target.draws)):
                    self._count(read, target.documents(draw)[self.material.attacked], hits, sure)
            utility = self.yardstick.measure(target)
        return Measured(
            defence.label,
            self._leakage(scale, hits, chosen.name),
            self._sureness(sure),
            utility,
            defence.mechanism.noise_ratio(self.dim),
            defence.guarantee.epsilon,
        )

    def clean(self, attacker: Attacker | None = None) -> Measured:
        """The control as a row of its own: nothing is protected."""
        chosen = attacker or self.attacker
        scale = self._scale(chosen)
        target = DefenceTarget(Defence(name="unprotected"), self.material, seed=self.seed)
        leakage = self._leakage(scale, scale.control, chosen.name)
        utility = self.yardstick.measure(target)
        return Measured("unprotected", leakage, self._sureness(scale.sure), utility, 0.0, float("inf"))

    def kept_by_laplace(self, ratio: float, draws: int = 3) -> float:
        """Share of clean utility that Laplace noise of this ratio keeps, as a mean over draws."""
        defence = Defence(name="laplace", mechanism=Laplace.from_noise_ratio(ratio, dim=self.dim))
        targets = [DefenceTarget(defence, self.material, seed=self.seed + draw) for draw in range(draws)]
        return float(np.mean([self.yardstick.measure(target).kept or 0.0 for target in targets]))

    def ratio_that_keeps(self, kept: float, low: float = 0.02, high: float = 8.0, steps: int = 12) -> float:
        """The noise ratio at which Laplace noise keeps this share of clean utility, by bisection."""
        for _ in range(steps):
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if self.kept_by_laplace(middle) > kept else (low, middle)
        return float(np.sqrt(low * high))

    def narrowed(self, most: int) -> Rig:
        """The same with fewer attacked texts, for attacks that are slow."""
        other = copy(self)
        other.material = self.material.sampled(most, self.seed)
        other._scales = {}
        return other

    def _own_rows(self, attacker: Attacker) -> Rows:
        """Rows of the pool that an attacker learns from; what is not attacked now may be so elsewhere."""
        if not attacker.everything:
            return self.material.learned
        held = np.setdiff1d(self.material.rows, self.material.learned)
        return np.setdiff1d(np.arange(len(self.material.texts)), held)

    def _scale(self, attacker: Attacker) -> _Scale:
        if attacker.name not in self._scales:
            material, rows = self.material, self._own_rows(attacker)
            texts = [material.texts[row] for row in rows]
            control: list[Hits] = []
            floor: list[Hits] = []
            sure: list[Hits] = []
            assert material.removed is not None  # there is an embedder
            bare = material.clean.copy()
            bare[material.rows] = material.removed
            with one_blas_thread():
                for run in range(attacker.runs(self.effort.seeds)):
                    seed = self.seed + run
                    read = attacker.fit(texts, material.clean[rows], None, self.embedder, seed)
                    self._count(read, material.clean[material.attacked], control, sure)
                    read = attacker.fit(texts, bare[rows], None, None, seed)
                    self._count(read, bare[material.attacked], floor, [])
            self._scales[attacker.name] = _Scale(control, floor, sure)
        return self._scales[attacker.name]

    def _count(self, read: Read, vectors: Vectors, hits: list[Hits], sure: list[Hits]) -> None:
        truth = self.material.truth
        found = read(vectors)
        hits.append(count_leaked(truth, found.guesses))
        if found.probabilities is not None:
            sure.append(count_confidence(truth, found.probabilities, found.vocabulary))

    def _leakage(self, scale: _Scale, hits: list[Hits], name: str) -> Leakage:
        return measure_leakage(
            control=scale.control,
            floor=scale.floor,
            released=hits,
            prior=self.material.prior(),
            attack=name,
            how=self.material.resampling(),
        )

    def _sureness(self, sure: list[Hits]) -> Cell:
        if not sure:
            return Cell(None)
        hits = pool(sure)
        low, high = ratio_interval(hits.found, hits.total, self.material.resampling()) or (None, None)
        return Cell(hits.rate, low, high)


def _needed(gold: Gold | None, most: int, seed: int) -> set[int]:
    """Rows that searches look for."""
    if not isinstance(gold, Searches):
        return set()
    return {row for number in chosen_searches(gold, most, seed) for row in gold.relevant[number]}
