"""What else could be done, at which price: baselines attacked and used like the defence that is audited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.evaluation.defence import Defence
from sfumato.metrics.intervals import Interval
from sfumato.metrics.utility import Utility
from sfumato.trials.reading import Calibration, alike, attack, leakage
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import DefenceTarget
from sfumato.trials.utility import UtilityMeasure

if TYPE_CHECKING:
    from sfumato.evaluation.baselines import Sample

MATCHED = 0.95
"""Share of clean utility at which defences are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRow:
    """One setting of one baseline."""

    name: str
    setting: str
    released: float
    excess: float | None
    interval: Interval | None
    absolute: float | None
    utility: Utility
    guarantee: str
    """What it promises, in one sentence."""
    keyed: bool
    """Whether it rests on a key; the attacker then had texts of his own stored under it."""
    chosen: Sequence[dict[str, Any]] | None = None
    """What its attack was, chosen on held-back texts from the same search as the audited release's."""

    @property
    def label(self) -> str:
        """Name and setting."""
        return f"{self.name}, {self.setting}" if self.setting else self.name

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "setting": self.setting,
            "released": self.released,
            "excess": self.excess,
            "interval": None if self.interval is None else list(self.interval),
            "absolute": self.absolute,
            "utility": plain_utility(self.utility),
            "guarantee": self.guarantee,
            "keyed": self.keyed,
            "chosen": self.chosen if self.chosen is None else list(self.chosen),
        }


def plain_utility(found: Utility) -> dict[str, Any]:
    """Plain values for JSON."""
    return found.to_dict() | {"interval": None if found.interval is None else list(found.interval)}


def installed_baselines(names: Iterable[str] | None) -> tuple[list[str], list[tuple[str, str]]]:
    """The baselines that can be run, and why the others cannot."""
    from sfumato.evaluation.baselines import BASELINES

    wanted = BASELINES.names() if names is None else tuple(names)
    able = [name for name in wanted if BASELINES.installed(name)]
    return able, [(name, BASELINES.install_line(name)) for name in wanted if name not in able]


def sample_of(split: Split, seed: int, concept: Concept | None = None) -> Sample:
    """What a defence may be learned from: texts of the pool that are not attacked.

    Args:
        split: texts and vectors.
        seed: of what is drawn.
        concept: what the defence looks for; what is attacked, if left out.
    """
    from sfumato.evaluation.baselines import Sample

    if split.embedder is None:
        raise InputError("Baselines embed texts of their own. Name the encoder with --embedder.")
    attacked = set(split.attacked.tolist())
    own = np.array([row for row in range(len(split.texts)) if row not in attacked], np.intp)
    return Sample(
        [split.texts[row] for row in own],
        split.clean[own],
        concept or split.concept,
        split.embedder,
        None if split.spans is None else [split.spans[row] for row in own],
        seed,
    )


def compare(
    split: Split,
    names: Sequence[str],
    calibration: Calibration,
    measure: UtilityMeasure,
    suite: Suite,
    *,
    concept: Concept | None = None,
    seed: int,
    on_step: Callable[[str], object],
) -> list[BaselineRow]:
    """Fit baselines on texts that are not attacked, then attack and use every setting of each.

    Args:
        split: texts and vectors.
        names: which baselines.
        calibration: the attack, with its control and floor.
        measure: how utility is measured.
        suite: how much of everything.
        concept: what the baselines look for; what is attacked, if left out.
        seed: of the attack and the noise.
        on_step: hears of every baseline before it begins.
    """
    from sfumato.evaluation.baselines import BASELINES

    sample = sample_of(split, seed, concept)
    rows = []
    for name in names:
        on_step(name)
        for defence in BASELINES.get(name)().fit(sample):
            rows.append(_row(defence, split, calibration, measure, suite, seed))
    return rows


def _row(
    defence: Defence, split: Split, calibration: Calibration, measure: UtilityMeasure, suite: Suite, seed: int
) -> BaselineRow:
    target = DefenceTarget(defence, split, draws=suite.draws, seed=seed)
    # Where texts are rewritten or a key is used, texts with another term put in would not go the same way.
    query = defence.rewrite is None and defence.key is None
    reading = attack(calibration.method, split, target, 1, query=query, seed=seed)
    found = leakage(calibration, reading, split)
    return BaselineRow(
        name=defence.name,
        setting=defence.setting,
        released=found.released,
        excess=found.excess,
        interval=found.interval,
        absolute=found.absolute,
        utility=measure.measure(target),
        guarantee=defence.guarantee.describe(),
        keyed=defence.key is not None,
        chosen=(alike(calibration, reading).chosen or {}).get("released"),
    )


def matched(rows: Sequence[BaselineRow], excess: float | None, kept: float | None) -> dict[str, Any]:
    """The lowest excess leakage among what keeps enough utility, beside that of the audited release."""
    able = [row for row in rows if row.excess is not None and (row.utility.kept or 0.0) >= MATCHED]
    best = min(able, key=lambda row: row.excess or 0.0, default=None)
    ours = excess is not None and kept is not None and kept >= MATCHED
    return {
        "at_least": MATCHED,
        "audited": {"excess": excess, "kept": kept} if ours else None,
        "baseline": None
        if best is None
        else {"name": best.label, "excess": best.excess, "kept": best.utility.kept},
    }
