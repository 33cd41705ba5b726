"""Run a migration in a process that kills itself: python crash.py FROM TO PROTECTOR SECRET WHEN COUNT.

TO is `-` for in place, SECRET is `-` for fresh noise. WHEN is `before` or `after` the COUNT-th write, or
`inside`: half of that write's rows reach the store and no more.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace

from sfumato.accounting import Secret
from sfumato.saving import load_protector
from sfumato.stores import migrate, open_store


def fatal(store, when, count):
    """Make the count-th write to a store the last thing this process does."""
    writes = 0
    name = "update" if store is source else "add"
    write = getattr(store, name)

    def counted(ids, vectors, fields):
        nonlocal writes
        writes += 1
        if writes == count and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        half = len(ids) // 2
        if writes == count and when == "inside":
            write(ids[:half], vectors[:half], fields if name == "update" else fields[:half])
        else:
            write(ids, vectors, fields)
        if writes >= count:
            store.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(store, name, counted)


origin, destination, folder, key, when, count = sys.argv[1:]
source = open_store(origin, create=False)
target = None if destination == "-" else open_store(destination, metric=source.metric)
protector = load_protector(folder)
if key != "-":
    protector = replace(protector, secret=Secret.from_file(key))
fatal(source if target is None else target, when, int(count))
migrate(source, target, protector, batch=100)
