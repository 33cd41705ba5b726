"""Puts defences to the audit's own tests, on one scene and one encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.attacks.alignment import Alignment
from sfumato.attacks.classifier import TokenClassifier
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import BASELINES, Defence, Sample
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Identity
from sfumato.metrics import Leakage, Utility, classify, compare_means, measure_leakage
from sfumato.metrics.leakage import Hits, count_leaked
from sfumato.protector import NEUTRAL_COPIES, Protector
from sfumato.trials.control import works
from sfumato.trials.questions.averaging import averaging_row
from sfumato.trials.questions.informed import informed_row
from sfumato.trials.questions.linkage import linkage_row
from sfumato.trials.reading import Calibration, attack, calibrate, leakage, named, tokens
from sfumato.trials.rows import AttackRow, LeftOut
from sfumato.trials.split import Split, gather
from sfumato.trials.suite import SUITES, Suite
from sfumato.trials.target import DefenceTarget
from sfumato.trials.utility import Neighbours, ScoredPairs, Searches, SearchQuality, SimilarityQuality
from sfumato.types import Vectors
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder
from sfumato_research.studies.scenes import Scene


def sizes(setting: Setting) -> Suite:
    """The audit's full suite with what two cores can do in minutes."""
    full = replace(
        SUITES["full"], rows=2500, pool=4000, seeds=2, epochs=25, copies=4, informed=100, candidates=50
    )
    quick = replace(full, rows=400, pool=700, seeds=1, draws=1, epochs=10, copies=1, informed=10)
    small = replace(quick, candidates=20, linked=60, averaged=4, written=20, searches=200)
    return small if setting.quick else full


class Classes:
    """How well a classifier trained on releases tells the classes of other releases."""

    def __init__(self, material: Split, labels: Sequence[str]) -> None:
        self.labels = np.array([labels[row] for row in material.source])
        self.even = np.arange(len(self.labels)) % 2 == 0
        self.clean = self._right(material.clean)

    def _right(self, vectors: np.ndarray) -> np.ndarray:
        learn_from, tested = vectors[self.even], vectors[~self.even]
        return classify(learn_from, self.labels[self.even], tested, self.labels[~self.even], c=10.0).correct

    def measure(self, target: DefenceTarget) -> Utility:
        """Train and test on one release."""
        return compare_means("classes", self.clean, self._right(target.documents()))


