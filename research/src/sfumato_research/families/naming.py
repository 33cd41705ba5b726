"""The term attack and the question of presence, asked of all releases of a cut at once.

What is searched is what `sfumato.attacks.terms.classifier.best_of` searches: a linear classifier on both
scalings, a network on the better one, and their mean, chosen on held-back texts of that very release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.terms.classifier import LINEAR, SHAPES, TokenClassifier
from sfumato.attacks.terms.perceptron import Inputs, Perceptron
from sfumato.attacks.terms.reader import TokenReader
from sfumato.attacks.terms.training_set import TrainingSet
from sfumato.concepts import Concept
from sfumato.concepts.base import Detector, Span
from sfumato.concepts.texts.duplicates import near_duplicates, split
from sfumato.metrics.leakage import count_leaked
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.trials.reading import TermReader
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import DefenceTarget
from sfumato.types import Floats, Vectors
from sfumato_research.families.stacked import Job, SharedDraws, jobs_of, train_jobs
from sfumato_research.frontier import telling

SCALINGS: tuple[Inputs, ...] = ("scaled", "white")
Cell = tuple[str, int]
"""What is attacked, and the number of the run."""


@dataclass(frozen=True, slots=True, eq=False)
class LearnedFrom:
    """What an attacker learns a release from, and what he then reads, one table a draw."""

    learned: Vectors
    victim: Releasing | None
    asks: bool
    """Whether texts of his own, with other terms put in, can be embedded as they are."""
    attacked: list[Vectors]


def of_target(target: DefenceTarget, pool: Split) -> LearnedFrom:
    """The same of a defence."""
    learned, victim = target.learning(pool.learned)
    asks = target.defence.rewrite is None and target.defence.key is None
    attacked = [target.documents(draw)[pool.attacked] for draw in range(target.draws)]
    return LearnedFrom(learned, victim, asks, attacked)


def terms_named(
    pool: Split, suite: Suite, known: Mapping[str, LearnedFrom], device: str, seed: int
) -> dict[str, NDArray[np.float32]]:
    """`[runs, n]` by release: how many of each attacked text's terms are named, a run a seed and draw."""
    terms = looked_up(pool.vocabulary)
    attacks = [_attack(terms, suite, device, seed + run) for run in range(suite.seeds)]
    texts = [pool.texts[row] for row in pool.learned]
    sets: dict[Cell, tuple[TokenClassifier, TrainingSet]] = {}
    for label, each in known.items():
        for run, attack in enumerate(attacks):
            own = replace(attack, embedder=pool.embedder if each.asks else None)
            sets[label, run] = own, own.training_set(texts, each.learned, each.victim)
    readers = _best(sets)
    most = max(3, max(len(terms) for terms in pool.truth))
    found: dict[str, list[Floats]] = {}
    for (label, _), reader in readers.items():
        read = TermReader(reader, most)
        for attacked in known[label].attacked:
            found.setdefault(label, []).append(count_leaked(pool.truth, read(attacked)).found)
    return {label: np.stack(runs).astype(np.float32) for label, runs in found.items()}


def presence(
    pool: Split, releases: Mapping[str, Vectors], device: str, seed: int
) -> dict[str, dict[str, NDArray[np.generic]]]:
    """By release: which rows were tested, whether each holds a term, and how sure a small network is."""
    import torch

    rows, holds = telling.presence_rows(pool)
    groups = near_duplicates([pool.texts[row] for row in rows])
    learn, test = split(groups, 0.5, generator(seed))
    labels = holds[learn][:, None]
    jobs = [
        Job(_fixed(torch.from_numpy(vectors[rows][learn]).to(device)), labels, telling.NETWORK, seed)
        for vectors in releases.values()
    ]
    trained = train_jobs(jobs)
    return {
        label: {
            "presence.holds": holds[test],
            "presence.network": network.logits(vectors[rows][test])[:, 0],
            "presence.groups": groups[test],
        }
        for (label, vectors), network in zip(releases.items(), trained, strict=True)
    }


def _fixed(vectors: object) -> SharedDraws:
    """Vectors that are learned from as they are."""
    return SharedDraws(vectors, lambda rows: rows, False)


class LookedUp:
    """A detector that is asked about many texts again and again, and looks at each once."""

    def __init__(self, detector: Detector) -> None:
        self.detector, self.name, self.blind_to = detector, detector.name, detector.blind_to
        self._known: dict[str, list[Span]] = {}

    def find(self, text: str) -> list[Span]:
        """Where it stands in a text."""
        if text not in self._known:
            self._known[text] = self.detector.find(text)
        return list(self._known[text])


def looked_up(terms: Concept) -> Concept:
    """The same terms, found in a text once for all training sets."""
    return terms if terms.detector is None else replace(terms, detector=LookedUp(terms.detector))


def _attack(terms: Concept, suite: Suite, device: str, seed: int) -> TokenClassifier:
    return TokenClassifier(
        vocabulary=terms,
        copies=suite.copies,
        epochs=suite.epochs,
        control=False,
        seed=seed,
        device=device,
    )


def _best(sets: Mapping[Cell, tuple[TokenClassifier, TrainingSet]]) -> dict[Cell, TokenReader]:
    """The reader of each that foretells its held-back rows best."""
    straight = _trained(
        {
            (cell, inputs): (replace(attack, **LINEAR, inputs=inputs), training)
            for cell, (attack, training) in sets.items()
            for inputs in SCALINGS
        }
    )
    scaling: dict[Cell, Inputs] = {}
    for cell, (_, training) in sets.items():
        losses = {inputs: training.reader([straight[cell, inputs]]).loss for inputs in SCALINGS}
        scaling[cell] = min(SCALINGS, key=losses.__getitem__)
    networks = _trained(
        {cell: (replace(attack, inputs=scaling[cell]), training) for cell, (attack, training) in sets.items()}
    )
    found = {}
    for cell, (_, training) in sets.items():
        line, network = straight[cell, scaling[cell]], networks[cell]
        members = {"both": [network, line], "network": [network], "linear": [line]}
        tried = [training.reader(members[shape]) for shape in SHAPES]
        found[cell] = min(tried, key=lambda reader: reader.loss)
    return found


def _trained(wanted: Mapping[object, tuple[TokenClassifier, TrainingSet]]) -> dict[object, Perceptron]:
    runs = [run for attack, training in wanted.values() for run in attack.runs(training)]
    return dict(zip(wanted, train_jobs(jobs_of(runs)), strict=True))
