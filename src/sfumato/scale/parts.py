"""A release on disk in parts: each part is whole or absent, and a killed job goes on where it stopped.

Beside the output `NAME` a folder `.NAME.parts` holds `plan.json`, which says what is being released and how,
and one file a batch. When all parts are there they are joined into the output in one step. A run that ends
before its first part leaves nothing, and one that was refused its input makes way for a corrected one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.errors import ArtifactError, InputError
from sfumato.files import atomic_file, require_place, write_atomic
from sfumato.scale.rows import as_table

FORMATS = (".parquet", ".npy")
_PLAN, _REFUSED = "plan.json", "refused"
_CORRECTED = {"input_bytes", "input_modified", "keep_columns"}
"""Settings that differ once a refused input has been put right."""


def output_format(path: Path) -> str:
    """Return the format of an output file by its ending."""
    if path.suffix not in FORMATS:
        raise InputError(f"The output must end in {' or '.join(FORMATS)}. Found {path.name!r}.")
    return path.suffix


class Parts:
    """The parts of one output."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.format = output_format(output)
        self.folder = output.with_name(f".{output.name}.parts")
        self._plan: dict[str, Any] = {}

    def open(self, plan: dict[str, Any], *, restart: bool = False) -> int:
        """Start or resume a job, without writing anything yet; return how many parts are done."""
        require_place(self.output)
        self._plan = plan
        seal = self.folder / _PLAN
        if restart or not seal.exists() or not self._done():
            self.remove()
            return 0
        before = json.loads(seal.read_text())
        # A release that was refused its input can never be finished as it was begun.
        if (self.folder / _REFUSED).exists() and set() < differing(before, plan) <= _CORRECTED:
            self.remove()
            return 0
        require_same(before, plan, self.output.name)
        return self._done()

    def rows(self, count: int) -> int:
        """How many rows the first `count` parts hold: a batch may be smaller than was asked for."""
        return sum(self._rows(index) for index in range(count))

    def _rows(self, index: int) -> int:
        if self.format == ".npy":
            return len(np.load(self._path(index), mmap_mode="r", allow_pickle=False))
        return int(pq.read_metadata(self._path(index)).num_rows)

    @contextmanager
    def tidy(self) -> Iterator[None]:
        """Keep what is worth resuming when the block fails, and nothing else."""
        try:
            yield
        except BaseException as error:
            if not self._done():
                self.remove()
            elif isinstance(error, InputError) and not isinstance(error, ArtifactError):
                write_atomic(self.folder / _REFUSED, b"")
            raise

    def _done(self) -> int:
        done = 0
        while self._path(done).exists():
            done += 1
        return done

    def _path(self, index: int) -> Path:
        return self.folder / f"part-{index:08d}{self.format}"

    def write(self, index: int, vectors: NDArray[np.float32], columns: dict[str, list[Any]]) -> None:
        """Write one part whole; the plan goes before the first."""
        table = None
        if self.format != ".npy":
            table = as_table(vectors, {name: _array(name, values) for name, values in columns.items()})
            if index:
                _common(pq.read_schema(self._path(0)), table.schema)
        if not self.folder.exists():
            self.folder.mkdir()
            write_atomic(self.folder / _PLAN, json.dumps(self._plan, sort_keys=True, indent=2).encode())
        with atomic_file(self._path(index)) as handle:
            if table is None:
                np.lib.format.write_array(handle, np.ascontiguousarray(vectors), allow_pickle=False)
            else:
                pq.write_table(table, handle)

    def join(self, count: int) -> int:
        """Write the output from all parts in one step; return its number of rows."""
        with atomic_file(self.output) as handle:
            return (
                self._join_npy(handle, count) if self.format == ".npy" else self._join_parquet(handle, count)
            )

    def _join_npy(self, handle: Any, count: int) -> int:
        # One part in memory at a time: mapping them all would let memory grow with the file.
        shapes: list[tuple[int, ...]] = [
            np.load(self._path(index), mmap_mode="r", allow_pickle=False).shape for index in range(count)
        ]
        rows = sum(shape[0] for shape in shapes)
        width = shapes[0][1] if shapes else 0
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
        np.lib.format.write_array_header_2_0(handle, header)
        for index in range(count):
            part = np.load(self._path(index), allow_pickle=False)
            handle.write(np.ascontiguousarray(part, "<f4").tobytes())
        return rows

    def _join_parquet(self, handle: Any, count: int) -> int:
        rows = 0
        schema = _common(*(pq.read_schema(self._path(index)) for index in range(count)))
        with pq.ParquetWriter(handle, schema) as writer:
            for index in range(count):
                table = pq.read_table(self._path(index))
                writer.write_table(table if table.schema.equals(schema) else table.cast(schema))
                rows += table.num_rows
        return rows

    def remove(self) -> None:
        """Delete the parts."""
        if self.folder.exists():
            # Without its plan a folder is never resumed, so a kill in the middle of deleting does no harm.
            (self.folder / _PLAN).unlink(missing_ok=True)
            shutil.rmtree(self.folder)


def _array(name: str, values: list[Any]) -> Any:
    """A column of one type, or a refusal; what it holds is never shown."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        raise InputError(_mixed(f"The column {name!r}")) from None


def _common(*schemas: Any) -> Any:
    """The schema that holds the columns of every part: rows of some may lack a value in all of a column."""
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException:
        raise InputError(_mixed("A column")) from None


def _mixed(column: str) -> str:
    return f"{column} to keep holds values that do not go together. Give it one type, or leave it out."


def differing(before: dict[str, Any], plan: dict[str, Any]) -> set[str]:
    """The settings in which two plans are not the same."""
    return {key for key in {*before, *plan} if before.get(key) != plan.get(key)}


def require_same(before: dict[str, Any], plan: dict[str, Any], output: str) -> None:
    """Refuse to go on with other settings than a release was begun with."""
    changed = differing(before, plan)
    if changed:
        raise InputError(
            f"An unfinished release to {output} has other settings ({', '.join(sorted(changed))}). "
            "Finish it with those, or start again with --restart."
        )


def identity(path: Path) -> dict[str, Any]:
    """What tells an input file from another without reading it."""
    stat = os.stat(path)
    return {"input": path.name, "input_bytes": stat.st_size, "input_modified": stat.st_mtime_ns}
