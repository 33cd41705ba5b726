"""Where a release goes: a folder whose parts stay as they are, or one file that is joined from drafts.

Beside an output file `NAME` a folder `.NAME.parts` holds its plan and one draft a batch, which nobody else
reads; when all are there, they are joined into the output in one step, and go. A run that was refused its
input makes way for a corrected one.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sfumato.errors import InputError
from sfumato.files import atomic_file, require_place, write_atomic
from sfumato.protector import Protector
from sfumato.scale.places import LOCK, Disk, Folder, folder
from sfumato.scale.plan import OWN, PIECES, PLAN, Record, ReleasePart, ReleasePlan
from sfumato.scale.rows import common_schema
from sfumato.version import __version__

FORMATS = (".parquet", ".npy")
MANIFEST = "_manifest.json"
_REFUSED = f"{OWN}/refused"
_WINDOW = 1 << 20


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """What a finished release did."""

    output: str
    manifest: str
    rows: int
    matched: int | None
    """How many texts held a concept; None for vectors without texts."""
    parts: int
    """How many files were written."""
    resumed: int
    """How many of them an earlier run had finished."""
    resumed_rows: int
    """How many rows an earlier run had done."""


def digest(handle: Any) -> tuple[str, int]:
    """SHA-256 and size of what is left to read."""
    found, size = hashlib.sha256(), 0
    while block := handle.read(_WINDOW):
        found.update(block)
        size += len(block)
    return found.hexdigest(), size


class PartsFolder:
    """Parts published under their own names in a folder, with a manifest of them all."""

    def __init__(self, address: str) -> None:
        self._given = address
        self.place: Folder = folder(address)
        self.name = self.place.address

    def published(self, plan: ReleasePlan) -> list[ReleasePart]:
        """The parts of a plan whose file is there."""
        return [part for part in plan.parts if self.place.state(part.name) is not None]

    def abandon(self, plan: ReleasePlan) -> None:
        """Delete every trace of a run."""
        for part in plan.parts:
            self.place.remove(part.record)
            self.place.remove(part.name)
        for name in (MANIFEST, PLAN):
            self.place.remove(name)
        self.place.empty(PIECES)

    def makes_way(self, before: ReleasePlan, plan: ReleasePlan) -> bool:
        """What was published may have been read: it is never drawn again."""
        return False

    def refused(self) -> None:
        """Parts of other files stay valid, so there is nothing to note."""

    def prepare(self, plan: ReleasePlan, before: ReleasePlan | None) -> None:
        """Refuse files of others under the names of parts, and sweep up half-written ones."""
        taken = self.published(plan) if before is None else []
        if taken:
            raise InputError(f"{self.name} already holds {taken[0].name!r}, which no run of this job wrote.")
        parts = (*(before.parts if before is not None else ()), *plan.parts)
        self.place.sweep({PLAN, MANIFEST, *(name for part in parts for name in (part.name, part.record))})

    def close(self, plan: ReleasePlan, done: dict[str, Record], protector: Protector) -> str:
        """Write the manifest, last of all; return where it is."""
        records = [done[part.name] for part in plan.parts]
        rows, matched = counted(records)
        facts = {"rows": rows, "rows_with_a_concept": matched, "plan": plan.stamp, "parts": records}
        self.place.write(MANIFEST, _manifest({**promise(protector), **facts}))
        self.place.empty(PIECES)  # of parts that were published just before a kill
        return f"{self._given}/{MANIFEST}"


class OutputFile:
    """One file, joined from drafts beside it."""

    def __init__(self, output: Path) -> None:
        if output.suffix not in FORMATS:
            raise InputError(f"The output must end in {' or '.join(FORMATS)}. Found {output.name!r}.")
        self.path, self.name = output, output.name
        self.manifest = output.with_name(f"{output.name}.manifest.json")
        self.place = _Drafts(str(output.with_name(f".{output.name}.parts")))

    @staticmethod
    def draft(index: int, source: str, first_row: int = 0, rows: int | None = None) -> ReleasePart:
        """The part of a batch."""
        return ReleasePart(f"part-{index:08d}.parquet", source, (), first_row, rows)

    def published(self, plan: ReleasePlan) -> list[ReleasePart]:
        """The first drafts, up to one that is not there."""
        (source,) = plan.inputs or ("",)
        parts = (self.draft(index, source) for index in itertools.count())
        return list(itertools.takewhile(lambda part: self.place.state(part.name) is not None, parts))

    def abandon(self, plan: ReleasePlan) -> None:
        """Delete the drafts."""
        self.place.clear()

    def makes_way(self, before: ReleasePlan, plan: ReleasePlan) -> bool:
        """Whether the input was refused, and has been put right or is asked for other columns."""
        changed = before.differing(plan)
        same_file = before.inputs.keys() == plan.inputs.keys()
        refused = self.place.state(_REFUSED) is not None
        return refused and same_file and set() < changed <= {"inputs", "keep_columns"}

    def refused(self) -> None:
        """Note that an input was refused."""
        self.place.write(_REFUSED, b"")

    def prepare(self, plan: ReleasePlan, before: ReleasePlan | None) -> None:
        """Drafts without a plan are of no use."""
        if before is None:
            self.place.clear()

    def finished(self, plan: ReleasePlan) -> ReleaseSummary | None:
        """What an earlier run did, if it finished this plan and its output is still there."""
        if self.place.state(PLAN) is not None or not (self.path.is_file() and self.manifest.is_file()):
            return None
        facts: Any = None
        with suppress(ValueError):
            facts = json.loads(self.manifest.read_bytes())
        same = isinstance(facts, dict) and facts.get("plan") == plan.digest
        if not same or facts["output_bytes"] != self.path.stat().st_size:
            return None
        rows, matched = facts["rows"], facts["rows_with_a_concept"]
        return ReleaseSummary(str(self.path), str(self.manifest), rows, matched, 1, 1, rows)

    def close(self, plan: ReleasePlan, done: dict[str, Record], protector: Protector) -> str:
        """Join the drafts, write the manifest and delete the drafts; return where the manifest is."""
        drafts = [Path(self.place.address, name) for name in sorted(done)]
        with atomic_file(self.path) as handle:
            (_join_npy if self.path.suffix == ".npy" else _join_parquet)(handle, drafts)
        with open(self.path, "rb") as written:
            sha256, size = digest(written)
        rows, matched = counted(done.values())
        facts = {
            "output": self.name,
            "output_sha256": sha256,
            "output_bytes": size,
            "rows": rows,
            "rows_with_a_concept": matched,
            "plan": plan.digest,
        }
        write_atomic(self.manifest, _manifest({**facts, **promise(protector)}))
        self.place.clear()
        return str(self.manifest)


class _Drafts(Disk):
    """A hidden folder that is all ours."""

    def clear(self) -> None:
        """Delete everything but the lock."""
        root = Path(self.address)
        # Without its plan a folder is never resumed, so a kill in the middle of deleting does no harm.
        self.remove(PLAN)
        for path in sorted(root.rglob("*"), reverse=True):
            if path.is_dir():
                with suppress(OSError):  # the lock is in it
                    path.rmdir()
            elif path != root / LOCK:
                path.unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Refuse a second run, and take the folder away if nothing is left in it."""
        require_place(self.address)
        try:
            with super().alone():
                yield
        finally:
            with suppress(OSError):  # it is not empty
                Path(self.address).rmdir()