@dataclass(slots=True, eq=False)
class Bench:
    """One scene, embedded and cut, with the main attack calibrated on it."""

    scene: Scene
    setting: Setting
    suite: Suite
    embedder: RememberingEmbedder
    material: Split
    scale: Calibration
    measures: dict[str, Neighbours | SearchQuality | SimilarityQuality | Classes]
    targets: dict[str, DefenceTarget] = field(default_factory=dict)
    blind: set[str] = field(default_factory=set)
    """Attacks that do not read clean vectors either, so that what they read of others says nothing."""

    @classmethod
    def of(cls, scene: Scene, setting: Setting, model: str) -> Bench:
        """Embed the scene's texts and run the token attack on clean ones and on ones without the concept."""
        suite = sizes(setting)
        once = RememberingEmbedder(encoder(setting, model))
        needed = () if setting.quick else scene.needed
        searches, pairs = _gold(scene, suite, setting)
        wanted = {row for found in searches.relevant for row in found} if searches else set()
        material = gather(
            scene.texts, scene.concept, suite, spans=None, embedder=once, clean=None,
            needed={*needed, *wanted}, seed=setting.seed,
        )  # fmt: skip
        setting.on_step(f"{scene.name}: control and floor")
        scale = calibrate(tokens(suite, material), material, suite.seeds, query=True, seed=setting.seed)
        measures: dict[str, Neighbours | SearchQuality | SimilarityQuality | Classes] = {}
        if pairs is not None:
            measures["STS"] = SimilarityQuality(material, pairs, suite.searches * 2, setting.seed)
        if searches is not None:
            measures["search"] = SearchQuality(material, searches, suite.searches, setting.seed)
        if scene.labels is not None:
            measures["classes"] = Classes(material, scene.labels)
        if pairs is None:
            measures["neighbours"] = Neighbours(material, suite.searches, setting.seed)
        return cls(scene, setting, suite, once, material, scale, measures)

    @property
    def own(self) -> list[int]:
        """Rows of the pool that are not attacked: what a defence may be learned from."""
        attacked = set(self.material.attacked.tolist())
        return [row for row in range(len(self.material.texts)) if row not in attacked]

    def protectors(self) -> list[Defence]:
        """The default protector, and its two halves by themselves."""
        texts = [self.material.texts[row] for row in self.own]
        settings = LearnSettings(source="public", limit=2000, seed=self.setting.seed)
        both = learn(texts, self.material.concept, embedder=self.embedder, settings=settings)
        neutral = Protector(
            Identity(), embedder=self.embedder, concepts=(self.material.concept,), neutral=NEUTRAL_COPIES
        )
        light = learn(
            texts, self.material.concept, embedder=self.embedder, settings=replace(settings, neutral=0)
        )
        return [
            Defence.from_protector(both, name="protector", setting="default"),
            Defence.from_protector(light, name="protector", setting="ellipsoid alone"),
            Defence.from_protector(neutral, name="protector", setting="neutral texts alone"),
        ]

    def baselines(self, names: Sequence[str]) -> list[Defence]:
        """Every setting of some baselines, learned from rows that are not attacked."""
        own = self.own
        sample = Sample(
            [self.material.texts[row] for row in own],
            self.material.clean[own],
            self.material.concept,
            self.embedder,
            None,
            self.setting.seed,
        )
        made: list[Defence] = []
        for name in names:
            if BASELINES.installed(name):
                self.setting.on_step(f"{self.scene.name}: {name}")
                made += BASELINES.get(name)().fit(sample)
        return made

    def target(self, defence: Defence) -> DefenceTarget:
        """What the attacks are run on, made once for each defence."""
        if defence.label not in self.targets:
            self.targets[defence.label] = DefenceTarget(
                defence, self.material, draws=self.suite.draws, seed=self.setting.seed
            )
        return self.targets[defence.label]

    def leaks(self, defence: Defence) -> Leakage:
        """What the token attack reads, trained on releases."""
        self.setting.on_step(f"{self.scene.name}: {defence.label}")
        query = defence.rewrite is None and defence.key is None
        ours = defence.name == "protector"
        runs = self.suite.seeds if ours else 1
        found = attack(
            self.scale.method, self.material, self.target(defence), runs, query=query,
            seed=self.setting.seed,
        )  # fmt: skip
        return leakage(self.scale, found, self.material)

    def keeps(self, defence: Defence) -> dict[str, Utility]:
        """What is left of each measure of use."""
        target = self.target(defence)
        return {name: measure.measure(target) for name, measure in self.measures.items()}

    def informed(self, defence: Defence) -> AttackRow | None:
        """The attacker who knows everything but the term; None where he cannot be asked."""
        try:
            return informed_row(
                self.material, self.target(defence), self.suite, counts=False, seed=self.setting.seed
            )
        except LeftOut:
            return None

    def written(self, name: str, defence: Defence) -> Leakage:
        """What an attack that writes texts reads of the concept."""
        self.setting.on_step(f"{self.scene.name}: {name} on {defence.label}")
        material = self.material.sampled(self.suite.written, self.setting.seed)
        instrument = named(name, material)
        seed = self.setting.seed
        scale = calibrate(instrument, material, 1, query=True, seed=seed)
        found = attack(instrument, material, self.target(defence), 1, query=True, seed=seed)
        self._check(name, scale.control, scale.floor, material)
        return leakage(scale, found, material)

    def _check(self, name: str, control: Sequence[Hits], floor: Sequence[Hits], material: Split) -> None:
        """The audit's own rule for an attack that works."""
        if not works(control, floor, material.prior(), material.resampling()):
            self.blind.add(name)

    def averaged(self, defence: Defence) -> AttackRow:
        """The token attack on means of many releases."""
        return averaging_row(
            self.material, self.target(defence), self.scale, self.suite.averaged, seed=self.setting.seed
        )

    def linked(self, defence: Defence) -> AttackRow:
        """Which of the known texts a release is of."""
        return linkage_row(self.material, self.target(defence), self.suite, seed=self.setting.seed)

    def aligned(self, defence: Defence, leaked: int) -> Leakage:
        """An attacker with an encoder of his own and some leaked releases, who queries nothing."""
        self.setting.on_step(f"{self.scene.name}: alignment on {defence.label}")
        material, seed = self.material, self.setting.seed
        texts = [material.texts[row] for row in material.learned]
        theirs = encoder(self.setting, "wordllama" if self.embedder.name != "wordllama" else "minilm")
        reader = TokenClassifier(
            vocabulary=material.vocabulary, epochs=self.suite.epochs, control=False, seed=seed
        )

        def hits(known: Vectors, attacked: Vectors) -> Hits:
            attack = Alignment(encoder=theirs, reader=reader, corpus=texts, pairs=leaked, seed=seed)
            return count_leaked(material.truth, attack.fit(texts, known).recover(attacked).rows)

        release = self.target(defence).documents()
        assert material.removed is not None
        name = f"alignment, {leaked} leaked"
        control = hits(material.clean[material.learned], material.clean[material.attacked])
        floor = hits(material.removed[material.learn], material.removed[material.test])
        self._check(name, [control], [floor], material)
        return measure_leakage(
            control=control,
            floor=floor,
            released=hits(release[material.learned], release[material.attacked]),
            prior=material.prior(),
            attack=name,
            how=material.resampling(),
        )


def _gold(scene: Scene, suite: Suite, setting: Setting) -> tuple[Searches | None, ScoredPairs | None]:
    """The scene's searches and pairs, no more of either than the suite takes."""
    searches = pairs = None
    if scene.found is not None:
        texts, relevant = scene.found
        searches = Searches(texts[: suite.searches], relevant[: suite.searches])
    if scene.pairs is not None:
        first, second, scores = scene.pairs
        most = setting.pick(len(scores), 600)
        pairs = ScoredPairs(first[:most], second[:most], scores[:most])
    return searches, pairs
