"""Cells of a sealed collection: learned on its first rows, anew when it has grown, and without those erased.

Learning anew is a new epoch: every record gets another id and is sealed again, and all are written in the
order of their ids, so that no record can be followed from one epoch to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.cells.filing import MOST_UNITS, Filed, filed
from sfumato.sealing.cells.measuring import Oversampling
from sfumato.sealing.cells.own_searches import fewest_own
from sfumato.sealing.client.session import SealedClient
from sfumato.sealing.client.writing import NewRows, file_rows, record_ids
from sfumato.sealing.members import Member, SealedSettings
from sfumato.sealing.state import CellKey
from sfumato.types import Vectors

FEW_ROWS = 64
"""So few rows, or fewer, share one cell: a query looks at all of them."""
MOST_LEARNED = 2_000_000
"""Vectors that cells are learned on, at most: rows that cells were not learned on are found far worse."""
DOING = "Learning cells anew"
_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class LearnedCells:
    """Cells, where some rows are filed in them, and how many of them a query asks for."""

    codebook: Codebook | None
    """None where the store ranks, and there are no cells."""
    places: list[set[CellKey]]
    probes: int
    """Or how many candidates, where the store ranks."""
    measured: Oversampling | None = None
    """How `probes` were found, where they were measured."""


@dataclass(frozen=True, slots=True)
class Learning:
    """How cells are made.

    Args:
        tables: how many ways to cut the space.
        probes: how many cells of each table a query asks for; None measures how many it takes.
        keep: what of clean search that is to keep.
        most_units: sentences of a row that it is filed under beside itself, at most.
    """

    tables: int = 1
    probes: int | None = None
    keep: str = "recall@10=0.99"
    most_units: int = MOST_UNITS

    @classmethod
    def of(cls, settings: SealedSettings) -> Learning:
        """How the cells of a collection are made."""
        return cls(settings.tables, settings.asked_probes or None, settings.keep, settings.units)

    def filed(self, client: SealedClient, texts: Sequence[str], vectors: Vectors) -> Filed:
        """The vectors that rows are filed by."""
        encoder = client.encoder() if self.most_units else None
        if encoder is None:
            return Filed(unit(vectors), np.arange(len(vectors)), len(vectors))
        return filed(texts, vectors, encoder, most=self.most_units)

    def learn(self, rows: Filed, own: Vectors, record_bytes: int) -> LearnedCells:
        """Cells for rows like these; few rows share one."""
        if rows.count <= FEW_ROWS:
            codebook = Codebook([unit(rows.vectors.mean(axis=0, keepdims=True))] * self.tables)
            return LearnedCells(codebook, rows.places(codebook), self.probes or 1)
        step = -(-len(rows.vectors) // MOST_LEARNED)
        codebook = Codebook.learn(rows.vectors[::step], tables=self.tables)
        places = rows.places(codebook)
        if self.probes is not None:
            return LearnedCells(codebook, places, self.probes)
        found = fewest_own(own, rows, places, codebook, self.keep, record_bytes=record_bytes)
        return LearnedCells(codebook, places, found.probes, found)


def relearn(client: SealedClient) -> LearnedCells | None:
    """Learn the cells anew from the rows that are there, and file them all again in a new epoch."""
    kept = list(client.rows(_AT_ONCE, DOING))
    if not kept:
        return None
    vectors = np.concatenate([each[1] for each in kept])
    learned = client.handle.learn([row.text for each, _ in kept for row in each], vectors)
    del kept
    with client.state.file.changing():
        _move(client, learned, vectors)
        client.count_change()
    client.push()
    return learned


def _move(client: SealedClient, learned: LearnedCells, vectors: Vectors) -> None:
    """Seal every row again for a new epoch; the old epoch's records go when the new ones have come."""
    state = client.state
    old = state.settings
    state.clear_lists()
    state.left_cells(set())
    if learned.codebook is not None:
        state.save_codebook(learned.codebook)
    done = 0
    for members in state.walk(_AT_ONCE):
        state.change(epoch=old.epoch)
        found = client.texts([each.number for each in members])
        client.refuse_bad(
            (each.number for each, row in zip(members, found, strict=True) if row is None), DOING
        )
        rows = [row for row in found if row is not None]
        client.outbox.remove(record_ids(client, members))
        state.change(epoch=old.epoch + 1)
        stop = done + len(members)
        new = NewRows(rows, vectors[done:stop], learned.places[done:stop], [each.mark for each in members])
        file_rows(client, new, [each.number for each in members])
        done = stop
    options = client.handle.renewed(old.options)
    state.change(epoch=old.epoch + 1, probes=learned.probes, learned=old.rows, options=options)


def without_trace(client: SealedClient, gone: Sequence[Member]) -> None:
    """Have the cells say nothing of rows that go, nor of those that went before; before they are withdrawn.

    A centroid of few rows is nearly a vector. It becomes the mean of what else is filed there, or, where
    there is nothing else, the same as another cell's.
    """
    state, codebook = client.state, client.state.codebook()
    if codebook is None:
        return
    every = {(table, cell) for each in gone for table, cell, _ in each.places} | state.cells_left()
    cells = {each for each in every if each[0] < codebook.tables}
    if not cells:
        return
    numbers = {each.number for each in gone}
    others = {row for each in state.lists(cells).values() for row in each.rows.values()} - numbers
    members = list(state.members(sorted(others)).values())
    vectors, bad = client.vectors(members)
    rows = client.texts([each.number for each in members])
    good = [at for at, row in enumerate(rows) if row is not None and members[at].number not in bad]
    texts = [row.text for at in good if (row := rows[at]) is not None]
    by = Learning.of(state.settings).filed(client, texts, vectors[good]) if good else None
    state.save_codebook(_replaced(codebook, cells, by))


def _replaced(codebook: Codebook, cells: set[CellKey], by: Filed | None) -> Codebook:
    assigned = None if by is None else codebook.assign(by.vectors)
    rng = generator()
    made = []
    for table, centroids in enumerate(codebook.centroids):
        changed = sorted(cell for at, cell in cells if at == table)
        kept = np.setdiff1d(np.arange(len(centroids)), changed)
        for cell in changed:
            inside = [] if by is None or assigned is None else by.vectors[assigned[:, table] == cell]
            if len(inside):
                centroids[cell] = np.mean(inside, axis=0)
            else:
                centroids[cell] = centroids[rng.choice(kept)] if len(kept) else 0.0
        made.append(centroids)
    return Codebook(made)
