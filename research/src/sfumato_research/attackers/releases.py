"""The columns of the table: what is stolen, and what an attacker who has pairs takes its secret to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.accounting import Guarantee
from sfumato.evaluation import BASELINES, Defence
from sfumato.evaluation.baselines import Baseline
from sfumato.evaluation.leaked import Undoing
from sfumato.learning import LearnSettings
from sfumato.mechanisms.transform import Transform
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.handles.codes import codebook
from sfumato.trials.target import DefenceTarget, Target
from sfumato.types import Floats, Rows, Vectors
from sfumato_research.attackers.frozen import Frozen, frozen_ironcore, frozen_sealed
from sfumato_research.attackers.ground import Ground
from sfumato_research.frontier.defences import ours

CLEAN, FLOOR = "clean", "labels taken out"
LAPLACE, SPARSE, DPPN = "Laplace 1.4", "SPARSE", "DPPN"
DEFAULT, REMOVAL, UNNEUTRAL = "default", "removal", "--neutral 0"
COPIES = "default, eight copies"
"""The default of earlier versions; no column of the table."""
ROTATION, IRONCORE, CODES, SEALED = "rotation", "IronCore", "codes, 64 bits", "sealed"
KNOWN_CELLS = "sealed, codebook known"
BITS = 64


class BareTarget:
    """Vectors of texts with the labelled words taken out: the floor of what names terms."""

    draws, repeats, label = 1, False, FLOOR

    def __init__(self, ground: Ground) -> None:
        pool = ground.pool
        assert pool.removed is not None  # there is an encoder
        self.vectors = pool.clean.copy()
        self.vectors[pool.rows] = pool.removed
        self.guarantee = Guarantee(self.label, float("inf"), "none", "none")
        self._ground = ground

    def learning(self, rows: Rows, *, public: bool = False) -> tuple[Vectors, Releasing | None]:
        """The same of other rows, which is all there is."""
        return self.vectors[rows], None

    def documents(self, draw: int = 0) -> Vectors:
        """Always the same."""
        return self.vectors

    def others(self, texts: Sequence[str]) -> Vectors:
        """What is left of other texts when the known terms are taken out."""
        remove = self._ground.pool.vocabulary.remove
        return self._ground.embedder.embed([remove(text) or text for text in texts])


@dataclass(frozen=True, slots=True)
class ReleaseKind:
    """One column."""

    make: Callable[[Ground], Target]
    undo: Undoing | None = None
    """How what is no vector of the encoder's is mapped back, from pairs."""
    secret: bool = False
    """Whether the attacker can release nothing himself, and holds pairs."""


def _defended(make: Callable[[Ground], Defence], ground: Ground) -> Target:
    return DefenceTarget(make(ground), ground.pool, draws=ground.suite.draws, seed=ground.cut)


def _by(
    make: Callable[[Ground], Defence], undo: Undoing | None = None, *, secret: bool = False
) -> ReleaseKind:
    return ReleaseKind(partial(_defended, make), undo, secret)


def _baseline(name: str, **settings: object) -> Callable[[Ground], Defence]:
    def make(ground: Ground) -> Defence:
        kind: Callable[..., Baseline] = BASELINES.get(name)
        return kind(**settings).fit(ground.sample)[0]

    return make


def _ours(name: str, **changed: object) -> Callable[[Ground], Defence]:
    """What `sfumato learn` makes with its defaults, or with other settings."""
    given = {"neutral_by": LearnSettings().neutral_by, **changed}

    def make(ground: Ground) -> Defence:
        sample = ground.sample
        return ours(sample.texts, ground.embedder, sample.concept, name, ground.cut, **given)

    return make


def _clean(ground: Ground) -> Defence:
    return Defence(name=CLEAN, embedder=ground.embedder)


def _codes(ground: Ground) -> Defence:
    centre, planes = codebook(min(BITS, ground.embedder.dim), ground.embedder.dim, ground.embedder.model_id)

    def shown(vectors: Floats) -> Floats:
        signs = np.where((unit(vectors) - centre) @ planes >= 0, 1.0, -1.0)
        return np.asarray(signs / np.sqrt(planes.shape[1]))

    note = "the same text always gives the same code"
    mechanism = Transform("codes", shown, note=note, output=planes.shape[1])
    return Defence(name="codes", setting=f"{BITS} bits", mechanism=mechanism, embedder=ground.embedder)


def _cells(ground: Ground) -> Defence:
    """Where a row is filed, for who has the codebook: the middle of its cell, of four rows or so."""
    book = Codebook.learn(ground.pool.clean, rng=generator(ground.cut))
    middles = book.centroids[0]

    def shown(vectors: Floats) -> Floats:
        return np.asarray(middles[book.assign(vectors)[:, 0]], np.float64)

    mechanism = Transform("cells", shown, note="the middle of a row's cell")
    return Defence(name="cells", mechanism=mechanism, embedder=ground.embedder)


def _frozen(make: Callable[[Ground], Frozen], ground: Ground) -> Target:
    return make(ground)


RELEASES: Mapping[str, ReleaseKind] = {
    CLEAN: _by(_clean),
    FLOOR: ReleaseKind(BareTarget),
    "Laplace .7": _by(_baseline("laplace", noise_ratios=(0.7,))),
    LAPLACE: _by(_baseline("laplace", noise_ratios=(1.4,))),
    SPARSE: _by(_baseline("sparse", noise_ratios=(1.4,))),
    DPPN: _by(_baseline("suppression", noise_ratios=(1.4,))),
    DEFAULT: _by(_ours(DEFAULT)),
    COPIES: _by(_ours(COPIES, neutral_by="copies")),
    UNNEUTRAL: _by(_ours("neutral 0", neutral=0)),
    "LEACE": _by(_baseline("leace", labels=("terms",))),
    REMOVAL: _by(_baseline("removal", stars=(False,))),
    ROTATION: _by(_baseline("rotation"), "rotation", secret=True),
    IRONCORE: ReleaseKind(partial(_frozen, frozen_ironcore), "shuffle", True),
    CODES: _by(_codes, "linear"),
    SEALED: ReleaseKind(partial(_frozen, frozen_sealed), "linear", True),
    KNOWN_CELLS: _by(_cells),
}
QUICK = (CLEAN, FLOOR, LAPLACE, DEFAULT, SEALED)
STUDIED = tuple(label for label in RELEASES if label != COPIES)
COLUMNS = tuple(label for label in STUDIED if label not in (CLEAN, FLOOR))
"""What stands beside the control."""


def releases(quick: bool) -> tuple[str, ...]:
    """Those of a full or a quick run, whose packages are installed."""
    wanted = QUICK if quick else STUDIED
    needs = {SPARSE: "sparse", DPPN: "suppression", "LEACE": "leace"}
    return tuple(label for label in wanted if label not in needs or BASELINES.installed(needs[label]))
