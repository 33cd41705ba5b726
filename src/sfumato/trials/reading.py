"""Attacks that read the concept: each beside its control, its floor and its prior, on the same texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Embeds, OnStep
from sfumato.metrics.excess import Leakage, measure_leakage
from sfumato.metrics.leakage import Hits, count_leaked
from sfumato.release import Releasing
from sfumato.trials.control import undefended
from sfumato.trials.making import make_attack, settings_of
from sfumato.trials.rows import LeftOut
from sfumato.trials.searched import Searched, searched_alike
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import Target
from sfumato.types import Rows, Vectors

if TYPE_CHECKING:
    from sfumato.attacks.terms.reader import TokenReader

Guesses = Sequence[str] | Sequence[Sequence[str]]
"""A text a row, or terms with the likeliest first."""
Read = Callable[[Vectors], Guesses]
Fit = Callable[[Sequence[str], Vectors, Releasing | None, "Embeds | None", int], Read]
"""Texts of the attacker's own, their vectors, the victim, its encoder if it may be queried, and a seed."""

READY_MADE = "minilm"
"""The attack, and the encoder it reads, that needs no training."""
_LISTED = 3
"""Terms a row names at least, to be shown where it may be shown."""


@dataclass(frozen=True, slots=True)
class AttackMethod:
    """One attack that names terms or writes texts."""

    name: str
    reads: Literal["terms", "text"]
    fit: Fit
    learns: bool = True
    """Whether it is trained; one that is not cannot adapt to a defence."""
    public: bool = False
    """Whether it learns from clean vectors of public texts, and has no pair."""
    together: bool = False
    """Whether it reads best with many rows at once."""
    most: int | None = None
    """Rows it reads at most, where it is slow."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """What an attack gets without any defence, and what it gets where there is nothing to find."""

    method: AttackMethod
    control: list[Hits]
    floor: list[Hits]
    """Empty where no encoder could embed texts without the concept: it was not measured."""
    prior: Hits
    clean: Guesses
    """What it read from clean vectors, in its first run."""
    bare: Guesses | None
    """What it read where the concept had been removed."""
    readers: list[Read]
    """The attack fitted to clean vectors, once for each run."""
    bare_readers: list[Read]
    """The attack fitted where the concept had been removed."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What an attack read from releases."""

    hits: list[Hits]
    guesses: Guesses
    """Of the first release and run."""
    rows: Rows
    """Rows of the pool that were read."""
    readers: list[Read]
    """The attack fitted to releases, once for each run."""


@dataclass(frozen=True, slots=True, eq=False)
class TermReader:
    """A fitted token classifier that names its likeliest terms."""

    inner: TokenReader
    most: int

    def __call__(self, released: Vectors) -> Guesses:
        """The likeliest terms of each row."""
        return self.inner.top(released, min(self.most, len(self.inner.vocabulary)))

    @property
    def search(self) -> dict[str, Any]:
        """What it was chosen from."""
        return self.inner.search

    @property
    def chosen(self) -> dict[str, Any]:
        """What was chosen, on texts that were held back."""
        return self.inner.chosen


def alike(calibration: Calibration, reading: Reading) -> Searched:
    """What was searched, or refuse to compare a release with what was searched in another way."""
    by = {"control": calibration.readers, "floor": calibration.bare_readers, "released": reading.readers}
    return searched_alike(by)


def tokens(suite: Suite, split: Split, on_step: OnStep | None = None, **settings: Any) -> AttackMethod:
    """The token classifier: a network, a linear one or their mean, as serves best on held-back texts."""

    def fit(
        texts: Sequence[str], vectors: Vectors, victim: Releasing | None, embedder: Embeds | None, seed: int
    ) -> Read:
        from sfumato.attacks.terms.classifier import TokenClassifier, best_of

        attack = TokenClassifier(
            vocabulary=split.vocabulary,
            embedder=embedder,
            copies=suite.copies,
            epochs=suite.epochs,
            control=False,  # calibrate() measures it once for all defences
            seed=seed,
            **settings,
        )
        most = max(_LISTED, max(len(terms) for terms in split.truth))
        return TermReader(best_of(attack, texts, vectors, victim, on_step=on_step), most)

    return AttackMethod("tokens", "terms", fit)


