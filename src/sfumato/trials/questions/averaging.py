"""Repeated releases: noise that is drawn anew each time can be averaged away."""

from __future__ import annotations

import numpy as np

from sfumato.attacks.averaging import mean_release
from sfumato.attacks.base import fresh_releases
from sfumato.metrics.leakage import count_leaked
from sfumato.trials.reading import Scale
from sfumato.trials.rows import AttackRow, LeftOut, row_of
from sfumato.trials.split import Split
from sfumato.trials.target import Target

_LESSONS = 3
"""Means of releases, each of other noise, that the attacker learns from for each of his texts."""


def averaging_row(material: Split, target: Target, scale: Scale, count: int, *, seed: int) -> AttackRow:
    """Run the attack of `scale` on means of `count` releases, trained on such means."""
    if not target.repeats:
        raise LeftOut("these vectors are released once only")
    vectors, victim = target.learning(material.learned)
    if victim is None:
        raise LeftOut("nothing can be released again without the key")
    release = fresh_releases(victim, seed + 1)
    lessons = [mean_release(lambda: release(vectors), count) for _ in range(_LESSONS)]
    texts = [material.texts[row] for row in material.learned] * _LESSONS
    read = scale.instrument.fit(texts, np.concatenate(lessons), None, None, seed)
    seen = mean_release([target.documents(draw)[material.attacked] for draw in range(count)])
    return row_of(
        f"{scale.instrument.name}, mean of {count} releases",
        scale.instrument.reads,
        f"What does the same attack read when {count} releases of a text are averaged?",
        control=scale.control,
        floor=scale.floor,
        floor_is="removed",
        prior=scale.prior,
        released=[count_leaked(material.truth, read(seen))],
        how=material.resampling(),
        counts=False,
        note="It takes fresh noise for one text again and again; sticky noise and the ledger prevent that, "
        "so the verdict does not rest on it.",
    )
