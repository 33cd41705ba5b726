"""Release a file, or a folder of Parquet files on every core: in parts, resumable, each row exactly once.

Both follow one plan, one rule of resuming and one worker. A file of any kind is read from its beginning, in
this process, into drafts that are joined; a folder is read row group by row group into parts that stay.
With a secret the noise of a row depends on the row alone, so the output has the same bytes whatever the
number of workers, the order they work in and the times they were killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sfumato.errors import InputError
from sfumato.files import require_place
from sfumato.inputs import ColumnNames, RowBatch, read
from sfumato.inputs.names import USUAL
from sfumato.numbers import whole_number
from sfumato.protector import Protector
from sfumato.registry import Entry, Registry
from sfumato.scale.outputs import OutputFile, PartsFolder, ReleaseSummary, counted
from sfumato.scale.places import Disk, Folder, folder
from sfumato.scale.plan import (
    Parts,
    Record,
    ReleaseJob,
    ReleasePart,
    ReleasePlan,
    begin,
    nothing_left,
    recorded,
)
from sfumato.scale.portable import PortableProtector
from sfumato.scale.rows import ReleasedRows, SavedRows, common_schema, release_batch
from sfumato.scale.sources import PART_ROWS, cut
from sfumato.scale.worker import OnRows, Worker

BATCH_ROWS = 4096
Runner = Callable[..., Iterator[Record]]
ENGINES: Registry[Any] = Registry(
    "engine",
    [
        Entry("processes", "sfumato.scale.processes:run", "one process a core of this machine"),
        Entry("ray", "sfumato.scale.ray:run", "a Ray cluster, or this machine as one", ("ray",), "ray"),
    ],
)


def release_file(
    source: Path,
    output: Path,
    protector: Protector,
    *,
    keep_columns: Sequence[str] = (),
    id_column: str | None = None,
    names: ColumnNames = USUAL,
    restart: bool = False,
    batch_rows: int = BATCH_ROWS,
    on_rows: OnRows | None = None,
) -> ReleaseSummary:
    """Protect every row of `source` into `output`; a killed job goes on where it stopped when run again.

    A file that an earlier run finished with the same settings is left as it is, unless `restart` says so.
    """
    goes_to = OutputFile(output)
    if keep_columns and output.suffix == ".npy":
        raise InputError("A .npy file has no columns to keep. Write to a .parquet file.")
    require_place(output)
    came_from = Disk(str(source.parent))
    settings: Any = {"keep_columns": tuple(keep_columns), "id_column": id_column, "names": names}
    plan = ReleasePlan.of(protector, came_from, [source.name], part_rows=batch_rows, **settings)
    job = ReleaseJob(came_from.address, goes_to.place.address, stamp=plan.stamp, **settings)

    told = _Told(on_rows)

    def rest(done: dict[str, Record]) -> Iterator[Record]:
        worker = Worker(job, protector, told.early)
        for part in goes_to.published(plan):
            if part.name not in done:  # killed between the draft and its record
                yield worker.release(part)
        columns = _Columns(Path(job.output, name) for name in done)
        start = sum(record["rows"] for record in done.values())
        batches = read(source, batch=batch_rows, start=start, names=names)
        for index, batch in enumerate(batches, len(done)):
            part = goes_to.draft(index, source.name, batch.first_row, len(batch))
            yield worker.release(part, partial(columns.released, batch, protector, part, settings))

    with goes_to.place.alone():
        before = None if restart else goes_to.finished(plan)
        if before is None:
            return _run(goes_to, plan, protector, rest, str(output), restart=restart, on_rows=told)
        _tell(on_rows, before.rows)
        return before


class _Told:
    """Says each row once: when it is saved, or with its part."""

    def __init__(self, on_rows: OnRows | None) -> None:
        self._on_rows, self._ahead = on_rows, 0

    def early(self, rows: int) -> None:
        """Rows that are saved, of a part that is not finished."""
        self._ahead += rows
        _tell(self._on_rows, rows)

    def __call__(self, rows: int) -> None:
        """Rows of a part that is finished, some of which were told of before."""
        rows, self._ahead = rows - self._ahead, 0
        _tell(self._on_rows, rows)


class _Columns:
    """Sees that the columns of all drafts can stand in one file, before a draft is kept."""

    def __init__(self, drafts: Iterable[Path]) -> None:
        self._schemas = [pq.read_schema(path) for path in drafts]

    def released(
        self,
        batch: RowBatch,
        protector: Protector,
        part: ReleasePart,
        settings: dict[str, Any],
        saved: SavedRows,
    ) -> Iterator[ReleasedRows]:
        """Protect a batch when the worker asks for it."""
        table, matched = release_batch(batch, protector, file=part.source, saved=saved, **settings)
        self._schemas = [common_schema([*self._schemas, table.schema])]
        yield table, matched


def release_folder(
    source: str,
    output: str,
    protector: Protector,
    *,
    secret: str | None = None,
    ledger: str | None = None,
    ceiling: float | None = None,
    keep_columns: Sequence[str] = (),
    id_column: str | None = None,
    names: ColumnNames = USUAL,
    workers: int | None = None,
    engine: str = "processes",
    address: str | None = None,
    part_rows: int = PART_ROWS,
    restart: bool = False,
    on_rows: OnRows | None = None,
    **counted: Any,
) -> ReleaseSummary:
    """Protect every Parquet file of a folder into another; a killed run goes on where it stopped.

    Args:
        source: A path, or an fsspec address such as s3://bucket/vectors.
        output: The same, for the released parts.
        protector: What protects, without its secret and ledger.
        secret: Where each worker finds the secret for sticky noise: a file, or `env:NAME`.
        ledger: Where the ledger is; on this machine only.
        ceiling: Most epsilon a row may spend in it.
        keep_columns: Columns to carry over.
        id_column: A column whose values are the ledger's accounts of vectors; else texts, or places in files.
        names: What the columns of texts and of vectors are called.
        workers: How many at once; None means every core.
        engine: "processes" or "ray".
        address: A Ray cluster; None starts one here.
        part_rows: Small row groups are put together up to so many rows.
        restart: Throw away what an earlier run left.
        on_rows: Called with a number of rows whenever so many are done.
        counted: How the ledger counts: counting, ceiling_advantage and distance of a `ProtectorReference`.
    """
    start = _engine(engine, ledger)
    portable = PortableProtector.of(protector, secret=secret, ledger=ledger, ceiling=ceiling, **counted)
    came_from, goes_to = folder(source), PartsFolder(output)
    part_rows = whole_number(part_rows, "part_rows", 1, 1 << 40)
    workers = _able_to_share(came_from, goes_to.place, engine, workers)
    needed = [*keep_columns, *filter(None, [id_column, _needed(protector, names)])]
    opened, parts = portable.open(), tuple(cut(came_from, part_rows, needed))
    if not parts:
        raise InputError(f"{source} has no rows. Nothing was released.")
    settings: Any = {"keep_columns": tuple(keep_columns), "id_column": id_column, "names": names}
    files = {part.source for part in parts}
    plan = ReleasePlan.of(opened, came_from, files, parts, part_rows=part_rows, **settings)
    job = ReleaseJob(source, output, stamp=plan.stamp, **settings)

    def rest(done: dict[str, Record]) -> Iterator[Record]:
        left = [part for part in parts if part.name not in done]
        return start(job, portable, left, workers=workers, address=address) if left else iter(())

    again: Any = {"restart": restart, "on_rows": on_rows, "elsewhere": engine != "processes"}
    with goes_to.place.alone():
        return _run(goes_to, plan, opened, rest, output, **again)


def _engine(name: str, ledger: str | None) -> Runner:
    """The engine of a name, which only one machine's processes share a ledger with."""
    start: Runner = ENGINES.get(name)
    if ledger is not None and name != "processes":
        raise InputError(f"A ledger is one file on one machine: --engine {name} cannot share it. Drop one.")
    return start


