"""Our own study's comparison: its sizes, the defences beside each other, and an attack by alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.evaluation import BASELINES, Defence
from sfumato.mechanisms import Identity
from sfumato.protector import NEUTRAL_COPIES, Protector
from sfumato.trials.reading import AttackMethod, named
from sfumato.trials.suite import SUITES, Suite
from sfumato.trials.utility import ScoredPairs, Searches
from sfumato_research.studies.base import Setting
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import Corpus
from sfumato_research.studies.data import encoder

LIMIT = 2000
"""Texts that a protector is learned from."""


def suite(setting: Setting) -> Suite:
    """The audit's full suite with what two cores can do in minutes."""
    full = replace(
        SUITES["full"], rows=2500, pool=4000, seeds=2, epochs=25, copies=4, informed=100, candidates=50
    )
    quick = replace(full, rows=400, pool=700, seeds=1, draws=1, epochs=10, copies=1, informed=10)
    small = replace(quick, candidates=20, linked=60, averaged=4, written=20, searches=200)
    return small if setting.quick else full


def compare(corpus: Corpus, setting: Setting, model: str) -> Comparison:
    """Embed a corpus, and run the token attack on clean texts and on ones without the concept."""
    chosen = suite(setting)
    pairs, searches = corpus.pairs, corpus.searches
    if pairs is not None:
        most = setting.pick(len(pairs.scores), 600)
        pairs = ScoredPairs(pairs.first[:most], pairs.second[:most], pairs.scores[:most])
    if searches is not None:
        searches = Searches(searches.texts[: chosen.searches], searches.relevant[: chosen.searches])
    cut = replace(corpus, pairs=pairs, searches=searches, needed=setting.pick(corpus.needed, ()))
    most = 2 * chosen.searches
    on = Comparison(cut, encoder(setting, model), chosen, most_pairs=most, seed=setting.seed)
    setting.on_step(f"{corpus.name}: control and floor")
    on.calibration()
    return on


def protectors(on: Comparison) -> list[Defence]:
    """The default protector, and its two halves by themselves."""
    both, light = on.protector(limit=LIMIT), on.protector(limit=LIMIT, neutral=0)
    concepts = (on.split.concept,)
    neutral = Protector(Identity(), embedder=on.embedder, concepts=concepts, neutral=NEUTRAL_COPIES)
    return [
        Defence.from_protector(both, setting="default"),
        Defence.from_protector(light, setting="ellipsoid alone"),
        Defence.from_protector(neutral, setting="neutral texts alone"),
    ]


def baselines(on: Comparison, names: Sequence[str], setting: Setting) -> list[Defence]:
    """Every setting of some baselines, learned from rows that are not attacked."""
    made: list[Defence] = []
    for name in filter(BASELINES.installed, names):
        setting.on_step(f"{on.corpus.name}: {name}")
        made += BASELINES.get(name)().fit(on.sample)
    return made


def alignment(on: Comparison, setting: Setting, pairs: int) -> AttackMethod:
    """An attacker with an encoder of his own and some leaked releases, who queries nothing."""
    split = on.split
    theirs = encoder(setting, "wordllama" if on.embedder.name != "wordllama" else "minilm")
    reader = TokenClassifier(vocabulary=split.vocabulary, epochs=on.suite.epochs, control=False, seed=on.seed)
    own = [split.texts[row] for row in split.learned]
    method = named("alignment", split, encoder=theirs, reader=reader, corpus=own, pairs=pairs)
    return replace(method, name=f"alignment, {pairs} leaked")
