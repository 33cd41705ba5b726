"""Whose record is it: linkage among known texts, and what the low-order bits give away."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.metrics.intervals import share
from sfumato.metrics.leakage import Hits
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.trials.making import make_attack
from sfumato.trials.rows import AttackRow, LeftOut, row_of
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import DefenceTarget, FixedTarget, Target
from sfumato.types import Rows, Vectors

LINKAGE = "Which of the known texts is this vector of?"
BITS = "Do the low-order bits of the numbers alone name the text?"
_APART = "It names a known text and not the concept, so the verdict does not rest on it."


def linkage_row(split: Split, target: Target, suite: Suite, *, seed: int) -> AttackRow:
    """OnStep some of the attacked texts apart among the whole pool; chance is one in as many."""
    rows = _some(split, suite.linked, seed)
    entering, victim = _entering(split, target)
    attack = make_attack("linkage", {"seed": seed}, {})
    linker: Any = attack.fit(split.texts, entering, victim)
    clean: Any = attack.fit(split.texts, split.clean)
    total = np.ones(len(rows))

    def hits(ranks: object) -> Hits:
        return Hits((np.asarray(ranks) == 0).astype(np.float64), total)

    chance = Hits(total / len(split.texts), total)
    return row_of(
        "linkage",
        "row",
        LINKAGE,
        control=[hits(clean.rank_of(split.clean[rows], rows))],
        floor=[chance],
        floor_is="chance",
        prior=chance,
        released=[hits(linker.rank_of(target.documents(draw)[rows], rows)) for draw in range(target.draws)],
        how=split.resampling(_positions(split, rows)),
        counts=False,
        note=f"Among {len(split.texts)} texts. {_APART}",
    )


def known_row(name: str, split: Split, target: Target, suite: Suite, *, seed: int) -> AttackRow:
    """Any other attack that names known texts: is it the right one, first of all?"""
    rows = _some(split, suite.linked, seed)
    entering, victim = _entering(split, target)
    attack = make_attack(name, {}, {"seed": seed, "embedder": split.embedder})
    texts = [split.texts[row] for row in rows]
    total = np.ones(len(rows))

    def hits(vectors: Vectors, known: Vectors, through: Releasing | None) -> Hits:
        found = attack.fit(split.texts, known, through).recover(vectors).rows
        right = [named == text for named, text in zip(found, texts, strict=True)]
        return Hits(np.array(right, np.float64), total)

    chance = Hits(total / len(split.texts), total)
    return row_of(
        name,
        "row",
        LINKAGE,
        control=[hits(split.clean[rows], split.clean, None)],
        floor=[chance],
        floor_is="chance",
        prior=chance,
        released=[hits(target.documents()[rows], entering, victim)],
        how=split.resampling(_positions(split, rows)),
        counts=False,
        note=f"Among {len(split.texts)} texts. {_APART}",
    )


def bits_row(split: Split, target: Target, suite: Suite, *, seed: int) -> AttackRow:
    """Rule known texts out by floating-point arithmetic; the control is plain float32 noise."""
    rows = _some(split, suite.linked, seed)
    entering, victim = _entering(split, target)
    reader = make_attack("bits", {"seed": seed}, {}).fit(split.texts, entering, victim)
    found = reader.recover(target.documents()[rows]).details["index"]
    figure = share("named", int((found == rows).sum()), len(rows))
    control = reader.control
    proof = 0.0 if control is None else control.value
    excess = figure.value / proof if proof else None
    interval = (figure.low / proof, figure.high / proof) if proof else None
    return AttackRow(
        name="bits",
        reads="row",
        question=BITS,
        control=proof,
        floor=0.0,
        floor_is="chance",
        prior=0.0,
        released=figure.value,
        excess=excess,
        interval=interval,
        absolute=excess,
        absolute_interval=interval,
        works=proof > 0.5,
        separates=proof > 0.5,
        counts=False,
        rows=figure.count,
        note=f"Its control is float32 noise that is simply added. {_APART}",
    )


def _some(split: Split, most: int, seed: int) -> Rows:
    return np.sort(generator(seed).permutation(split.attacked)[:most])


def _positions(split: Split, rows: Rows) -> Rows:
    place = {row: position for position, row in enumerate(split.rows.tolist())}
    return np.array([place[row] for row in rows.tolist()], np.intp)


def _entering(split: Split, target: Target) -> tuple[Vectors, Releasing | None]:
    if isinstance(target, DefenceTarget):
        return target.entering, target.defence.victim
    if isinstance(target, FixedTarget) and target.vectors.shape != split.clean.shape:
        raise LeftOut("the vectors have another dimension than clean ones, and nobody says why")
    return split.clean, None
