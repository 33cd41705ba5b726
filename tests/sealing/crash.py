"""Change a sealed collection in a process that kills itself: python crash.py URL FOLDER ACTION WHEN.

WHEN names a step: `writing` is before the state is committed, `committed` before anything is sent, `inside`
when half of a batch is in the store, `deleting` before old records are deleted, `sent` before the outbox is
emptied, `shredding` and `shredded` before and after salts are destroyed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from sfumato.sealing import store as module
from sfumato.stores import open_store
from tests.sealing.collections import metadata, names, notes, sealed

BEFORE, AFTER = 120, 200
"""Rows before and after the add; the first 30 are replaced by it."""


def change(store, action):
    """Do what the test does, too."""
    if action == "add":
        texts = notes(AFTER, seed=1)
        rows = [*range(30), *range(BEFORE, AFTER)]
        return store.add(
            [names(AFTER)[row] for row in rows],
            [texts[row] for row in rows],
            [metadata(AFTER)[row] for row in rows],
        )
    if action == "relearn":
        return store.relearn()
    if action == "copy":
        return copy_from(store)
    return getattr(store, action)(names(40))


def copy_from(new):
    """Copy every row of the collection that lies beside a new one, some at a time."""
    folder = new._client.state.file.folder.parent
    module._COPIED_AT_ONCE = 50
    with sealed(folder.parent, open_store(f"memory:{folder.parent}/store")) as old:
        return old.copy_to(new)


def die(*_, **__):
    """End as a lost machine would."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(url, folder, action, when):
    """Open the collection, set the trap, and walk into it."""
    store = sealed(Path(folder), open_store(url))
    client = store._client
    records, shredder = client.records, client.state.shredder
    put, settle, shred = records.put, records.settle, shredder.shred

    def half(ids, contents):
        put(ids[: len(ids) // 2], contents[: len(ids) // 2])
        settle()
        die()

    traps = {
        "writing": (client, "count_change", die),
        "committed": (client.outbox, "send", die),
        "inside": (records, "put", half),
        "deleting": (records, "delete", lambda ids: (settle(), die())),
        "sent": (records, "settle", lambda: (settle(), die())),
        "shredding": (shredder, "shred", die),
        "shredded": (shredder, "shred", lambda ids: (shred(ids), die())),
    }
    target, name, trap = traps[when]
    try:
        setattr(target, name, trap)
    except AttributeError:  # it has slots
        setattr(type(target), name, lambda self, *rest: trap(*rest))
    change(store, action)


if __name__ == "__main__":
    main(*sys.argv[1:])