def named(name: str, split: Split, on_step: OnStep | None = None, **settings: Any) -> AttackMethod:
    """Any other attack of the table that names terms or writes texts."""
    kind: Any = ATTACKS.get(name)
    if split.embedder is None and "embedder" in settings_of(kind):
        raise LeftOut("it asks the encoder, and there is none")

    def fit(
        texts: Sequence[str], vectors: Vectors, victim: Releasing | None, embedder: Embeds | None, seed: int
    ) -> Read:
        # Asking the encoder is part of such an attack, whatever else the attacker may release.
        offered = {"seed": seed, "embedder": split.embedder, "vocabulary": split.vocabulary}
        attack = make_attack(name, settings, offered)
        if kind.needs == "nothing":
            texts, vectors = [], vectors[:0]
        fitted = attack.fit(texts, vectors, victim, on_step=on_step)
        return lambda released: fitted.recover(released).rows

    return AttackMethod(
        name,
        kind.reads,
        fit,
        learns=kind.needs == "texts",
        public=kind.public,
        together=kind.together,
        most=kind.most_rows,
    )


def calibrate(method: AttackMethod, split: Split, seeds: int, *, query: bool, seed: int) -> Calibration:
    """Run an attack where nothing is protected, and where the concept is not there.

    Args:
        method: the attack.
        split: texts and vectors.
        seeds: how many runs.
        query: whether the attacker may query the encoder.
        seed: of the first run.
    """
    texts = [split.texts[row] for row in split.learned]
    encoder = split.embedder if query else None
    control: list[Hits] = []
    floor: list[Hits] = []
    clean: Guesses = []
    bare: Guesses | None = None
    readers: list[Read] = []
    bare_readers: list[Read] = []
    for run in range(seeds):

        def fit(vectors: Vectors, kept: list[Read], may_ask: Embeds | None, run: int = run) -> Read:
            kept.append(method.fit(texts, vectors, None, may_ask, seed + run))
            return partial(_among, kept[-1], method, split.clean[split.others])

        own_fit = partial(fit, kept=readers, may_ask=encoder)
        found = undefended(own_fit, split.clean[split.learned], split.clean[split.attacked])
        control.append(count_leaked(split.truth, found))
        clean = clean or found
        if split.removed is not None:
            # No substitutes here: another term put in and taken out again leaves the same text.
            bare_fit = partial(fit, kept=bare_readers, may_ask=None)
            found = undefended(bare_fit, split.removed[split.learn], split.removed[split.test])
            floor.append(count_leaked(split.truth, found))
            bare = bare or found
    return Calibration(method, control, floor, split.prior(), clean, bare, readers, bare_readers)


def attack(
    method: AttackMethod, split: Split, target: Target, seeds: int, *, query: bool, seed: int
) -> Reading:
    """Run an attack, trained on fresh releases; one that writes texts is slow and reads one release."""
    texts = [split.texts[row] for row in split.learned]
    vectors, victim = target.learning(split.learned, public=method.public)
    hits: list[Hits] = []
    guesses: Guesses = []
    encoder = split.embedder if query else None
    readers = [method.fit(texts, vectors, victim, encoder, seed + run) for run in range(seeds)]
    for read in readers:
        for draw in range(target.draws if method.reads == "terms" else 1):
            documents = target.documents(draw)
            found = _among(read, method, documents[split.others], documents[split.attacked])
            hits.append(count_leaked(split.truth, found))
            guesses = guesses or found
    return Reading(hits, guesses, split.attacked, readers)


def _among(read: Read, method: AttackMethod, others: Vectors, attacked: Vectors) -> Guesses:
    """Read the attacked rows: together with the pool's others, where that helps the attack."""
    if not method.together:
        return read(attacked)
    return read(np.concatenate([attacked, others]))[: len(attacked)]


def leakage(calibration: Calibration, reading: Reading, split: Split) -> Leakage:
    """The attack's figures with their intervals, where its floor was measured and all were attacked alike."""
    alike(calibration, reading)
    return measure_leakage(
        control=calibration.control,
        floor=calibration.floor,
        released=reading.hits,
        prior=calibration.prior,
        attack=calibration.method.name,
        how=split.resampling(),
    )
