"""The same release on a Ray cluster: one protector a worker, parts handed out by Ray Data.

Only descriptions of parts travel through Ray when a folder is released. A worker reads its part, protects it
and publishes it by itself, so a part whose worker was lost is done again by another one, or found done.
Secrets are read on each machine and never travel.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from sfumato.errors import InputError, MissingPackageError, SfumatoError
from sfumato.protector import Protector
from sfumato.scale.plan import Record, ReleaseJob, ReleasePart
from sfumato.scale.portable import PortableProtector
from sfumato.scale.rows import release_arrow
from sfumato.scale.worker import Worker, limit_threads

_LOCAL_STORE = 256 << 20
_BLOCKS_PER_WORKER = 64


def run(
    job: ReleaseJob,
    protector: PortableProtector,
    parts: Sequence[ReleasePart],
    *,
    workers: int | None,
    address: str | None,
) -> Iterator[Record]:
    """Release the parts on a cluster, and yield the record of each as it is done."""
    with session(address, workers) as ray:
        items = [{"part": json.dumps(asdict(part))} for part in parts]
        wanted = len(items) if workers is None else min(workers, len(items))
        pool = _pool(ray, wanted, needs_gpu=protector.embeds)
        blocks = min(len(items), _BLOCKS_PER_WORKER * pool["compute"].max_size)
        dataset = ray.data.from_items(items, override_num_blocks=blocks).map_batches(
            _PartWorker, fn_constructor_args=(job, protector), batch_size=1, batch_format="pyarrow", **pool
        )
        for row in dataset.iter_rows():
            if row["error"]:
                raise SfumatoError(row["error"])
            yield json.loads(row["record"])


def protect_dataset(
    dataset: Any,
    protector: Protector,
    *,
    secret: str | None = None,
    id_column: str | None = None,
    keep_columns: Sequence[str] = (),
    workers: int | None = None,
    batch_rows: int = 4096,
) -> Any:
    """Protect a Ray dataset with a `text` or `embedding` column; texts are embedded in the same step.

    Ray may run a batch twice when a machine is lost. With a secret both runs give the same vectors.
    Without one, a batch that is run again is drawn again: then
    nothing may read the first run's output, or use `release_folder(engine="ray")`, which sees to that.

    Args:
        dataset: The Ray dataset.
        protector: What protects, without its secret.
        secret: Where each machine finds the secret: a file, or `env:NAME`.
        id_column: A column whose values are the ledger's accounts, for rows that come as vectors.
        keep_columns: Columns to carry over.
        workers: How many protectors; None means one a core, or one a GPU where texts are embedded.
        batch_rows: Most rows at once.
    """
    ray = _load()
    portable = PortableProtector.of(protector, secret=secret)
    return dataset.map_batches(
        _BatchWorker,
        fn_constructor_args=(portable, id_column, tuple(keep_columns)),
        batch_size=batch_rows,
        batch_format="pyarrow",
        **_pool(ray, workers, needs_gpu=portable.embeds),
    )


class _PartWorker:
    def __init__(self, job: ReleaseJob, protector: PortableProtector) -> None:
        limit_threads(1)
        self._worker = Worker(job, protector.open())

    def __call__(self, batch: Any) -> Any:
        records, errors = [], []
        for text in batch.column("part").to_pylist():
            known = json.loads(text)
            record, error = "", ""
            try:
                part = ReleasePart(**{**known, "groups": tuple(known["groups"])})
                record = json.dumps(self._worker.release(part))
            except SfumatoError as found:
                # Handed over as a row: as an exception Ray would try the part again and again.
                error = str(found)
            records.append(record)
            errors.append(error)
        return pa.table({"record": records, "error": errors})


class _BatchWorker:
    def __init__(
        self, protector: PortableProtector, id_column: str | None, keep_columns: tuple[str, ...]
    ) -> None:
        limit_threads(1)
        self._protector = protector.open()
        self._columns: dict[str, Any] = {"id_column": id_column, "keep_columns": keep_columns}

    def __call__(self, batch: Any) -> Any:
        return release_arrow(batch, self._protector, **self._columns)[0]


def _pool(ray: Any, workers: int | None, *, needs_gpu: bool) -> dict[str, Any]:
    """How many workers, and what each of them takes."""
    has = ray.cluster_resources()
    gpus = int(has.get("GPU", 0)) if needs_gpu else 0
    most = gpus or max(1, int(has.get("CPU", 1)))
    size = most if workers is None else min(workers, most)
    takes = {"num_gpus": 1} if gpus else {"num_cpus": 1}
    return {"compute": ray.data.ActorPoolStrategy(size=size), **takes}


def _load(*, alone: bool = False) -> Any:
    # Before the import: Ray reads these once. No usage statistics, and bars are the command line's own.
    if alone:
        # Otherwise Ray turns the loopback address into one that other machines can reach.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingPackageError("ray", "ray", "to release on a cluster") from None
    return ray


@contextmanager
def session(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a cluster for the length of a block, or start one on this machine, on loopback only."""
    ray = _load(alone=address is None)
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        here: dict[str, Any] = {"num_cpus": workers, "object_store_memory": _LOCAL_STORE}
        ray.init("local", include_dashboard=False, _node_ip_address="127.0.0.1", **here, **quiet)
    else:
        try:
            ray.init(address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"There is no Ray cluster at {address}: {reason}") from None
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        yield ray
    finally:
        ray.shutdown()
