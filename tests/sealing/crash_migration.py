"""Migrate into a sealed collection in a process that kills itself: crash_migration.py FROM TO FOLDER WHEN.

WHEN is `sealing`, when some parts are sealed; `sending`, when half of a part is in the store; or `clearing`,
when some rows in the clear are deleted.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from sfumato.sealing import migrating
from sfumato.stores import open_store
from tests.sealing.collections import ENCODER, sealed


def die(*_, **__):
    """End as a lost machine would."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(origin, destination, folder, when):
    """Set the trap, and walk into it."""
    migrating._READ = 50
    migrating._ROWS_AT_ONCE = 100
    source, store = open_store(origin, create=False), sealed(Path(folder), open_store(destination))
    calls = {"count": 0}
    add, delete, put = store.add, source.delete, store._client.records.put

    def counted(action, last):
        def run(*given, **more):
            calls["count"] += 1
            if calls["count"] == last:
                die()
            return action(*given, **more)

        return run

    if when == "sealing":
        store.add = counted(add, 3)
    elif when == "sending":
        store._client.records.put = lambda ids, contents: (
            put(ids[:70], contents[:70]),
            store.store.flush(),
            die(),
        )
    else:
        source.delete = lambda ids: (counted(delete, 3)(ids), source.flush())
    migrating.seal_collection(source, store, ENCODER, clear=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
