"""What is attacked: a defence that can release as often as asked, or vectors somebody else made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Guarantee
from sfumato.errors import InputError
from sfumato.evaluation.defence import Defence, victim_noise
from sfumato.preparing import RowSpans
from sfumato.protector import Protector
from sfumato.release import Releasing
from sfumato.trials.split import Pool, Split
from sfumato.types import Rows, Vectors


class Target(Protocol):
    """All that attacks and searches ask of what is audited."""

    label: str
    draws: int
    """How many releases of the pool may be read: 1 where a second one would be the same."""
    repeats: bool
    """Whether the same texts can be released again with other noise."""
    guarantee: Guarantee

    def learning(self, rows: Rows, *, public: bool = False) -> tuple[Vectors, Releasing | None]:
        """What an adaptive attacker trains on: vectors of these rows, and what to noise them with.

        A `public` attack has no pair: it is given vectors as they enter, never what was stored under a key.
        """

    def documents(self, draw: int = 0) -> Vectors:
        """`[n, d]` one release of the whole pool."""

    def others(self, texts: Sequence[str]) -> Vectors:
        """One release of other texts, such as searches."""


class DefenceTarget:
    """A protector or a baseline."""

    def __init__(self, defence: Defence, pool: Split | Pool, *, draws: int = 1, seed: int = 0) -> None:
        self.defence, self.pool, self.seed = defence, pool, seed
        self.label, self.guarantee = defence.label, defence.guarantee
        self.repeats = defence.mechanism.noisy
        self.draws = draws if self.repeats else 1
        self.entering, self.matched = self._prepared()

    def _prepared(self) -> tuple[Vectors, NDArray[np.bool_] | None]:
        """What enters the mechanism; vectors whose texts nobody knows enter as they are."""
        pool = self.pool
        if pool.texts is None and pool.clean is not None:
            return pool.clean, None
        return self.defence.prepare_rows(pool.texts or [], pool.clean, pool.spans, self.seed)

    def learning(self, rows: Rows, *, public: bool = False) -> tuple[Vectors, Releasing | None]:
        """Vectors that enter the mechanism, if any; behind a key, releases of texts stored under it.

        What is told of a mechanism would tell its key, too: behind one, a public attack is told nothing.
        """
        if self.defence.key is not None:
            return (self.entering[rows] if public else self.documents(self.draws)[rows]), None
        return self.entering[rows], None if self.defence.through.unchanged else self.defence.victim

    def documents(self, draw: int = 0) -> Vectors:
        """One release of the whole pool."""
        return self.defence.noised(self.entering, self.matched, victim_noise(self.seed, draw))

    def others(self, texts: Sequence[str]) -> Vectors:
        """One release of other texts; labelled spans, where the concept needs them, they have none."""
        encoder = self.pool.embedder
        if encoder is None:
            raise InputError("Searches and pairs have to be embedded for this. Name the encoder.")
        spans: RowSpans | None = [[] for _ in texts] if self.pool.spans is not None else None
        return self.defence.queries(texts, encoder.embed(texts), spans=spans, seed=self.seed)


def protector_of(target: Target) -> Protector | None:
    """The protector that is attacked, with its detectors; None for baselines and vectors made elsewhere."""
    return target.defence.protector if isinstance(target, DefenceTarget) else None


class FixedTarget:
    """Vectors that came from elsewhere, one a text; nobody says what was done to them."""

    draws = 1
    repeats = False

    def __init__(self, vectors: Vectors, texts: Sequence[str], clean: Vectors | None = None) -> None:
        self.vectors, self.clean = vectors, clean
        self.label = "the vectors given"
        note = "nothing is known about how these vectors were made"
        self.guarantee = Guarantee("unknown", float("inf"), "none", "none", notes=(note,))
        self._rows = {text: row for row, text in enumerate(texts)}

    def learning(self, rows: Rows, *, public: bool = False) -> tuple[Vectors, Releasing | None]:
        """The vectors as they are: pairs of a text and its release that leaked."""
        if public and self.clean is None:
            raise InputError("This attack learns from clean vectors of public texts. Name the encoder.")
        return (self.clean if public and self.clean is not None else self.vectors)[rows], None

    def documents(self, draw: int = 0) -> Vectors:
        """The vectors."""
        return self.vectors

    def others(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts that are in the pool."""
        if any(text not in self._rows for text in texts):
            raise InputError(
                "Vectors made elsewhere can only be looked up: searches and pairs must be texts of the input."
            )
        return self.vectors[[self._rows[text] for text in texts]]
