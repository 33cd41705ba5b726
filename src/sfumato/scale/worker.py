"""One worker: reads a part, protects it batch by batch with flat memory, and publishes it whole.

The order is what makes a release exactly once. The ledger is charged before noise is drawn; the finished file
gets its name in one step, and only if no file has it; its record follows. A worker that dies before that step
has published nothing, so drawing anew is a first draw. A part that has its file is never drawn again: only
its record is made again, from the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from sfumato.errors import ArtifactError, InputError, MissingPackageError, SfumatoError, VectorError
from sfumato.inputs.parquet import record_batches
from sfumato.protector import TextsMissingWarning
from sfumato.scale.job import Job, Part
from sfumato.scale.places import folder
from sfumato.scale.rows import release_arrow

_WINDOW = 1 << 20
_BATCH_NUMBERS = 1 << 23
_BATCH_ROWS = (256, 1 << 14)
_META = b"sfumato"
Record = dict[str, Any]


class Worker:
    """Releases parts of one job with a protector of its own."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._protector = job.recipe.open()
        self._source, self._output = folder(job.source), folder(job.output)

    def release(self, part: Part) -> Record:
        """Release a part, unless that was done before; return its record."""
        try:
            if self._output.state(part.name) is None:
                with warnings.catch_warnings():
                    # Whoever started the workers says so, once.
                    warnings.simplefilter("ignore", TextsMissingWarning)
                    self._publish(part)
            record = self._described(part)
        except VectorError as error:
            raise InputError(f"In the rows of {part.source} from {part.first_row} on: {error}") from None
        except MissingPackageError as error:  # it cannot be sent to another process as it is
            raise SfumatoError(str(error)) from None
        self._output.write(part.record, json.dumps(record, indent=2).encode())
        return record

    def _publish(self, part: Part) -> None:
        rows, matched = 0, 0
        texts = False
        writer: Any = None
        with self._output.new(part.name) as handle:
            try:
                for table, found in self._released(part):
                    writer = writer or open_writer(handle, table.schema)
                    writer.write_table(table)
                    rows += len(table)
                    texts, matched = found is not None, matched + (found or 0)
                facts = {"stamp": self._job.stamp, "rows_with_a_concept": matched if texts else None}
                writer.add_key_value_metadata({_META: json.dumps(facts).encode()})
            finally:
                if writer is not None:
                    writer.close()
            if rows != part.rows:
                raise InputError(f"`{part.source}` changed while it was read. Run the command again.")

    def _released(self, part: Part) -> Iterator[tuple[Any, int | None]]:
        job, row = self._job, part.first_row
        for batch in self._read(part):
            yield release_arrow(
                batch,
                self._protector,
                file=part.source,
                first_row=row,
                id_column=job.id_column,
                keep_columns=job.keep_columns,
            )
            row += len(batch)

    def _read(self, part: Part) -> Iterator[Any]:
        job = self._job
        wanted = {"text", "spans", "embedding", job.id_column, *job.keep_columns}
        try:
            with self._source.open(part.source) as handle:
                opened = pq.ParquetFile(handle, pre_buffer=False, buffer_size=_WINDOW)
                columns = [name for name in opened.schema_arrow.names if name in wanted]
                rows = _batch_rows(opened.schema_arrow)
                yield from record_batches(
                    part.source, handle, opened, rows, part.groups, columns, threads=False
                )
        except pa.ArrowException:
            raise InputError(f"`{part.source}` is damaged. Make it again.") from None

    def _described(self, part: Part) -> Record:
        """Describe a published part from its file alone."""
        digest = hashlib.sha256()
        with self._output.open(part.name) as handle, closing(pq.ParquetFile(handle)) as opened:
            rows = opened.metadata.num_rows
            facts = json.loads((opened.metadata.metadata or {}).get(_META, b"{}"))
            handle.seek(0)
            size = 0
            while block := handle.read(_WINDOW):
                digest.update(block)
                size += len(block)
        if facts.get("stamp") != self._job.stamp or rows != part.rows:
            raise ArtifactError(f"{part.name} in {self._output.address} is not of this run. Use --restart.")
        return {
            "output": part.name,
            "sha256": digest.hexdigest(),
            "bytes": size,
            "rows": rows,
            "rows_with_a_concept": facts["rows_with_a_concept"],
            "source": part.source,
            "row_groups": list(part.groups),
            "first_row": part.first_row,
        }


def limit_threads(count: int) -> None:
    """Keep this process to so many threads, where it is one of several that share the cores."""
    for name in ("SFUMATO_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = str(count)
    pa.set_cpu_count(count)
    threadpool_limits(count)


def _batch_rows(schema: Any) -> int:
    """How many rows to hold at once: fewer the longer the vectors are."""
    width = 0
    if "embedding" in schema.names:
        width = getattr(schema.field("embedding").type, "list_size", 0)
    return max(_BATCH_ROWS[0], min(_BATCH_ROWS[1], _BATCH_NUMBERS // (width or 2048)))


def open_writer(handle: Any, schema: Any) -> Any:
    """Open a Parquet file for released rows."""
    # Noise has no repeats for a dictionary to find and hardly compresses: trying takes as long as the noise.
    others = [name for name in schema.names if name != "embedding"]
    return pq.ParquetWriter(
        handle,
        schema,
        compression={name: "snappy" if name in others else "none" for name in _leaves(schema)},
        use_dictionary=others or False,
        write_statistics=others or False,
    )


def _leaves(schema: Any) -> list[str]:
    return [*(name for name in schema.names if name != "embedding"), "embedding.list.element"]
