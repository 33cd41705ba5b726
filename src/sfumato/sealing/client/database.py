"""The file of a client's state: SQLite that no kill leaves half written, and one writer at a time.

A transaction is on disk when it ends. Pages of deleted values are overwritten, and `scrub` empties the log,
so that what was deleted is in no file of the folder.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from sfumato.errors import ArtifactError, InputError, StoreError

FILE = "state.sqlite"
_LOCK = "lock"
_APPLICATION, _VERSION = 0x53665365, 2
_BUSY_SECONDS = 60.0
_MOST_EMPTY = 4096
"""Pages of 4 KiB that may be empty."""
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (place BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE members (number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, value BLOB NOT NULL);
CREATE TABLE outbox (id TEXT PRIMARY KEY, content BLOB) WITHOUT ROWID;
CREATE TABLE parcels (name TEXT PRIMARY KEY, records INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE digests (id TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE erasures (number INTEGER PRIMARY KEY, now INTEGER NOT NULL);
"""
# The first version had neither parcels nor digests.
_FROM_1 = f"""
BEGIN IMMEDIATE;
CREATE TABLE parcels (name TEXT PRIMARY KEY, records INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE digests (id TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
PRAGMA user_version = {_VERSION};
COMMIT;
"""


def is_begun(folder: Path) -> bool:
    """Whether a folder holds the state of a collection."""
    if not (folder / FILE).is_file():
        return False
    try:
        with closing(sqlite3.connect(folder / FILE, timeout=_BUSY_SECONDS)) as db:
            return bool(db.execute("SELECT COUNT(*) FROM facts").fetchone()[0])
    except sqlite3.Error:
        return False


class Unsaved(Protocol):
    """What a transaction has made and keeps in memory until it ends."""

    def save(self) -> None:
        """Write it; what fails here undoes the transaction."""

    def forget(self) -> None:
        """Drop it: it was written, or the transaction was undone."""


class StateFile:
    """One connection to the file; threads take turns, and so do processes that write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer, self._turn = threading.RLock(), threading.RLock()
        self._held = 0
        self._open = 0
        self.undone = 0
        """How many transactions failed here: what was read inside one is not to be remembered."""
        self.unsaved: list[Unsaved] = []
        """Those who write at the end of a transaction what it made."""
        self._prepare()
        with self._speaking():
            self._db = sqlite3.connect(
                folder / FILE, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            for setting in ("trusted_schema = OFF", "secure_delete = ON", "synchronous = FULL"):
                self._db.execute(f"PRAGMA {setting}")
            self._check()

    def _prepare(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Made first, with rights of its own: SQLite would make it readable by others.
            os.close(os.open(self.folder / FILE, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise InputError(
                f"The folder `{self.folder}` for the state cannot be used: {error.strerror}. Give another."
            ) from None

    def _check(self) -> None:
        def found() -> tuple[int, ...]:
            names = ("application_id", "user_version")
            return tuple(self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)

        if found() == (0, 0):
            with self.alone():
                empty = not self._db.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()[0]
                if empty and found() == (0, 0):
                    self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")
                    self._db.execute("PRAGMA journal_mode = WAL")
                    self._db.executescript("BEGIN IMMEDIATE;" + _SCHEMA + "COMMIT;")
        if found() == (_APPLICATION, 1):
            with self.alone():
                if found() == (_APPLICATION, 1):
                    self._db.executescript(_FROM_1)
        if found() != (_APPLICATION, _VERSION):
            raise ArtifactError(
                f"`{self.folder}` is refused: its {FILE} is of another kind or version. Give another folder."
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only one who changes anything, in this process and in others, until the block ends."""
        with self._writer:
            self._held += 1
            try:
                if self._held == 1:
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
                yield
            finally:
                self._held -= 1
                if not self._held:
                    fcntl.flock(self._lock, fcntl.LOCK_UN)

    def busy(self) -> bool:
        """Whether somebody is changing something just now, who will also finish what waits."""
        if not self._writer.acquire(blocking=False):
            return True
        try:
            if not self._held:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.flock(self._lock, fcntl.LOCK_UN)
        except BlockingIOError:
            return True
        finally:
            self._writer.release()
        return False

    @contextmanager
    def changing(self) -> Iterator[None]:
        """All that the block writes is on disk when it ends, or nothing of it is."""
        with self.alone(), self._turn, self._within("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def looking(self) -> Iterator[None]:
        """All that the block reads is of one moment."""
        with self._turn, self._within("BEGIN"):
            yield

    @contextmanager
    def _within(self, begin: str) -> Iterator[None]:
        if self._open:
            # A block inside a block is part of it.
            yield
            return
        with self._speaking():
            self._db.execute(begin)
            self._open += 1
            try:
                yield
                for each in self.unsaved:
                    each.save()
                self._db.execute("COMMIT")
            except BaseException:
                self.undone += 1
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._open -= 1
                for each in self.unsaved:
                    each.forget()

    @property
    def inside(self) -> bool:
        """Whether a transaction is open here; for the thread whose it is."""
        return self._open > 0

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        failure = ""
        try:
            yield
        except sqlite3.Error as error:
            failure = getattr(error, "sqlite_errorname", type(error).__name__)
        if failure:
            raise StoreError(
                f"The state in `{self.folder}` could not be used: {failure}. Check disk and rights."
            )

    def run(self, statement: str, values: Any = ()) -> list[Any]:
        """Run one statement and return what it finds."""
        with self._turn, self._speaking():
            return self._db.execute(statement, values).fetchall()

    def run_all(self, statement: str, values: Any) -> None:
        """Run one statement for each of some values."""
        with self._turn, self._speaking():
            self._db.executemany(statement, values)

    def among(self, statement: str, keys: list[Any]) -> Iterator[Any]:
        """Run a statement that ends in `IN` for many keys, a part of them at a time."""
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            yield from self.run(f"{statement} ({','.join('?' * len(part))})", part)

    def moment(self) -> tuple[int, int, int]:
        """A value that differs when another connection, or this one, has changed the file."""
        with self._turn:
            return self.run("PRAGMA data_version")[0][0], self._db.total_changes, self.undone

    def copy(self, folder: Path) -> None:
        """Write the file as it is into another folder."""
        with self._turn, self._speaking():
            target = folder / FILE
            os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(target)) as other:
                self._db.backup(other)

    def shrink(self) -> None:
        """Give back room on the disk, where much of the file has become empty."""
        with self.alone(), self._turn, self._speaking():
            if self.run("PRAGMA freelist_count")[0][0] > _MOST_EMPTY:
                # As a script: as one statement it would give back a single page.
                self._db.executescript("PRAGMA incremental_vacuum")
                self.scrub()

    def scrub(self) -> None:
        """Empty the log, which holds pages as they were."""
        with self.alone():
            self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def sync(self) -> None:
        """Have the names of files in the folder on disk."""
        place = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self._db.close()
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1
