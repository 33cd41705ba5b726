"""Attacks that read many releases together, or look for texts in a public corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.metrics.leakage import count_leaked
from sfumato.metrics.similarity import unit_rows
from sfumato.trials.making import make_attack
from sfumato.trials.rows import LeftOut
from sfumato_research.attackers.naming import Found, named, ready_made, scored
from sfumato_research.attackers.stolen import LearningSide, Stolen
from sfumato_research.frontier.measure import placed

_ENDINGS = ("", " .", "!")
"""Near-duplicates of a text: as it is, and with another mark at its end."""


def denoised(stolen: Stolen) -> Found:
    """Noise taken off by what all stored releases have in common; then the ready-made reader."""
    ground = stolen.ground
    if stolen.kind.undo is not None:
        raise LeftOut("nobody says how its noise lies")
    learned = stolen.training()
    settings = {"reader": ready_made(ground), "seed": ground.cut}
    attack = make_attack("denoising", settings, {})
    fitted: Any = attack.fit(learned.texts, learned.vectors, learned.victim)
    rows = np.concatenate([ground.rows, ground.others])
    clean = fitted.denoise(stolen.target.documents()[rows])[0][: len(ground.rows)]
    return scored(ground, fitted.reader.recover(unit_rows(clean)).rows)


def neighbours(stolen: Stolen) -> Found:
    """The likeliest text of the learning side and a public corpus."""
    ground, own = stolen.ground, stolen.defence is None
    # Under a secret he looks for what was mapped back among vectors that he embeds himself.
    clean = ground.pool.clean[ground.pool.learned]
    base = LearningSide(ground.learned_texts, clean, None) if own else stolen.training()
    known = stolen.with_public(base, ground.corpus, own=own)
    attack = make_attack("neighbours", {"seed": ground.cut}, {})
    fitted = attack.fit(known.texts, known.vectors, known.victim)
    released = stolen.read()
    return scored(ground, fitted.recover(stolen.readable(released) if own else released).rows)


def pooled(stolen: Stolen) -> Found:
    """Three near-duplicates of every text, each released with noise of its own, and read together."""
    ground, defence, learned = stolen.ground, stolen.defence, stolen.training()
    if defence is None or learned.victim is None or not stolen.target.repeats:
        raise LeftOut("near-duplicates are released nearly alike, or cannot be released")
    texts = [f"{text}{ending}" for ending in _ENDINGS for text in ground.texts]
    clean = ground.embedder.embed(texts)
    released = defence.release(texts, clean, seed=ground.cut)
    count = len(ground.texts)
    released[:count] = stolen.read()
    reader = TokenClassifier(
        vocabulary=ground.pool.vocabulary, embedder=stolen.query, copies=ground.suite.copies,
        epochs=ground.suite.epochs, control=False, seed=ground.cut, **placed(ground.setting),
    )  # fmt: skip
    settings = {
        "groups": tuple(range(count)) * len(_ENDINGS),
        "sizes": (1, len(_ENDINGS)),
        "reader": reader,
        "seed": ground.cut,
    }
    attack = make_attack("pooling", settings, {})
    found = attack.fit(learned.texts, learned.vectors, learned.victim).recover(released)
    return named(ground, [count_leaked(ground.truth, found.rows[:count])])