def _join_npy(handle: Any, drafts: Sequence[Path]) -> None:
    # One draft in memory at a time: mapping them all would let memory grow with the file.
    rows = sum(pq.read_metadata(path).num_rows for path in drafts)
    width = pq.read_schema(drafts[0]).field("embedding").type.list_size
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
    np.lib.format.write_array_header_2_0(handle, header)
    for path in drafts:
        for chunk in pq.read_table(path).column("embedding").chunks:
            handle.write(np.ascontiguousarray(chunk.flatten().to_numpy(), "<f4").tobytes())


def _join_parquet(handle: Any, drafts: Sequence[Path]) -> None:
    schema = common_schema(map(pq.read_schema, drafts))
    with pq.ParquetWriter(handle, schema) as writer:
        for path in drafts:
            table = pq.read_table(path).replace_schema_metadata(None)
            writer.write_table(table if table.schema.equals(schema) else table.cast(schema))


def counted(records: Iterable[Record]) -> tuple[int, int | None]:
    """Rows, and rows with a concept where they are known, of parts together."""
    found = [(record["rows"], record["rows_with_a_concept"]) for record in records]
    matched = [each for _, each in found]
    return sum(rows for rows, _ in found), None if None in matched else sum(matched)


def _manifest(facts: dict[str, Any]) -> bytes:
    return (json.dumps(facts, indent=2, allow_nan=False) + "\n").encode()


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
