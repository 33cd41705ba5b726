"""One of several processes that change one collection: python writer.py URL FOLDER NUMBER [dies].

It waits until the file `go` is in the folder, so that all begin at once. One that dies is killed while it
sends its fourth row.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from sfumato.sealing.records import Records
from sfumato.stores import open_store
from tests.sealing.collections import notes, sealed

OWN, SHARED, KILLED_AT = 6, 6, 3
"""Rows that a writer adds by itself, and rows that all of them add."""


def own(number):
    """The rows of one writer: some are replaced and some deleted by it."""
    texts = notes(2 * OWN, seed=number)
    return {f"{number}-{row}": texts[row] for row in range(OWN)}, texts[OWN:]


def shared():
    """Rows that every writer adds, the same in all."""
    return {f"shared-{row}": text for row, text in enumerate(notes(SHARED, seed=99))}


def left(number):
    """What is there in the end of one writer's rows."""
    rows, others = own(number)
    return {name: (others[0] if at == 0 else text) for at, (name, text) in enumerate(rows.items()) if at != 1}


def kill_while_sending(store):
    """Be killed as a lost machine is, with some records of the next change in the store."""
    put = store._client.records.put

    def half(self, ids, contents):
        put(ids[: len(ids) // 2], contents[: len(ids) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    Records.put = half


def main(url, folder, number, dies=False):
    """Wait, then add, look, change and delete."""
    while not (folder / "go").exists():
        time.sleep(0.005)
    rows, others = own(number)
    with sealed(folder, open_store(url)) as store:
        for row, (name, text) in enumerate(rows.items()):
            if dies and row == KILLED_AT:
                kill_while_sending(store)
            store.add([name], [text])
            found = store.search(text, 1)
            assert found.complete and found.hits[0].text == text, found.faults
        store.add(shared(), list(shared().values()))
        first, second = list(rows)[:2]
        store.update([first], [others[0]])
        assert store.delete([second]) == 1
        assert [row.text for row in store.get([first, second])] == [others[0]]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), "dies" in sys.argv)
