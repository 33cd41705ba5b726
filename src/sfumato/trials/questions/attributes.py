"""A label of the text: trained on half of the pool's releases, asked of the other half."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from sfumato.concepts.texts.duplicates import near_duplicates, split_texts
from sfumato.metrics.intervals import Resampling
from sfumato.metrics.leakage import Hits
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.trials.control import undefended
from sfumato.trials.making import make_attack
from sfumato.trials.rows import AttackRow, LeftOut, row_of
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import Target
from sfumato.types import Vectors

NAME = "attributes"
QUESTION = "Which label does the text have?"
LEAST = 40
"""Texts with a label that there must be."""


def attributes_row(
    split: Split, target: Target, labels: Mapping[str, str], suite: Suite, *, seed: int
) -> AttackRow:
    """Name the labels of half of the pool; the prior is the most frequent label of the other half."""
    rows = np.array([row for row, text in enumerate(split.texts) if text in labels], np.intp)
    if len(rows) < LEAST:
        raise LeftOut(f"{LEAST} texts with a label are needed, and {len(rows)} of the texts have one")
    texts = [split.texts[row] for row in rows]
    learn, test = split_texts(texts, 0.5, generator(seed))
    own = [labels[texts[place]] for place in test]
    learned = [texts[place] for place in learn]
    attack = make_attack(NAME, {"labels": labels, "epochs": suite.epochs, "control": False, "seed": seed}, {})

    def hits(vectors: Vectors, releases: list[Vectors], victim: Releasing | None = None) -> list[Hits]:
        reader = attack.fit(learned, vectors, victim)
        found = [[row[0] for row in reader.recover(release).rows] for release in releases]
        return [_right([name == true for name, true in zip(each, own, strict=True)]) for each in found]

    asked = rows[test]
    vectors, victim = target.learning(rows[learn])
    frequent = Counter(labels[text] for text in learned).most_common(1)[0][0]
    return row_of(
        NAME,
        "label",
        QUESTION,
        control=undefended(
            lambda known: lambda read: hits(known, [read]), split.clean[rows[learn]], split.clean[asked]
        ),
        floor=[],
        floor_is="chance",
        prior=_right([true == frequent for true in own]),
        released=hits(vectors, [target.documents(draw)[asked] for draw in range(target.draws)], victim),
        how=Resampling(groups=near_duplicates([split.texts[row] for row in asked])),
        counts=False,
        note=f"{len(set(labels[text] for text in texts))} labels. It names a label of the text and not the "
        "concept, so the verdict does not rest on it.",
    )


def _right(hits: list[bool]) -> Hits:
    return Hits(np.array(hits, np.float64), np.ones(len(hits)))
