"""One worker: protects the rows of a part batch by batch with flat memory, and publishes it whole.

The order is what makes a release exactly once. The ledger is charged before noise is drawn; the finished file
gets its name in one step, and only if no file has it; its record follows. A worker that dies before that step
has published nothing, so drawing anew is a first draw. A part that has its file is never drawn again: only
its record is made again, from the file.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from sfumato.errors import ArtifactError, InputError, MissingPackageError, SfumatoError, VectorError
from sfumato.protector import Protector, TextsMissingWarning
from sfumato.scale.outputs import digest
from sfumato.scale.pieces import Pace, PartPieces
from sfumato.scale.places import folder
from sfumato.scale.plan import Record, ReleaseJob, ReleasePart
from sfumato.scale.rows import ReleasedRows, release_arrow
from sfumato.scale.sources import read_part

_META = b"sfumato"

OnRows = Callable[[int], object]
FromPieces = Callable[[PartPieces], Iterable[ReleasedRows]]
"""What releases the rows of a part, given where some of them are saved."""


class Worker:
    """Releases parts of one job with a protector of its own."""

    def __init__(self, job: ReleaseJob, protector: Protector, on_rows: OnRows | None = None) -> None:
        self._job, self._protector = job, protector
        self._source, self._output = folder(job.source), folder(job.output)
        self._pace, self._on_rows = Pace(), on_rows

    def pieces(self, part: ReleasePart) -> PartPieces:
        """Where rows of a part are saved before it is finished."""
        return PartPieces(self._output, part, self._job.stamp, self._pace, self._on_rows)

    def release(self, part: ReleasePart, rows: FromPieces | None = None) -> Record:
        """Release a part, unless that was done before, from its source or as `rows`; return its record."""
        pieces = self.pieces(part)
        try:
            if self._output.state(part.name) is None:
                with warnings.catch_warnings():
                    # Whoever started the workers says so, once.
                    warnings.simplefilter("ignore", TextsMissingWarning)
                    self._publish(part, self._released(part, pieces) if rows is None else rows(pieces))
                pieces.clear()
            record = self._described(part)
        except VectorError as error:
            raise InputError(f"In {part.source}: {error}") from None
        except MissingPackageError as error:  # it cannot be sent to another process as it is
            raise SfumatoError(str(error)) from None
        self._output.write(part.record, json.dumps(record, indent=2).encode())
        return record

    def _publish(self, part: ReleasePart, released: Iterable[ReleasedRows]) -> None:
        rows, matched = 0, 0
        texts = False
        writer: Any = None
        with self._output.new(part.name) as handle:
            try:
                for table, found in released:
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

    def _released(self, part: ReleasePart, pieces: PartPieces) -> Iterator[ReleasedRows]:
        job, row = self._job, part.first_row
        wanted = {*job.names.own, job.id_column, *job.keep_columns}
        for batch in read_part(self._source, part, wanted, job.names.vector):
            yield release_arrow(
                batch,
                self._protector,
                file=part.source,
                first_row=row,
                id_column=job.id_column,
                keep_columns=job.keep_columns,
                names=job.names,
                saved=pieces,
            )
            row += len(batch)

    def _described(self, part: ReleasePart) -> Record:
        """Describe a published part from its file alone."""
        with self._output.open(part.name) as handle, closing(pq.ParquetFile(handle)) as opened:
            rows = opened.metadata.num_rows
            facts = json.loads((opened.metadata.metadata or {}).get(_META, b"{}"))
            handle.seek(0)
            sha256, size = digest(handle)
        if facts.get("stamp") != self._job.stamp or part.rows not in (None, rows):
            raise ArtifactError(f"{part.name} in {self._output.address} is not of this run. Use --restart.")
        return {
            "output": part.name,
            "sha256": sha256,
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
