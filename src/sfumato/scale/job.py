"""The plan of a folder's release: its parts, what is settled for all of them, and what is already done.

A part is one row group of an input file, or several small ones in a row. It becomes one output file, with a
record of it in `_sfumato/`. The output is there or it is not; when it is, the part is done.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import InputError
from sfumato.inputs import Batch
from sfumato.inputs.columns import as_batch
from sfumato.inputs.parquet import record_batches
from sfumato.scale.parts import differing, require_same
from sfumato.scale.places import Folder, folder
from sfumato.scale.recipe import Recipe

PART_ROWS = 1 << 16
OWN = "_sfumato"
PLAN = f"{OWN}/plan.json"
MANIFEST = "_manifest.json"
_OF_FILES = {"inputs", "parts"}
"""Settings of single files; all others are the same for every part."""


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


def cut(source: Folder, part_rows: int, columns: Collection[str] = ()) -> Iterator[Part]:
    """Cut every input file into parts of whole row groups, each of at least `part_rows` rows but the last.

    A file that lacks one of the `columns` is refused.
    """
    for name in input_files(source):
        try:
            with source.open(name) as handle:
                opened = pq.ParquetFile(handle)
                metadata, found = opened.metadata, opened.schema_arrow.names
                sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        except pa.ArrowException:
            raise InputError(f"`{name}` is not a Parquet file, or it is damaged. Make it again.") from None
        missing = next((column for column in columns if column not in found), None)
        if missing is not None:
            raise InputError(f"`{name}` has no column {missing!r}. It has: {', '.join(sorted(found))}.")
        groups: list[int] = []
        first = rows = number = 0
        for group, size in enumerate(sizes):
            groups.append(group)
            rows += size
            if rows and (rows >= part_rows or group == len(sizes) - 1):
                yield Part(f"{name[:-8]}-{number:05d}.parquet", name, tuple(groups), first, rows)
                groups, first, rows, number = [], first + rows, 0, number + 1


def settings(job: Job, source: Folder, parts: list[Part], noise_id: str | None) -> dict[str, Any]:
    """Everything that decides the output, ready for JSON."""
    inputs = {name: source.state(name) for name in sorted({part.source for part in parts})}
    return {
        "inputs": inputs,
        "protector": job.recipe.digest,
        "embedder": json.loads(dict(job.recipe.files)["config.json"]).get("embedder"),
        "keep_columns": list(job.keep_columns),
        "id_column": job.id_column,
        "part_rows": job.part_rows,
        "sticky": noise_id,
        "tenant": job.recipe.reference.tenant,
        "collection": job.recipe.reference.collection,
        "parts": [list(asdict(part).values()) for part in parts],
    }


def stamp(plan: dict[str, Any]) -> str:
    """A digest of what is settled for all parts: correcting one input leaves the parts of others valid."""
    common = {key: value for key, value in plan.items() if key not in _OF_FILES}
    return sha256(json.dumps(common, sort_keys=True).encode()).hexdigest()


def open_plan(job: Job, plan: dict[str, Any], parts: list[Part], restart: bool) -> None:
    """Begin or resume; refuse other settings and files of others, remove what killed runs left behind."""
    output = folder(job.output)
    before = _before(output)
    planned = [] if before is None else _planned(before)
    if before is not None and (restart or not published(output, planned)):
        abandon(output, planned)
        before = None
    if before is not None:
        fresh = json.loads(json.dumps(plan))
        if not _corrected(before, fresh, published(output, planned)):
            require_same(before, fresh, output.address)
    taken = published(output, parts) if before is None else []
    if taken:
        raise InputError(f"{output.address} already holds {taken[0].name!r}, which no run of this job wrote.")
    output.write(PLAN, json.dumps(plan, sort_keys=True).encode())
    names = (name for part in (*planned, *parts) for name in (part.name, part.record))
    output.sweep({PLAN, MANIFEST, *names})


def published(output: Folder, parts: Iterable[Part]) -> list[Part]:
    """The parts whose output is there."""
    return [part for part in parts if output.state(part.name) is not None]


def abandon(output: Folder, parts: Iterable[Part]) -> None:
    """Delete every trace of a run."""
    for part in parts:
        output.remove(part.record)
        output.remove(part.name)
    for name in (MANIFEST, PLAN):
        output.remove(name)


def _corrected(before: dict[str, Any], plan: dict[str, Any], done: list[Part]) -> bool:
    """Whether all that changed are input files of which nothing has been released, such as a refused one."""
    was, now = before["inputs"], plan["inputs"]
    changed = {name for name in now if was.get(name) != now[name]}
    same_files = was.keys() == now.keys() and differing(before, plan) <= _OF_FILES
    return same_files and not any(part.source in changed for part in done)


def _before(output: Folder) -> dict[str, Any] | None:
    """The plan of an earlier run, if there was one."""
    if output.state(PLAN) is None:
        return None
    with output.open(PLAN) as handle:
        return dict(json.loads(handle.read()))


def _planned(plan: dict[str, Any]) -> list[Part]:
    return [
        Part(name, source, tuple(groups), first, count)
        for name, source, groups, first, count in plan["parts"]
    ]
