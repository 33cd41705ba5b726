"""One release in the attacker's hands: what he trains on and reads, as it is and as the encoder's vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic, process_time
from typing import Any

import numpy as np

from sfumato.attacks.base import Embeds
from sfumato.attacks.huggingface.library import unit
from sfumato.evaluation import Defence
from sfumato.evaluation.leaked import Undo, fit_undo
from sfumato.mechanisms import Laplace
from sfumato.metrics.similarity import pair_cosines
from sfumato.release import Releasing
from sfumato.trials.target import DefenceTarget, Target
from sfumato.types import Floats, Rows, Vectors
from sfumato_research.attackers.frozen import Frozen
from sfumato_research.attackers.ground import Ground
from sfumato_research.attackers.releases import FLOOR, RELEASES, BareTarget, ReleaseKind
from sfumato_research.frontier.public import joined

_LEAST_TOLD, _MOST_TOLD = 0.02, 1.3


@dataclass(frozen=True, slots=True, eq=False)
class LearningSide:
    """What an attack learns from."""

    texts: list[str]
    vectors: Vectors
    victim: Releasing | None
    """What to noise them with."""


class RewritingEncoder:
    """An encoder behind a defence that rewrites texts: what the attacker's own guesses go through."""

    def __init__(self, defence: Defence, encoder: Embeds, seed: int) -> None:
        self.defence, self.encoder, self.seed = defence, encoder, seed

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of what becomes of the texts."""
        return self.defence.prepare(texts, self.encoder.embed(texts), seed=self.seed)


@dataclass(eq=False)
class Stolen:
    """A release of the pool, by its name in the table."""

    ground: Ground
    label: str
    lent: tuple[float, float] = (0.0, 0.0)
    """Seconds, and those of the processor, that another row spent on what this one reads with, too."""
    _fitted: dict[str, tuple[Any, tuple[float, float]]] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What several rows read with: fitted once, and its time counted for each of them."""
        if name in self._fitted:
            self.lent = self._fitted[name][1]
        else:
            wall, processor = monotonic(), process_time()
            made = make()
            self._fitted[name] = made, (monotonic() - wall, process_time() - processor)
        return self._fitted[name][0]

    def make_ready(self) -> None:
        """Do what is the victim's work or the study's, so that no attack's time is counted with it."""
        with suppress(Exception):  # whatever it is: the attacks meet it again, and say so
            _ = self.ground.prior, self.ground.constant, self.ground.looked_for
            self.target.documents()

    @property
    def kind(self) -> ReleaseKind:
        """What the table says of it."""
        return RELEASES[self.label]

    @cached_property
    def target(self) -> Target:
        """What is released."""
        return self.kind.make(self.ground)

    @property
    def defence(self) -> Defence | None:
        """What an attacker can release with; None where he cannot."""
        able = isinstance(self.target, DefenceTarget) and not self.kind.secret
        return self.target.defence if able else None  # type: ignore[attr-defined]

    @property
    def frozen(self) -> Frozen | None:
        """What was kept of it, where it was released once."""
        return self.target if isinstance(self.target, Frozen) else None

    @property
    def victim(self) -> Releasing | None:
        """All he knows of what vectors go through; None where nothing changes them, or nobody knows."""
        defence = self.defence
        return None if defence is None or defence.through.unchanged else defence.victim

    @property
    def entering(self) -> Vectors:
        """`[n, d]` what enters the mechanism, for who can work that out; else the clean vectors."""
        if isinstance(self.target, BareTarget):
            return self.target.vectors
        return self.ground.pool.clean if self.defence is None else self.target.entering  # type: ignore[attr-defined]

    @property
    def encoder(self) -> Embeds:
        """What the attacker puts guesses through; a protector brings its neutral texts itself."""
        defence = self.defence
        if defence is None or defence.rewrite is None:
            return self.ground.embedder
        return RewritingEncoder(defence, self.ground.embedder, self.ground.cut)

    @property
    def query(self) -> Embeds | None:
        """The encoder for texts with another term put in, where these go the same way as others."""
        able = self.label != FLOOR and self.defence is not None and self.defence.rewrite is None
        return self.ground.embedder if able else None

    def training(self) -> LearningSide:
        """As it is released: the learning side."""
        vectors, victim = self.target.learning(self.ground.pool.learned)
        return LearningSide(self.ground.learned_texts, vectors, victim)

    def read(self, draw: int = 0, rows: Rows | None = None) -> Vectors:
        """As it is released: the rows asked about, or others."""
        return self.target.documents(draw)[self.ground.rows if rows is None else rows]

    # As vectors of the encoder

    @cached_property
    def _undo(self) -> tuple[Undo | None, float]:
        """The map back, and the noise ratio that it leaves, measured on pairs it was not fitted to."""
        if self.kind.undo is None:
            return None, 0.0
        clean, released = self._pairs()
        half = np.arange(len(clean)) % 2 == 0
        trial = fit_undo(clean[half], released[half], self.kind.undo)
        kept = float(pair_cosines(trial(released[~half]), clean[~half]).mean())
        ratio = _MOST_TOLD if kept <= 0.1 else float(np.sqrt(max(kept**-2 - 1, 0.0)))
        return fit_undo(clean, released, self.kind.undo), min(ratio, _MOST_TOLD)

    def _pairs(self) -> tuple[Vectors, Vectors]:
        ground, rows = self.ground, self.ground.pool.learned
        clean = ground.pool.clean[rows]
        if self.defence is None:
            return clean, self.target.learning(rows)[0]
        public = ground.embedder.embed(ground.public)
        every = joined(clean, public)
        return every, self.defence.release([*ground.learned_texts, *ground.public], every, seed=ground.cut)

    def readable(self, vectors: Vectors | Floats) -> Vectors:
        """Released vectors as the encoder's own, of unit length, as well as pairs allow."""
        undo = self._undo[0]
        return np.asarray(vectors, np.float32) if undo is None else unit(undo(vectors))

    @property
    def told(self) -> Releasing | None:
        """What a reader of the encoder's vectors is told of the noise."""
        if self.kind.undo is None:
            return self.victim
        ratio = self._undo[1]
        return Laplace.from_noise_ratio(ratio, dim=self.ground.embedder.dim) if ratio > _LEAST_TOLD else None

    def own_training(self) -> LearningSide:
        """The learning side as the encoder's vectors."""
        plain = self.training()
        if self.kind.undo is None:
            return plain
        released = plain.vectors if self.defence is None else self.read(0, self.ground.pool.learned)
        return LearningSide(plain.texts, self.readable(released), None)

    def with_public(self, base: LearningSide, public: list[str], *, own: bool) -> LearningSide:
        """The same and public sentences, which he releases as the victim does, or embeds where he cannot.

        Args:
            base: the learning side.
            public: the sentences.
            own: whether they are to be the encoder's vectors; else, under a secret, there are none to add.
        """
        mapped = self.kind.undo is not None
        if mapped and not own and self.defence is None:
            return base
        more = self.ground.embedder.embed(public) if mapped and own else self.prepared(public)
        return LearningSide([*base.texts, *public], joined(base.vectors, more), base.victim)

    def expected(self, entering: Vectors) -> Floats:
        """What he expects such vectors to become, without noise."""
        defence = self.defence
        return np.asarray(entering, np.float64) if defence is None else defence.through.expected(entering)

    def prepared(self, texts: list[str]) -> Vectors:
        """What enters the mechanism for texts of his own."""
        clean = self.ground.embedder.embed(texts)
        if isinstance(self.target, BareTarget):
            return self.target.others(texts)
        defence = self.defence
        return clean if defence is None else defence.prepare(texts, clean, seed=self.ground.cut)


Measure = Callable[[Stolen], dict[str, Any]]
"""What one attack gets from one release: arrays by figure, see `cells`."""
