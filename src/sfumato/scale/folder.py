"""Release a folder of Parquet files, row group by row group, on every core: resumable, each row exactly once.

With a secret the noise of a row depends on the row alone, so the output has the same bytes whatever the
number of workers, the order they work in and the times they were killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sfumato.errors import InputError
from sfumato.numbers import whole_number
from sfumato.protector import Protector
from sfumato.registry import Entry, Registry
from sfumato.scale.job import (
    MANIFEST,
    PART_ROWS,
    Job,
    Part,
    abandon,
    cut,
    open_plan,
    published,
    settings,
    stamp,
)
from sfumato.scale.places import Folder, folder
from sfumato.scale.recipe import Recipe
from sfumato.scale.release import promise
from sfumato.scale.worker import Record

Runner = Callable[..., Iterator[Record]]
ENGINES: Registry[Any] = Registry(
    "engine",
    [
        Entry("processes", "sfumato.scale.processes:run", "one process a core of this machine"),
        Entry("ray", "sfumato.scale.ray:run", "a Ray cluster, or this machine as one", ("ray",), "ray"),
    ],
)


@dataclass(frozen=True, slots=True)
class ReleasedFolder:
    """What a finished run did."""

    output: str
    manifest: str
    rows: int
    matched: int | None
    """How many texts held a concept; None for vectors without texts."""
    parts: int
    resumed: int
    """How many parts an earlier run had done."""


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
    workers: int | None = None,
    engine: str = "processes",
    address: str | None = None,
    part_rows: int = PART_ROWS,
    restart: bool = False,
    on_rows: Callable[[int], object] | None = None,
) -> ReleasedFolder:
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
        workers: How many at once; None means every core.
        engine: "processes" or "ray".
        address: A Ray cluster; None starts one here.
        part_rows: Small row groups are put together up to so many rows.
        restart: Throw away what an earlier run left.
        on_rows: Called with a number of rows whenever so many are done.
    """
    start: Runner = ENGINES.get(engine)
    if ledger is not None and engine != "processes":
        raise InputError(
            f"A ledger is one file on one machine: --engine {engine} cannot share it. Leave one."
        )
    recipe = Recipe.of(protector, secret=secret, ledger=ledger, ceiling=ceiling)
    part_rows = whole_number(part_rows, "part_rows", 1, 1 << 40)
    came_from, goes_to = folder(source), folder(output)
    if came_from.address == goes_to.address:
        raise InputError("The output must be another folder than the input.")
    if not (came_from.shared and goes_to.shared):
        workers = _within_this_process(engine, workers)
    job = Job(source, output, recipe, tuple(keep_columns), id_column, part_rows)
    parts = list(cut(came_from, part_rows, _columns(job, protector)))
    if not parts:
        raise InputError(f"{source} has no rows. Nothing was released.")
    opened = recipe.open()
    plan = settings(job, came_from, parts, opened.noise_id)
    job = replace(job, stamp=stamp(plan))
    with goes_to.alone(), _nothing_left(goes_to, parts, engine):
        open_plan(job, plan, parts, restart)
        done = dict(_recorded(goes_to, parts))
        resumed = len(done)
        if on_rows is not None and resumed:
            on_rows(sum(record["rows"] for record in done.values()))
        left = [part for part in parts if part.name not in done]
        for record in start(job, left, workers=workers, address=address) if left else ():
            if record["rows_with_a_concept"] is None and len(done) == resumed:
                opened.warn_without_texts()
            done[record["output"]] = record
            if on_rows is not None:
                on_rows(record["rows"])
        records = [done[part.name] for part in parts]
        matched = _matched(records)
        rows = sum(record["rows"] for record in records)
        facts = {"rows": rows, "rows_with_a_concept": matched, "plan": job.stamp, "parts": records}
        goes_to.write(MANIFEST, (json.dumps({**promise(opened), **facts}, indent=2) + "\n").encode())
    return ReleasedFolder(output, f"{output}/{MANIFEST}", rows, matched, len(parts), resumed)


def _within_this_process(engine: str, workers: int | None) -> int:
    if engine != "processes" or workers not in (None, 1):
        raise InputError("A memory:// folder is seen by one process alone. Use one worker, or another place.")
    return 1


def _columns(job: Job, protector: Protector) -> list[str]:
    """What every input file has to have."""
    named = [*job.keep_columns, *filter(None, [job.id_column])]
    return named if protector.embedder is not None else [*named, "embedding"]


@contextmanager
def _nothing_left(output: Folder, parts: list[Part], engine: str) -> Iterator[None]:
    """Delete the plan of a run that fails before its first part."""
    try:
        yield
    except BaseException:
        # A worker elsewhere may still be writing one, which the plan has to account for.
        if engine == "processes" and not published(output, parts):
            abandon(output, [])
        raise


def _recorded(output: Folder, parts: Iterable[Part]) -> Iterator[tuple[str, Record]]:
    """The records of the parts that are done; a part with its file and no record is left to a worker."""
    for part in parts:
        state = output.state(part.name)
        if state is None or output.state(part.record) is None:
            continue
        with output.open(part.record) as handle:
            record = json.loads(handle.read())
        if record["bytes"] != state["bytes"]:
            raise InputError(f"{part.name} in {output.address} was changed after its release. Use --restart.")
        yield part.name, record


def _matched(records: Iterable[Record]) -> int | None:
    found = [record["rows_with_a_concept"] for record in records]
    return None if None in found else sum(found)
