"""A release on disk in parts: each part is whole or absent, and a killed job goes on where it stopped.

Beside the output `NAME` a folder `.NAME.parts` holds `plan.json`, which says what is being released and how,
and one file a batch. When all parts are there they are joined into the output in one step.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.files import atomic_file, write_atomic
from sfumato.scale.rows import as_table

FORMATS = (".parquet", ".npy")


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

    def open(self, plan: dict[str, Any], *, restart: bool = False) -> int:
        """Start or resume a job; return how many parts are done."""
        if restart:
            self.remove()
        seal = self.folder / "plan.json"
        if not seal.exists():
            self.remove()
            self.folder.mkdir(parents=True)
            write_atomic(seal, json.dumps(plan, sort_keys=True, indent=2).encode())
            return 0
        require_same(json.loads(seal.read_text()), plan, self.output.name)
        done = 0
        while self._path(done).exists():
            done += 1
        return done

    def _path(self, index: int) -> Path:
        return self.folder / f"part-{index:08d}{self.format}"

    def write(self, index: int, vectors: NDArray[np.float32], columns: dict[str, list[Any]]) -> None:
        """Write one part whole."""
        with atomic_file(self._path(index)) as handle:
            if self.format == ".npy":
                np.lib.format.write_array(handle, np.ascontiguousarray(vectors), allow_pickle=False)
            else:
                pq.write_table(as_table(vectors, {k: pa.array(v) for k, v in columns.items()}), handle)

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
        rows, writer = 0, None
        try:
            for index in range(count):
                table = pq.read_table(self._path(index))
                writer = writer or pq.ParquetWriter(handle, table.schema)
                writer.write_table(table)
                rows += table.num_rows
        finally:
            if writer is not None:
                writer.close()
        return rows

    def remove(self) -> None:
        """Delete the parts."""
        if self.folder.exists():
            # Without its plan a folder is never resumed, so a kill in the middle of deleting does no harm.
            (self.folder / "plan.json").unlink(missing_ok=True)
            shutil.rmtree(self.folder)


def require_same(before: dict[str, Any], plan: dict[str, Any], output: str) -> None:
    """Refuse to go on with other settings than a release was begun with."""
    changed = sorted(key for key in {*before, *plan} if before.get(key) != plan.get(key))
    if changed:
        raise InputError(
            f"An unfinished release to {output} has other settings ({', '.join(changed)}). "
            "Finish it with those, or start again with --restart."
        )


def identity(path: Path) -> dict[str, Any]:
    """What tells an input file from another without reading it."""
    stat = os.stat(path)
    return {"input": path.name, "input_bytes": stat.st_size, "input_modified": stat.st_mtime_ns}