def _needed(protector: Protector, names: ColumnNames) -> str | None:
    """The column that every file has to have: vectors where nothing embeds, else texts that were named."""
    if not protector.embedder:
        return names.vector
    return None if names.text == USUAL.text else names.text


def _run(
    goes_to: Parts,
    plan: ReleasePlan,
    protector: Protector,
    rest: Callable[[dict[str, Record]], Iterator[Record]],
    output: str,
    *,
    restart: bool,
    on_rows: OnRows | None,
    elsewhere: bool = False,
) -> ReleaseSummary:
    """Begin or go on, do the rest, and close; `rest` is given the records of what is done."""
    begin(goes_to, plan, restart=restart)
    done = dict(recorded(goes_to, plan))
    resumed, before = len(done), sum(record["rows"] for record in done.values())
    with nothing_left(goes_to, plan, elsewhere=elsewhere):
        if before:
            _tell(on_rows, before)
        for record in rest(done):
            if record["rows_with_a_concept"] is None and len(done) == resumed:
                protector.warn_without_texts()
            done[record["output"]] = record
            _tell(on_rows, record["rows"])
        manifest = goes_to.close(plan, done, protector)
    counts = counted(done.values())
    parts, finished = (len(plan.parts), resumed) if plan.parts else (1, 0)
    return ReleaseSummary(output, manifest, *counts, parts, finished, before)


def _tell(on_rows: OnRows | None, rows: int) -> None:
    if on_rows is not None:
        on_rows(rows)


def _able_to_share(source: Folder, output: Folder, engine: str, workers: int | None) -> int | None:
    """How many workers may be used: one where other processes would not find the files."""
    if source.address == output.address:
        raise InputError("The output must be another folder than the input.")
    if source.shared and output.shared:
        return workers
    if engine != "processes" or workers not in (None, 1):
        raise InputError("A memory:// folder is seen by one process alone. Use one worker, or another place.")
    return 1
