"""Is this text in the store: half of the pool is stored, and all of it is looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.concepts.texts.duplicates import split_texts
from sfumato.metrics.intervals import Interval
from sfumato.metrics.roc import Roc, roc
from sfumato.randomness import generator
from sfumato.release import AS_IT_IS
from sfumato.trials.control import MARGIN
from sfumato.trials.making import make_attack
from sfumato.trials.rows import AttackRow, LeftOut
from sfumato.trials.split import Split
from sfumato.trials.target import FixedTarget, Target

NAME = "membership"
QUESTION = "Is this text in the store at all? (area under the curve)"
GUESS = 0.5


@dataclass(frozen=True, slots=True)
class MembershipFound:
    """How well texts that are stored are told from others."""

    released: Roc
    clean: Roc
    stored: int
    others: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self.released.to_dict(),
            "clean": self.clean.to_dict(),
            "stored": self.stored,
            "others": self.others,
        }


def membership_row(split: Split, target: Target, *, seed: int) -> tuple[AttackRow, MembershipFound]:
    """Look for the pool's texts among releases of half of them; a guess has an area of one half."""
    if isinstance(target, FixedTarget) and target.vectors.shape != split.clean.shape:
        raise LeftOut("the vectors have another dimension than clean ones, and nobody says why")
    every = np.arange(len(split.texts))
    held = split_texts(split.texts, 0.5, generator(seed))[1]
    stored = np.isin(every, held)
    attack = make_attack(NAME, {"seed": seed}, {})
    vectors, victim = target.learning(every, public=True)
    test = attack.fit(split.texts, vectors, victim)
    clean = roc(attack.fit(split.texts, split.clean, AS_IT_IS).recover(split.clean[held]).scores, stored)
    released = roc(test.recover(target.documents()[held]).scores, stored)
    found = MembershipFound(released, clean, int(stored.sum()), int((~stored).sum()))
    return _row(found), found


def _row(found: MembershipFound) -> AttackRow:
    auc, control = found.released.auc, found.clean.auc
    room = control.value - GUESS
    excess = (auc.value - GUESS) / room if room > 0 else None
    ends: Interval | None = ((auc.low - GUESS) / room, (auc.high - GUESS) / room) if room > 0 else None
    works = control.low - GUESS >= MARGIN
    rates = "; ".join(f"{each.metric}: {100 * each.value:.1f} %" for each in found.released.found)
    return AttackRow(
        name=NAME,
        reads="member",
        question=QUESTION,
        control=control.value,
        floor=GUESS,
        floor_is="chance",
        prior=GUESS,
        released=auc.value,
        excess=excess,
        interval=ends,
        absolute=excess,
        absolute_interval=ends,
        works=works,
        separates=works,
        counts=False,
        rows=auc.count,
        note=f"{found.stored} stored, {found.others} not. {rates + '. ' if rates else ''}"
        "It names no term, so the verdict does not rest on it.",
    )
