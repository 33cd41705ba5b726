"""Release a whole file: read, embed, protect and write batch by batch, with flat memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.files import write_atomic
from sfumato.inputs import Batch, read
from sfumato.protector import Protector
from sfumato.scale.parts import Parts, identity
from sfumato.scale.rows import places, release
from sfumato.version import __version__

BATCH_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Released:
    """What a finished job did."""

    output: Path
    manifest: Path
    rows: int
    matched: int | None
    """How many texts held a concept; None for vectors without texts."""
    resumed_at: int
    """The row a killed job went on from; 0 for one that ran through."""


def release_file(
    source: Path,
    output: Path,
    protector: Protector,
    *,
    keep_columns: Sequence[str] = (),
    restart: bool = False,
    batch_rows: int = BATCH_ROWS,
    on_rows: Callable[[int], object] | None = None,
) -> Released:
    """Protect every row of `source` into `output`; a killed job goes on where it stopped when run again."""
    parts = Parts(output)
    if keep_columns and parts.format == ".npy":
        raise InputError("A .npy file has no columns to keep. Write to a .parquet file.")
    plan = {
        **identity(source),
        "protector": protector.settings_digest(),
        "batch_rows": batch_rows,
        "keep_columns": list(keep_columns),
        "sticky": protector.noise_id,
        "tenant": protector.tenant,
        "collection": protector.collection,
    }
    done = parts.open(plan, restart=restart)
    counts = _Counts(parts.folder / "counts.json", done)
    index, start = done, parts.rows(done)
    if on_rows is not None and start:
        on_rows(start)
    with parts.tidy():
        for batch in read(source, batch=batch_rows, start=start):
            known = places(source.name, batch.first_row, len(batch)) if batch.texts is None else None
            kept = _columns(batch, keep_columns, first=index == 0)
            released, matched = release(batch, protector, known)
            parts.write(index, released, kept)
            counts.add(index, len(released), matched)
            index += 1
            if on_rows is not None:
                on_rows(len(released))
        rows = parts.join(index)
    manifest = _write_manifest(output, protector, rows, counts.matched())
    parts.remove()
    return Released(output, manifest, rows, counts.matched(), start)


def _columns(batch: Batch, wanted: Sequence[str], *, first: bool) -> dict[str, list[Any]]:
    """The columns to keep: the first rows must have them, later ones may lack what only some objects have."""
    known = dict(batch.columns)
    if batch.texts is not None:
        known["text"] = batch.texts
    missing = [name for name in wanted if name not in known]
    if missing and first:
        raise InputError(
            f"The input has no column {missing[0]!r}. It has: {', '.join(sorted(known)) or 'none'}."
        )
    return {name: list(known.get(name, [None] * len(batch))) for name in wanted}


class _Counts:
    """How many rows of each part held a concept; kept beside the parts so that a resumed job knows."""

    def __init__(self, path: Path, done: int) -> None:
        self._path = path
        stored = json.loads(path.read_text()) if path.exists() else {}
        # A part may have been written just before a kill and its count not: it is then unknown.
        self._known: dict[str, list[int | None]] = {k: v for k, v in stored.items() if int(k) < done}
        self._parts = done

    def add(self, index: int, rows: int, matched: int | None) -> None:
        self._known[str(index)] = [rows, matched]
        self._parts = index + 1
        write_atomic(self._path, json.dumps(self._known).encode())

    def matched(self) -> int | None:
        found = [value[1] for value in self._known.values()]
        if len(found) < self._parts:
            return None
        known = [value for value in found if value is not None]
        return sum(known) if len(known) == len(found) else None


def _write_manifest(output: Path, protector: Protector, rows: int, matched: int | None) -> Path:
    digest = hashlib.sha256()
    with open(output, "rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    manifest = {
        "output": output.name,
        "output_sha256": digest.hexdigest(),
        "rows": rows,
        "rows_with_a_concept": matched,
        **promise(protector),
    }
    path = output.with_name(output.name + ".manifest.json")
    write_atomic(path, (json.dumps(manifest, indent=2, allow_nan=False) + "\n").encode())
    return path


def promise(protector: Protector) -> dict[str, Any]:
    """What a manifest says of the protector: what it is, what it promises and how it was learned."""
    return {
        "sfumato": __version__,
        "mechanism": protector.mechanism.name,
        "parameters": protector.mechanism.parameters(),
        "mechanism_fingerprint": protector.mechanism.fingerprint().hex(),
        "guarantee": protector.guarantee.to_dict(),
        "guarantee_in_words": protector.guarantee.describe(),
        "noise_ratio": protector.mechanism.noise_ratio(protector.dim) if protector.dim else None,
        "protector": protector.settings_digest(),
        "concepts": [concept.name for concept in protector.concepts],
        "sticky_key_id": None if protector.secret is None else protector.secret.key_id,
        "encoder": protector.learned.model_id,
        "learned": protector.learned.to_dict(),
    }
