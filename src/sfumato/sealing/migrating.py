"""A collection that is there, in the clear, into a sealed one; with `clear`, its rows go when all are sealed.

The sealed collection is the record of what is done: a row that stands there the same in all is not sealed
again, so a killed run, run again, goes on. Nothing is deleted before every row was read back and compared,
and each row is compared once more when it is its turn to go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.errors import InputError, StoreError
from sfumato.sealing.client.contents import SealedRow
from sfumato.sealing.store import SealedStore
from sfumato.stores.base import Store
from sfumato.stores.provenance import without_provenance
from sfumato.stores.rows import TEXT_FIELD, Metadata, checked_fields
from sfumato.types import Vectors

_READ = 1024
_ROWS_AT_ONCE = 50_000
_CHARACTERS_AT_ONCE = 1 << 26
_SAMPLED = 64
_SAME = 0.999
"""The cosine from which a stored vector is taken for the encoder's own."""

OnRows = Callable[[int, int], object]
"""Called with how many rows were just sealed, and how many there are."""


@dataclass(frozen=True, slots=True)
class SealedMigration:
    """What a finished migration into a sealed collection did."""

    source: str
    target: str
    rows: int
    """Rows of the source that stand in the sealed collection, read back and compared."""
    sealed: int
    """Rows that this run sealed."""
    vectors_taken: bool
    """Whether stored vectors were taken over; otherwise texts were embedded."""
    sampled: int
    """Rows whose stored vector was compared with the encoder's."""
    cleared: int
    """Rows that were deleted in the source."""
    residue: str
    """What the source's product may still keep of them."""


@dataclass(frozen=True, slots=True)
class ClearRows:
    """The rows of a collection in the clear, as they are sealed."""

    source: Store
    text_field: str = TEXT_FIELD
    drop: Collection[str] = ()

    def ids(self) -> list[str]:
        """The ids of all rows, once each is seen to have a text and metadata that can be sealed."""
        found: list[str] = []
        for rows in self.source.batches(_READ):
            for name, metadata in zip(rows.ids, rows.metadata, strict=True):
                if not isinstance(metadata.get(self.text_field), str):
                    raise InputError(
                        f"Row {len(found)} of {self.source.label} has no text in `{self.text_field}`. Name "
                        "the field with --text-field, or delete the row."
                    )
                checked_fields(self._kept(metadata), f"Row {len(found)} of {self.source.label}")
                found.append(name)
        return found

    def read(self, ids: Sequence[str]) -> tuple[list[SealedRow], Vectors]:
        """Some rows with their vectors; those that are gone or lost their text meanwhile are left out."""
        rows = self.source.get(ids)
        fit = [at for at, each in enumerate(rows.metadata) if isinstance(each.get(self.text_field), str)]
        made = [
            SealedRow(rows.ids[at], rows.metadata[at][self.text_field], self._kept(rows.metadata[at]))
            for at in fit
        ]
        return made, rows.vectors[fit]

    def _kept(self, metadata: Metadata) -> Metadata:
        left = {self.text_field, *self.drop}
        return {
            name: value
            for name, value in without_provenance(metadata).items()
            if name not in left and value is not None
        }


def seal_collection(
    source: Store,
    target: SealedStore,
    encoder: Embedder | None,
    *,
    text_field: str | None = None,
    drop_fields: Collection[str] = (),
    clear: bool = False,
    on_rows: OnRows | None = None,
) -> SealedMigration:
    """Seal every row of `source` into `target`; run it again to go on after a kill.

    Args:
        source: the collection in the clear.
        target: the sealed collection, new or of an earlier run.
        encoder: what the sealed collection embeds texts with; None where vectors are always given.
        text_field: the metadata field that holds the text.
        drop_fields: metadata that is left behind.
        clear: whether rows are deleted in the source once all are sealed, read back and compared.
        on_rows: hears how many rows were sealed.
    """
    clean = ClearRows(source, text_field or TEXT_FIELD, drop_fields)
    ids = clean.ids()
    if not ids and not len(target):
        raise InputError(f"{source.label} holds no rows. There is nothing to seal.")
    sample = ids[:: max(1, len(ids) // _SAMPLED)][:_SAMPLED]
    taken = encoder is None or _encoders_own(clean, sample, encoder)
    sealed = 0
    for rows, vectors in _gathered(clean, ids):
        sealed += target.add(
            [row.id for row in rows],
            [row.text for row in rows],
            [row.metadata for row in rows],
            vectors if taken else None,
        )
        if on_rows is not None:
            on_rows(len(rows), len(ids))
    target.flush()
    compared = sum(len(_compared(clean, target, part)) for part in _parts(ids))
    cleared = sum(_clear(clean, target, part) for part in _parts(ids)) if clear else 0
    if clear:
        source.flush()
        source.forget()
    return SealedMigration(
        source.label,
        target.store.label,
        compared,
        sealed,
        taken,
        0 if encoder is None else len(sample),
        cleared,
        source.residue if cleared else "",
    )


def _encoders_own(clean: ClearRows, sample: list[str], encoder: Embedder) -> bool:
    """Whether stored vectors are those that the encoder gives, as far as a sample shows."""
    rows, vectors = clean.read(sample)
    if not rows or vectors.shape[1] != encoder.dim:
        return False
    own = np.asarray(encoder.embed([row.text for row in rows]), np.float64)
    lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(vectors, axis=1)
    cosines = np.vecdot(own, vectors.astype(np.float64)) / np.where(lengths > 0, lengths, 1.0)
    return bool((cosines >= _SAME).all())


def _gathered(clean: ClearRows, ids: list[str]) -> Iterator[tuple[list[SealedRow], Vectors]]:
    """Rows, as many at a time as memory bears: those that are sealed together cannot be told apart."""
    rows: list[SealedRow] = []
    vectors: list[Vectors] = []
    taken = 0
    for part in _parts(ids):
        found, own = clean.read(part)
        rows += found
        vectors.append(own)
        taken += sum(len(row.text) for row in found)
        if len(rows) >= _ROWS_AT_ONCE or taken >= _CHARACTERS_AT_ONCE:
            yield rows, np.concatenate(vectors)
            rows, vectors, taken = [], [], 0
    if rows:
        yield rows, np.concatenate(vectors)


def _parts(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _READ):
        yield ids[start : start + _READ]


def _compared(clean: ClearRows, target: SealedStore, ids: list[str]) -> list[str]:
    """Read rows back from the store and compare them; the ids of those that are still in the clear."""
    wanted, _ = clean.read(ids)
    found = {row.id: row for row in target.get([row.id for row in wanted])}
    if any(found.get(row.id) != row for row in wanted):
        raise StoreError(
            f"Rows of {clean.source.label} are not the same in {target.store.label}: they changed meanwhile. "
            "Run the migration again; nothing more was deleted."
        )
    return [row.id for row in wanted]


def _clear(clean: ClearRows, target: SealedStore, ids: list[str]) -> int:
    """Delete rows that stand sealed as they are this moment."""
    same = _compared(clean, target, ids)
    clean.source.delete(same)
    return len(same)
