"""Protecting a collection that is there: row by row into a new one, or in place.

A row's released vector and its mark are written in one step, and the mark says which protector released it.
So the collection itself is the record of what is done: a killed run, run again, goes on with the rows without
that mark, and no row is ever released from its own release: one that another protector, key or version
released is released anew from its text, or not at all. Nothing about the rows is written anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import InputError, ParameterError
from sfumato.metrics.similarity import pair_cosines
from sfumato.numbers import whole_number
from sfumato.protector import Protector
from sfumato.reference import Protected, open_protector
from sfumato.stores.base import Store, StoreError
from sfumato.stores.provenance import PROVENANCE, provenance_of
from sfumato.stores.rows import TEXT_FIELD, Metadata, Rows
from sfumato.stores.survey import Carried, Survey, survey, written
from sfumato.types import Vectors

BATCH = 512
_FLUSH_EVERY = 40
_SAMPLE, _FROM_EACH = 200, 4


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a finished migration did."""

    source: str
    target: str
    in_place: bool
    rows: int
    """Rows that carry the mark now."""
    released: int
    """Rows that this run released."""
    before: int
    """Rows that an earlier run had released."""
    vanished: int
    """Rows that were deleted by somebody else meanwhile."""
    sampled: int
    """Rows whose stored vector was compared with the clean and the released one."""
    from_texts: bool
    fields: tuple[str, ...]
    """Metadata that went along."""
    texts_left: int
    """Rows in place that still hold a text beside their vector."""
    residue: str
    """What the product may still keep of clean vectors."""
    mark: str


def migrate(
    source: Store,
    target: Store | None,
    protector: Protected,
    *,
    texts: bool = False,
    text_field: str | None = None,
    keep_fields: Collection[str] = (),
    drop_fields: Collection[str] = (),
    batch: int = BATCH,
    on_rows: Callable[[int, int], object] | None = None,
) -> Migrated:
    """Release every row of `source` into `target`, or in place; run it again to go on after a kill.

    Args:
        source: the collection with clean vectors.
        target: a new collection; None to protect in place.
        protector: what releases them, or where it is (`sfumato.reference`).
        texts: embed the texts in the collection anew, so that concepts found in them do not enter the vector.
        text_field: the metadata field that holds the text; it does not go along into a new collection.
        keep_fields: fields that go along though they hold long values, or a concept of the protector.
        drop_fields: fields that do not go along.
        batch: rows released and written at a time.
        on_rows: hears how many rows were done and how many there are.
    """
    batch, protector = whole_number(batch, "batch", 1, 100_000), open_protector(protector).protector
    mark, into = provenance_of(protector), source if target is None else target
    carried = Carried(text_field=text_field, keep=keep_fields, drop=drop_fields)
    _refuse_misfit(source, protector)
    found = survey(source, mark, carried, in_place=target is None, texts=texts, protector=protector)
    done = found.done if target is None else written(target, found, mark)
    say = on_rows or (lambda done, total: None)
    say(len(done), len(found.ids))
    work = _Work(source, target, protector, mark, carried, text_field or TEXT_FIELD if texts else None)
    waiting = [name for name in found.ids if name not in done]
    for number, start in enumerate(range(0, len(waiting), batch), 1):
        part = waiting[start : start + batch]
        work.run(part)
        if not into.durable and number % _FLUSH_EVERY == 0:
            into.flush()
        say(len(part), len(found.ids))
    into.flush()
    rows = _verify(into, found, work, mark)
    if target is None:
        into.forget()
    return Migrated(
        source=source.label,
        target=into.label,
        in_place=target is None,
        rows=rows,
        released=work.released,
        before=len(done),
        vanished=work.vanished,
        sampled=len(work.sample),
        from_texts=texts,
        fields=tuple(found.fields),
        texts_left=found.with_text if target is None else 0,
        residue=into.residue if target is None else "",
        mark=mark,
    )


