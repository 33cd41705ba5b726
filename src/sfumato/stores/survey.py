"""A look at a collection before it is migrated: what there is, what is done, and what must not go along."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, field

from sfumato.errors import InputError
from sfumato.protector import Protector
from sfumato.stores.base import Store
from sfumato.stores.metadata import MetadataWarning, refuse_sensitive, sensitive_field
from sfumato.stores.provenance import PROVENANCE, without_provenance
from sfumato.stores.rows import TEXT_FIELD, Metadata, checked_fields

LONG = 200
"""A field with a longer value may be the text itself, and is not taken along unless it is named."""
_AT_ONCE = 2048
_WAY_OUT = "Leave it out with --drop-field, or take it along with --keep-field."


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Which metadata goes along into a new collection."""

    text_field: str | None = None
    keep: Collection[str] = ()
    """Fields that go along though they hold long values, the text among them if it is named."""
    drop: Collection[str] = ()

    def of(self, metadata: Metadata) -> Metadata:
        """The part of a row's metadata that goes along."""
        left = {TEXT_FIELD, self.text_field, *self.drop} - set(self.keep)
        return {name: value for name, value in without_provenance(metadata).items() if name not in left}


@dataclass(slots=True)
class Survey:
    """What a collection holds."""

    ids: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    """Rows that carry the mark already."""
    fields: dict[str, None] = field(default_factory=dict)
    """Names of metadata that goes along."""
    with_text: int = 0
    stays: str = ""
    """What is left in metadata of a collection that is protected in place."""


def survey(
    source: Store, mark: str, carried: Carried, *, in_place: bool, texts: bool, protector: Protector
) -> Survey:
    """Look at every row and refuse what cannot be migrated, before anything is written."""
    found = Survey()
    for rows in source.batches(_AT_ONCE):
        first = len(found.ids)
        for name, metadata in zip(rows.ids, rows.metadata, strict=True):
            row = len(found.ids)
            found.ids.append(name)
            text = metadata.get(carried.text_field or TEXT_FIELD)
            found.with_text += isinstance(text, str) and text != ""
            if in_place and metadata.get(PROVENANCE) == mark:
                found.done.add(name)
            else:
                _refuse_unfit(source, carried, metadata, mark, row, texts)
        going = [carried.of(metadata) for metadata in rows.metadata]
        if not in_place:
            for row, metadata in enumerate(rows.metadata, first):
                _look(found, source, carried, metadata, row)
            refuse_sensitive(protector, going, carried.keep, first=first, way_out=_WAY_OUT)
        elif not found.stays:
            found.stays = sensitive_field(protector, going, carried.keep, first=first) or ""
    if found.stays:
        warnings.warn(f"{found.stays} It stays as it is.", MetadataWarning, stacklevel=3)
    if not found.ids:
        raise InputError(f"{source.label} holds no rows. There is nothing to protect.")
    return found


def _refuse_unfit(
    source: Store, carried: Carried, metadata: Metadata, mark: str, row: int, texts: bool
) -> None:
    """Refuse a row that has neither a clean vector nor, where texts are embedded anew, a text."""
    field_name = carried.text_field or TEXT_FIELD
    if texts and not isinstance(metadata.get(field_name), str):
        raise InputError(f"Row {row} of {source.label} has no text in `{field_name}`. Fill it or delete it.")
    if PROVENANCE in metadata and not texts:
        which = "this" if metadata[PROVENANCE] == mark else "another"
        raise InputError(
            f"Row {row} of {source.label} was released by {which} protector, key or version. A release "
            "is not released again: start from the clean vectors, or from the texts with --texts."
        )


def _look(found: Survey, source: Store, carried: Carried, metadata: Metadata, row: int) -> None:
    going = checked_fields(carried.of(metadata), f"Row {row} of {source.label}")
    for name, value in going.items():
        found.fields[name] = None
        if isinstance(value, str) and len(value) > LONG and name not in carried.keep:
            raise InputError(
                f"The field `{name}` of {source.label} holds values of more than {LONG} characters, which "
                "may be the text itself. Leave it out with --drop-field, or take it along with --keep-field."
            )


def written(target: Store, source: Survey, mark: str) -> set[str]:
    """The rows an earlier run has put into the target, which may hold nothing else."""
    known = set(source.ids)
    found: set[str] = set()
    for rows in target.batches(_AT_ONCE):
        for name, metadata in zip(rows.ids, rows.metadata, strict=True):
            if name not in known or metadata.get(PROVENANCE) != mark:
                raise InputError(
                    f"{target.label} must be new, or hold what an earlier run of this migration wrote. "
                    "Found another row in it. Name a new collection."
                )
            found.add(name)
    return found
