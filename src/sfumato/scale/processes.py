"""The built-in engine: one process a core, because small mechanisms gain little from threads."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import connection, get_context, parent_process

from sfumato.blocks import thread_count
from sfumato.errors import SfumatoError
from sfumato.scale.plan import Record, ReleaseJob, ReleasePart
from sfumato.scale.portable import PortableProtector
from sfumato.scale.worker import Worker, limit_threads

_worker: Worker | None = None


def run(
    job: ReleaseJob,
    protector: PortableProtector,
    parts: Sequence[ReleasePart],
    *,
    workers: int | None,
    address: str | None = None,
) -> Iterator[Record]:
    """Release the parts on `workers` processes, and yield the record of each as it is done."""
    workers = thread_count(workers)
    if workers == 1:
        alone = Worker(job, protector.open())
        for part in parts:
            yield alone.release(part)
        return
    # Spawned, not forked: Arrow and BLAS have threads, and a fork would copy them in mid-flight.
    pool = ProcessPoolExecutor(min(workers, len(parts)), get_context("spawn"), _start, (job, protector))
    waiting = iter(parts)
    try:
        running = {pool.submit(_release, part) for part in islice(waiting, 2 * workers)}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(_release, part) for part in islice(waiting, len(finished))}
            for each in finished:
                yield each.result()
    except BrokenProcessPool:
        raise SfumatoError(
            "A worker was killed, perhaps for want of memory. Run the command again to go on, with fewer "
            "--workers if it happens again."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start(job: ReleaseJob, protector: PortableProtector) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent alone decides
    threading.Thread(target=end_with_parent, daemon=True).start()
    limit_threads(1)
    _worker = Worker(job, protector.open())


def end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _release(part: ReleasePart) -> Record:
    assert _worker is not None
    return _worker.release(part)
