"""What the graph of rows and tags alone gives away: the terms of the public text that a row is taken for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.metrics.leakage import Hits, count_leaked
from sfumato.metrics.similarity import unit_rows
from sfumato.trials.making import make_attack
from sfumato.trials.rows import AttackRow, row_of
from sfumato.trials.split import Split
from sfumato.types import Rows, Vectors

NAME = "structure"
QUESTION = "From which rows share a tag alone: do the terms stand in the text a row is taken for?"


def structure_row(split: Split, tags: Sequence[Sequence[str]], *, seed: int) -> AttackRow:
    """Lay the graph of the attacked rows over that of the attacker's own; names of tags are not compared.

    The control is the public text that shares most tags by name: what a rightly placed graph would show.
    """
    own = [split.texts[row] for row in split.learned]
    public, stolen = incidence(tags, split.learned), incidence(tags, split.attacked)
    reader = make_attack(NAME, {"seed": seed}, {}).fit(own, _used(public))
    found = reader.recover(_used(stolen)).rows
    shared = (unit_rows(stolen + 1e-9) @ unit_rows(public + 1e-9).T).argmax(axis=1)

    def hits(rows: Sequence[str]) -> list[Hits]:
        return [count_leaked(split.truth, rows)]

    return row_of(
        NAME,
        "text",
        QUESTION,
        control=hits([own[row] for row in shared.tolist()]),
        floor=[],
        floor_is="chance",
        prior=split.prior(),
        released=hits([str(row) for row in found]),
        how=split.resampling(),
        counts=False,
        note="It reads tags and no vector, so the verdict does not rest on it. Its control knows the tags' "
        "names.",
    )


def incidence(tags: Sequence[Sequence[str]], rows: Rows) -> Vectors:
    """`[n, tags]` how often each row has each tag."""
    names = sorted({tag for each in tags for tag in each})
    index = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(rows), len(names)), np.float32)
    for place, row in enumerate(rows.tolist()):
        for tag in tags[row]:
            table[place, index[tag]] += 1
    return table


def _used(table: Vectors) -> Vectors:
    """Only the tags that some row has."""
    return table[:, table.any(axis=0)]
