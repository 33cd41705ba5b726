"""Rows that take long to embed, saved every few seconds: that is all a killed run loses.

A piece is some rows of a part that is not finished. Like a part it is whole or absent, and what is in one is
never drawn again. The pieces of a batch are put together when it is done, so that what is published has the
same bytes however it was cut.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.errors import ArtifactError, InputError
from sfumato.inputs import RowBatch
from sfumato.scale.places import Folder
from sfumato.scale.plan import PIECES, ReleasePart
from sfumato.scale.rows import as_table

SECONDS = 3.0
"""About how long the work in one piece takes."""
_FIRST = 16_384
"""Characters in the first piece, before anything is known of the speed."""
_EACH = 64
"""Characters that a text counts for beside its own."""
_META = b"sfumato"

Vectors = NDArray[np.float32]
Embedded = tuple[Vectors, int]
"""Released vectors, and how many of their texts held a concept."""


class Pace:
    """How many texts fill a piece, by how long the last ones took."""

    def __init__(self) -> None:
        self._room: float = _FIRST

    def fits(self, texts: Sequence[str], first: int) -> int:
        """Where a piece that starts at `first` ends; it has one text at least."""
        last, room = first + 1, self._room - _weight(texts[first])
        while last < len(texts) and (room := room - _weight(texts[last])) >= 0:
            last += 1
        return last

    def note(self, texts: Sequence[str], seconds: float) -> None:
        """Learn from texts that were done; no piece has more than four times as much as the last."""
        done = sum(map(_weight, texts))
        self._room = min(4.0 * max(done, _FIRST), done * SECONDS / max(seconds, 1e-6))


class PartPieces:
    """The pieces of one part.

    Args:
        place: where the parts are.
        part: the part that they are of.
        stamp: what tells the pieces of another run.
        pace: how large they are.
        on_rows: told how many rows were saved or found.
    """

    def __init__(
        self,
        place: Folder,
        part: ReleasePart,
        stamp: str,
        pace: Pace,
        on_rows: Callable[[int], object] | None = None,
    ) -> None:
        self._place, self._stamp, self._pace, self._tell = place, stamp, pace, on_rows
        self._folder = f"{PIECES}/{part.name}"
        self._any = False

    def released(self, batch: RowBatch, release: Callable[[RowBatch], Embedded]) -> Embedded:
        """Release a batch of texts: what pieces hold is taken from them, the rest is drawn."""
        assert batch.texts is not None
        found: list[Embedded] = []
        first = 0
        while first < len(batch):
            piece = self._read(batch.first_row + first)
            if piece is None:
                break
            found.append(piece)
            first += len(piece[0])
            self._told(len(piece[0]))
        if first > len(batch):
            raise ArtifactError(f"Parts below {self._folder} are not of this run. Use --restart.")
        while first < len(batch):
            last = self._pace.fits(batch.texts, first)
            begun = time.monotonic()
            found.append(_counted(batch.rows(first, last), release, whole=first == 0))
            self._pace.note(batch.texts[first:last], time.monotonic() - begun)
            if last < len(batch):  # the last one is published at once, with the others
                self._write(batch.first_row + first, found[-1])
            first = last
        if len(found) == 1:
            return found[0]
        return np.concatenate([vectors for vectors, _ in found]), sum(matched for _, matched in found)

    def clear(self) -> None:
        """Delete them: the part has been published."""
        if self._any:
            self._place.empty(self._folder)

    def _name(self, row: int) -> str:
        return f"{self._folder}/{row:012d}.parquet"

    def _read(self, row: int) -> Embedded | None:
        if self._place.state(self._name(row)) is None:
            return None
        self._any = True
        with self._place.open(self._name(row)) as handle, closing(pq.ParquetFile(handle)) as opened:
            facts = json.loads((opened.metadata.metadata or {}).get(_META, b"{}"))
            column = opened.read().column("embedding").combine_chunks()
        if facts.get("stamp") != self._stamp:
            raise ArtifactError(f"{self._name(row)} is not of this run. Use --restart.")
        vectors = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
        return vectors.astype(np.float32), int(facts["rows_with_a_concept"])

    def _write(self, row: int, piece: Embedded) -> None:
        vectors, matched = piece
        self._any = True
        facts = {"stamp": self._stamp, "rows_with_a_concept": matched}
        table = as_table(vectors, {})
        with (
            self._place.new(self._name(row)) as handle,
            pq.ParquetWriter(handle, table.schema, compression="none", use_dictionary=False) as writer,
        ):
            writer.write_table(table)
            writer.add_key_value_metadata({_META: json.dumps(facts).encode()})
        self._told(len(vectors))

    def _told(self, rows: int) -> None:
        if self._tell is not None:
            self._tell(rows)


def _weight(text: str) -> int:
    return len(text) + _EACH


def _counted(batch: RowBatch, release: Callable[[RowBatch], Embedded], *, whole: bool) -> Embedded:
    """Release some rows of a batch; an error says from where it counts."""
    try:
        return release(batch)
    except InputError as error:
        if whole or isinstance(error, ArtifactError):
            raise
        raise InputError(f"Counting rows from row {batch.first_row}: {error}") from None
