"""Every change of a sealed collection: alone with the state, in one transaction, then sent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from sfumato.errors import ArtifactError, InputError
from sfumato.sealing.cells.measuring import Oversampling
from sfumato.sealing.client.cells import FEW_ROWS, LearnedCells, relearn, without_trace
from sfumato.sealing.client.contents import SealedRow
from sfumato.sealing.client.session import SealedClient
from sfumato.sealing.client.writing import NewRows, OnRows, insert, marks_of, require_all, withdraw
from sfumato.sealing.erasure.shredding import ErasureRecord
from sfumato.types import Vectors

GROWTH = 2
"""Cells are learned anew when there are so many times as many rows as they were learned on."""


class RowWriter:
    """Puts rows into a collection and takes them out."""

    def __init__(self, client: SealedClient) -> None:
        self._client = client
        self.measured: Oversampling | None = None
        """How the number of probes was found, where this client learned the cells."""

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Be alone with a state that is the newest and owes nothing to an earlier client."""
        with self._client.state.file.alone():
            self._client.catch_up()
            self._client.refuse_stale()
            yield

    def fit(self, texts: list[str]) -> None:
        """Learn the cells from texts; only while there is no row."""
        state = self._client.state
        with self._alone():
            if state.settings.rows:
                raise InputError(
                    f"`fit` is for an empty collection. Found {state.settings.rows} rows: use `relearn`."
                )
            vectors = self._client.embed(texts)
            learned = self._client.handle.learn(texts, vectors)
            with state.file.changing():
                self._keep(learned, vectors)

    def write(
        self,
        rows: Sequence[SealedRow],
        vectors: Vectors | None,
        *,
        replace: bool = False,
        on_rows: OnRows | None = None,
    ) -> int:
        """Seal rows in the place of those with the same ids; return how many are new or changed."""
        state = self._client.state
        with self._alone():
            marks = marks_of(self._client.mark_key(), rows, vectors)
            before = state.find(row.id for row in rows)
            if replace:
                require_all([row.id for row in rows], before)
            changed = [
                at for at, row in enumerate(rows) if row.id not in before or before[row.id].mark != marks[at]
            ]
            if not changed:
                return 0
            fresh = [rows[at] for at in changed]
            texts = [row.text for row in fresh]
            own = self._client.embed(texts) if vectors is None else vectors[changed]
            learned, places = self._places(texts, own)
            with state.file.changing():
                if learned is not None:
                    self._keep(learned, own)
                withdraw(self._client, [before[row.id] for row in fresh if row.id in before])
                insert(self._client, NewRows(fresh, own, places, [marks[at] for at in changed]), on_rows)
                self._client.count_change()
            self._client.push()
            self._grow()
        return len(changed)

    def _places(
        self, texts: list[str], vectors: Vectors
    ) -> tuple[LearnedCells | None, list[set[tuple[int, int]]]]:
        """The cells that rows are filed under; the first rows make them."""
        if self._client.state.settings.probes:
            return None, self._client.handle.places(texts, vectors)
        learned = self._client.handle.learn(texts, vectors)
        return learned, learned.places

    def _keep(self, learned: LearnedCells, vectors: Vectors) -> None:
        state = self._client.state
        if learned.codebook is not None:
            state.save_codebook(learned.codebook)
        state.change(dim=vectors.shape[1], probes=learned.probes, learned=len(vectors))
        self.measured = learned.measured

    def _grow(self) -> None:
        """Learn anew what has grown; where rows are bad, the cells stay and a later change tries again."""
        settings = self._client.state.settings
        if settings.rows >= GROWTH * max(settings.learned, 1) and settings.rows > FEW_ROWS:
            with contextlib.suppress(ArtifactError):
                self.relearn()

    def relearn(self) -> None:
        """Learn the cells anew from all rows, into a new epoch."""
        with self._alone():
            learned = relearn(self._client)
            self.measured = self.measured if learned is None else learned.measured

    def delete(self, ids: list[str]) -> int:
        """Take rows out; return how many were there."""
        state = self._client.state
        with self._alone():
            members = list(state.find(ids).values())
            if members:
                with state.file.changing():
                    withdraw(self._client, members)
                    self._client.count_change()
                self._client.push()
        return len(members)

    def erase(self, ids: list[str]) -> ErasureRecord | None:
        """Take rows out and destroy their salts: first those, then the records."""
        state = self._client.state
        with self._alone():
            members = list(state.find(ids).values())
            if not members:
                return None
            with state.file.changing():
                without_trace(self._client, members)
                withdraw(self._client, members)
                state.left_cells(set())
                state.shred_later((each.number for each in members), now=True)
                self._client.count_change()
            return self._client.catch_up()