def _refuse_misfit(source: Store, protector: Protector) -> None:
    if protector.dim is not None and source.dim is not None and protector.dim != source.dim:
        raise ParameterError(
            f"The protector is for dimension {protector.dim}, {source.label} has {source.dim}. "
            "Learn one for the encoder of this collection."
        )


class _Work:
    """One migration while it runs."""

    def __init__(
        self,
        source: Store,
        target: Store | None,
        protector: Protector,
        mark: str,
        carried: Carried,
        text_field: str | None,
    ) -> None:
        self.source, self.target, self.protector = source, target, protector
        self.mark, self.carried, self.text_field = mark, carried, text_field
        self.released = self.vanished = 0
        self.sample: list[tuple[str, Vectors, Vectors]] = []

    def run(self, ids: Sequence[str]) -> None:
        """Release some rows and write them with their mark."""
        rows = self.source.get(ids)
        self.vanished += len(ids) - len(rows)
        # Somebody else may have released a row in place since the survey.
        fresh = [row for row, metadata in enumerate(rows.metadata) if self._waits(metadata)]
        rows = Rows([rows.ids[r] for r in fresh], rows.vectors[fresh], [rows.metadata[r] for r in fresh])
        if not len(rows):
            return
        released = self._release(rows)
        if self.target is not None:
            fields = [self.carried.of(metadata) | {PROVENANCE: self.mark} for metadata in rows.metadata]
            self.target.add(rows.ids, released, fields)
        elif released.shape[1] != self.source.dim:
            raise ParameterError(
                f"The protector gives vectors of dimension {released.shape[1]}, {self.source.label} has "
                f"{self.source.dim}. Migrate into a new collection."
            )
        else:
            self.source.update(rows.ids, released, {PROVENANCE: self.mark})
        self.released += len(rows)
        if len(self.sample) < _SAMPLE:
            self.sample += list(zip(rows.ids, rows.vectors, released, strict=True))[:_FROM_EACH]

    def _waits(self, metadata: Metadata) -> bool:
        """Whether a row is still to be released: from its text also when its vector was released before."""
        if self.text_field is None:
            return PROVENANCE not in metadata
        return self.target is not None or metadata.get(PROVENANCE) != self.mark

    def _release(self, rows: Rows) -> Vectors:
        if self.text_field is not None:
            return self.protector.embed([metadata[self.text_field] for metadata in rows.metadata])
        vectors: Any = rows.vectors
        if self.source.metric == "cosine":
            # Only directions count there, and the noise is calibrated for unit vectors.
            wide = rows.vectors.astype(np.float64)
            vectors = wide / np.linalg.norm(wide, axis=1, keepdims=True)
        return self.protector.protect(vectors, units=rows.ids)


def _verify(into: Store, found: Survey, work: _Work, mark: str) -> int:
    """Count and compare what is in the collection now; return the number of its rows."""
    there = 0
    known = set(found.ids)
    for rows in into.batches(2048):
        for name, metadata in zip(rows.ids, rows.metadata, strict=True):
            there += name in known
            if name in known and metadata.get(PROVENANCE) != mark:
                raise StoreError(f"{into.label} holds a row without the mark. Run the migration again.")
    if there != len(known) - work.vanished:
        raise StoreError(
            f"{into.label} must hold {len(known) - work.vanished} rows. Found {there}. "
            "Run the migration again."
        )
    stored = into.get([name for name, _, _ in work.sample])
    vectors = dict(zip(stored.ids, stored.vectors, strict=True))
    for name, clean, released in work.sample:
        if name not in vectors:
            continue
        if pair_cosines([vectors[name]], [released])[0] < 0.999:
            raise StoreError(
                f"{into.label} holds a vector that is not the one released. Run the migration again."
            )
        same = clean.shape == vectors[name].shape and pair_cosines([vectors[name]], [clean])[0] > 1.0 - 1e-9
        if same and not work.protector.only_matching:
            raise InputError(
                f"Vectors in {into.label} are still the clean ones: the protector changes nothing. "
                "Use one with noise."
            )
    return there
