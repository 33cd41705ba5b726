"""Repeated releases: noise that is drawn anew each time can be averaged away."""

from __future__ import annotations

import numpy as np

from sfumato.attacks.base import fresh_releases
from sfumato.metrics.leakage import count_leaked
from sfumato.trials.reading import Calibration, Reading, alike
from sfumato.trials.rows import AttackRow, LeftOut, row_of
from sfumato.trials.split import Split
from sfumato.trials.target import Target

_COPIES = 3
"""Means of releases, each of other noise, that the attacker learns from for each of his texts."""


def averaging_row(
    split: Split, target: Target, calibration: Calibration, count: int, *, seed: int
) -> AttackRow:
    """Run the attack of `calibration` on means of `count` releases, trained on such means."""
    from sfumato.attacks.known_texts.averaging import mean_release

    if not target.repeats:
        raise LeftOut("these vectors are released once only")
    vectors, victim = target.learning(split.learned)
    if victim is None:
        raise LeftOut("nothing can be released again without the key")
    release = fresh_releases(victim, seed + 1)
    means = [mean_release(lambda: release(vectors), count) for _ in range(_COPIES)]
    texts = [split.texts[row] for row in split.learned] * _COPIES
    read = calibration.method.fit(texts, np.concatenate(means), None, None, seed)
    seen = mean_release([target.documents(draw)[split.attacked] for draw in range(count)])
    guesses = read(seen)
    hits = [count_leaked(split.truth, guesses)]
    return row_of(
        f"{calibration.method.name}, mean of {count} releases",
        calibration.method.reads,
        f"What does the same attack read when {count} releases of a text are averaged?",
        control=calibration.control,
        floor=calibration.floor,
        floor_is="removed",
        prior=calibration.prior,
        released=hits,
        how=split.resampling(),
        counts=False,
        note="It takes fresh noise for one text again and again; sticky noise and the ledger prevent that, "
        "so the verdict does not rest on it.",
        searched=alike(calibration, Reading(hits, guesses, split.attacked, [read])),
    )
