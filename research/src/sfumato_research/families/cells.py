"""One cut of one concept and encoder: every release attacked and used, a figure a row, kept small."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np

from sfumato.evaluation import Defence
from sfumato.mechanisms.base import one_blas_thread
from sfumato.trials.rivals import sample_of
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget
from sfumato.types import Vectors
from sfumato_research.families.findings import DPPN, LAPLACE, LEACE, SPARSE
from sfumato_research.families.ground import CellGround, stand
from sfumato_research.families.knowing import informed
from sfumato_research.families.naming import LearnedFrom, of_target, presence, terms_named
from sfumato_research.families.packing import packed, unpacked
from sfumato_research.frontier import telling
from sfumato_research.frontier.defences import (
    ERASED,
    FEW,
    OTHER,
    OURS,
    REMOVED,
    WIDE,
    all_defences,
    widened,
)
from sfumato_research.frontier.measure import CLEAN, FLOOR, Arrays, arrays_path, finds, kept_arrays
from sfumato_research.frontier.use import measure_use, names_found, neighbours
from sfumato_research.studies.base import Setting

CUTS = 5
FOLDER = "families"
NO_ERASERS = (REMOVED, OTHER, OURS, LAPLACE, SPARSE, DPPN, LEACE)
"""What is attacked where a processor carries it: an eraser is learned from 16,000 sentences more."""


class KeptTarget(DefenceTarget):
    """A defence whose release of the pool is drawn once for all who ask for it."""

    def __init__(self, defence: Defence, pool: Split, draws: int, seed: int) -> None:
        super().__init__(defence, pool, draws=draws, seed=seed)
        self._drawn: dict[int, Vectors] = {}

    def documents(self, draw: int = 0) -> Vectors:
        """One release of the whole pool."""
        if draw not in self._drawn:
            self._drawn[draw] = super().documents(draw)
        return self._drawn[draw]


def measured(
    name: str, model: str, cut: int, setting: Setting, ground: Callable[[], CellGround] | None = None
) -> Arrays:
    """The arrays of one cut: kept ones where there are, else measured now."""

    def make() -> Arrays:
        with one_blas_thread():
            return packed(
                measure(name, model, cut, setting, (ground or (lambda: stand(name, model, setting)))())
            )

    return unpacked(kept_arrays(name, model, cut, setting, make, FOLDER))


def cuts_there(name: str, model: str, setting: Setting) -> list[int]:
    """The cuts that were measured and kept."""
    paths = {cut: arrays_path(name, model, cut, setting, FOLDER) for cut in range(CUTS)}
    return [cut for cut, path in paths.items() if path is not None and path.exists()]


def measure(name: str, model: str, cut: int, setting: Setting, ground: CellGround) -> Arrays:
    """Cut the texts, then attack and use every release."""
    begun = monotonic()

    def step(what: str) -> None:
        setting.on_step(f"{name}, {model}, cut {cut}, {monotonic() - begun:.0f} s: {what}")

    pool = ground.cut(cut)
    step(f"cut: {len(pool.learn)} learned, {len(pool.test)} attacked")
    kept: Arrays = {"terms.total": pool.prior().total, "terms.prior": pool.prior().found}
    kept["groups"] = pool.groups[pool.test]
    for key, concept in (("all", ground.own), ("wide", widened(ground.own))):
        kept[f"found.{key}"] = finds(pool, concept)
    targets = _targets(pool, ground, cut, setting, step)
    step("naming terms")
    known = {CLEAN: _plain(pool.clean, pool), FLOOR: _removed(pool)}
    known |= {label: of_target(target, pool) for label, target in targets.items() if label != CLEAN}
    for label, hits in terms_named(pool, ground.suite, known, setting.device, cut).items():
        _put(kept, label, {"hits": hits})
    step("presence")
    releases = {label: target.documents() for label, target in targets.items()}
    releases[FLOOR] = _with_removed(pool)
    for label, found in presence(pool, releases, setting.device, cut).items():
        _put(kept, label, found)
    for label, target in targets.items():
        step(f"the rest: {label}")
        _put(kept, label, _about(target, pool, ground, cut))
    step("done")
    return kept


def _targets(
    pool: Split, ground: CellGround, cut: int, setting: Setting, step: Callable[[str], None]
) -> dict[str, KeptTarget]:
    """What is attacked and used, learned now but for what public text has taught once for all."""
    draws = ground.suite.draws
    found = {CLEAN: KeptTarget(Defence(name=CLEAN, embedder=ground.embedder), pool, 1, cut)}
    wanted = setting.pick(NO_ERASERS if setting.few else None, (*FEW, ERASED, WIDE, LAPLACE))
    sample = sample_of(pool, cut, ground.own)
    made = {} if setting.few else ground.with_erasers()
    for label, defence in all_defences(sample, ground.public, wanted, made):
        step(f"learned: {label}")
        found[label] = KeptTarget(defence, pool, draws, cut)
    return found


def _about(target: KeptTarget, pool: Split, ground: CellGround, cut: int) -> Arrays:
    """Everything but terms and presence: linkage, membership, the informed attacker, and use."""
    positions, right = telling.linked(pool, target, cut)
    inside, near = telling.membership_scores(pool, target, cut)
    found: Arrays = {"linked": right.astype(float), "linked.groups": pool.groups[pool.test[positions]]}
    found |= {"members": inside, "members.near": near.astype(np.float32)}
    found |= measure_use(ground.use, target.defence, ground.embedded, ground.own, cut, ground.before)
    found |= neighbours(pool, target, ground.own, cut) | names_found(pool, target)
    if target.label != OTHER:  # his candidates would get other values than the victim's
        found |= informed(pool, target, ground.suite, cut)
    return found


def _plain(vectors: Vectors, pool: Split) -> LearnedFrom:
    """Vectors as they are: the control."""
    return LearnedFrom(vectors[pool.learned], None, True, [vectors[pool.attacked]])


def _removed(pool: Split) -> LearnedFrom:
    """Texts with the labelled words taken out: the floor, where another term put in leaves the same text."""
    assert pool.removed is not None
    return LearnedFrom(pool.removed[pool.learn], None, False, [pool.removed[pool.test]])


def _with_removed(pool: Split) -> Vectors:
    assert pool.removed is not None
    removed = pool.clean.copy()
    removed[pool.rows] = pool.removed
    return removed


def _put(kept: Arrays, label: str, found: Arrays) -> None:
    kept.update({f"{label}|{key}": each for key, each in found.items()})
