"""The plan of a folder's release: its parts, what is settled for all of them, and what is already done.

A part is one row group of an input file, or several small ones in a row. It becomes one output file, with a
record of it in `_sfumato/`. The output is there or it is not; when it is, the part is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import InputError
from sfumato.inputs import Batch
from sfumato.inputs.columns import as_batch
from sfumato.inputs.parquet import record_batches
from sfumato.scale.parts import require_same
from sfumato.scale.places import Folder, folder
from sfumato.scale.recipe import Recipe

PART_ROWS = 1 << 16
OWN = "_sfumato"
PLAN = f"{OWN}/plan.json"
MANIFEST = "_manifest.json"


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive row groups of one input file, released into one output file."""

    name: str
    source: str
    groups: tuple[int, ...]
    first_row: int
    rows: int

    @property
    def record(self) -> str:
        """Where the part is described once it is done."""
        return f"{OWN}/{self.name}.json"


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker has to know."""

    source: str
    output: str
    recipe: Recipe
    keep_columns: tuple[str, ...] = ()
    id_column: str | None = None
    part_rows: int = PART_ROWS
    stamp: str = ""
    """A digest of the plan: written into every output, so that those of another run are told apart."""


def input_files(source: Folder) -> list[str]:
    """The Parquet files of a folder, in order."""
    found = [name for name in source.names() if name.lower().endswith(".parquet")]
    if not found:
        raise InputError(f"{source.address} holds no .parquet files. Check the address.")
    return found


def row_count(source: Folder) -> int:
    """How many rows the input files have, by their footers."""
    return sum(part.rows for part in cut(source, PART_ROWS))


def first_rows(source: Folder, rows: int) -> Batch:
    """The first rows of the first file that has any."""
    for name in input_files(source):
        with source.open(name) as handle:
            opened = pq.ParquetFile(handle)
            columns = [each for each in ("text", "spans", "embedding") if each in opened.schema_arrow.names]
            for batch in record_batches(name, handle, opened, rows, range(opened.num_row_groups), columns):
                return as_batch(name, batch, 0)
    raise InputError(f"{source.address} has no rows. Nothing was released.")


def cut(source: Folder, part_rows: int) -> Iterator[Part]:
    """Cut every input file into parts of whole row groups, each of at least `part_rows` rows but the last."""
    for name in input_files(source):
        try:
            with source.open(name) as handle:
                metadata = pq.ParquetFile(handle).metadata
                sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        except pa.ArrowException:
            raise InputError(f"`{name}` is not a Parquet file, or it is damaged. Make it again.") from None
        groups: list[int] = []
        first = rows = number = 0
        for group, size in enumerate(sizes):
            groups.append(group)
            rows += size
            if rows and (rows >= part_rows or group == len(sizes) - 1):
                yield Part(f"{name[:-8]}-{number:05d}.parquet", name, tuple(groups), first, rows)
                groups, first, rows, number = [], first + rows, 0, number + 1


def settings(job: Job, source: Folder, parts: list[Part], key_id: str | None) -> dict[str, Any]:
    """Everything that decides the output, ready for JSON."""
    inputs = {name: source.state(name) for name in sorted({part.source for part in parts})}
    return {
        "inputs": inputs,
        "protector": job.recipe.digest,
        "embedder": json.loads(dict(job.recipe.files)["config.json"]).get("embedder"),
        "keep_columns": list(job.keep_columns),
        "id_column": job.id_column,
        "part_rows": job.part_rows,
        "sticky": key_id,
        "tenant": job.recipe.tenant,
        "collection": job.recipe.collection,
        "parts": [list(asdict(part).values()) for part in parts],
    }


def stamp(plan: dict[str, Any]) -> str:
    """A digest of a plan."""
    return sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def open_plan(job: Job, plan: dict[str, Any], parts: list[Part], restart: bool) -> None:
    """Begin or resume; refuse other settings and files of others, remove what killed runs left behind."""
    output = folder(job.output)
    started = output.state(PLAN) is not None
    if started and restart:
        for part in _planned(output):
            output.remove(part.record)
            output.remove(part.name)
        for name in (MANIFEST, PLAN):
            output.remove(name)
        started = False
    if started:
        with output.open(PLAN) as handle:
            require_same(json.loads(handle.read()), json.loads(json.dumps(plan)), output.address)
    else:
        taken = next((part.name for part in parts if output.state(part.name) is not None), None)
        if taken is not None:
            raise InputError(f"{output.address} already holds {taken!r}, which no run of this job wrote.")
        output.write(PLAN, json.dumps(plan, sort_keys=True).encode())
    output.sweep({PLAN, MANIFEST, *(name for part in parts for name in (part.name, part.record))})


def _planned(output: Folder) -> list[Part]:
    with output.open(PLAN) as handle:
        rows = json.loads(handle.read())["parts"]
    return [Part(name, source, tuple(groups), first, count) for name, source, groups, first, count in rows]
