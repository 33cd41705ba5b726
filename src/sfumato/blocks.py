"""Run a function over blocks of rows, on as many threads as asked, with flat memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sfumato.errors import ParameterError
from sfumato.numbers import whole_number
from sfumato.workspace import Workspace

BLOCK_ELEMENTS = 1 << 18
"""Numbers in a block: buffers that stay in cache, with enough work between two hand-overs of threads."""


def bounds(rows: int, dim: int) -> list[tuple[int, int]]:
    """Cut `rows` into ranges of about BLOCK_ELEMENTS numbers; depends on the shape only."""
    size = max(1, BLOCK_ELEMENTS // dim)
    return [(low, min(low + size, rows)) for low in range(0, rows, size)]


def thread_count(threads: int | None) -> int:
    """Resolve a caller's `threads`: None means SFUMATO_THREADS, or every core this process may use."""
    if threads is None:
        text = os.environ.get("SFUMATO_THREADS", "")
        if text:
            if not text.isdigit():
                raise ParameterError(f"SFUMATO_THREADS must be a whole number. Found {text!r}.")
            return whole_number(int(text), "SFUMATO_THREADS", 1, 1024)
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return usable
    return whole_number(threads, "threads", 1, 1024)


def run(work: Callable[[int, Workspace], None], count: int, threads: int) -> None:
    """Call `work(i, buffers)` for every block; the first error stops the rest and is raised."""
    workers = max(1, min(threads, count))

    def share(first: int) -> None:
        space = Workspace()
        for index in range(first, count, workers):
            work(index, space)

    if workers <= 1:
        share(0)
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(share, first) for first in range(workers)]:
            done.result()
