"""The file of a ledger: one SQLite database that is made whole, checked when it is opened, and never half.

Accounts that count by curves have tables of their own; a file that has them is of the third version, so that
a program which does not know of them refuses it. Files of the second version go on as they are.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from sfumato.accounting.keys import place_new, require_private
from sfumato.errors import ArtifactError, InputError, SfumatoError

Counting = Literal["own", "l2", "curve"]
"""How a ledger counts: a guarantee's own epsilon, the worst case in l2, or composed trade-off curves."""

_APPLICATION, _SUMS, _CURVES = 0x5366756D, 2, 3
_BUSY_SECONDS = 60.0
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE accounts (unit BLOB PRIMARY KEY, metric TEXT, epsilon REAL NOT NULL, delta REAL NOT NULL,
    slack REAL NOT NULL, releases INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT UNIQUE, terms TEXT);
CREATE TABLE held (unit BLOB, text BLOB, stream INTEGER, PRIMARY KEY (unit, text, stream)) WITHOUT ROWID;
CREATE TABLE spends (id INTEGER PRIMARY KEY, at REAL, key_id TEXT, stream TEXT, mechanism TEXT, proof TEXT,
    metric TEXT, epsilon REAL, delta REAL, rows INTEGER, charged INTEGER);
"""
_CURVE_SCHEMA = (
    """CREATE TABLE laws (id INTEGER PRIMARY KEY, name TEXT UNIQUE, mechanism TEXT, distance REAL,
    exponent INTEGER, first INTEGER, mean REAL, mean_error REAL, wrong REAL, mu REAL, largest REAL,
    slack REAL, masses BLOB, digest BLOB)""",
    """CREATE TABLE composed (unit BLOB, law INTEGER, n INTEGER NOT NULL, PRIMARY KEY (unit, law))
    WITHOUT ROWID""",
    """CREATE TABLE before (unit BLOB PRIMARY KEY, metric TEXT, epsilon REAL, delta REAL, slack REAL,
    releases INTEGER) WITHOUT ROWID""",
)


class LedgerFile:
    """A ledger's database, made if it is not there."""

    def __init__(self, path: Path, key_id: str, counting: Counting) -> None:
        self.path = path
        if not path.exists():
            self._create(key_id, counting)
        self._check(key_id, counting)

    def _create(self, key_id: str, counting: Counting) -> None:
        """Make an empty ledger beside its final name, then give it that name: no half ledger can be seen."""
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".ledger-")  # mode 0600
            os.close(handle)
            with closing(sqlite3.connect(name)) as db:
                version = _CURVES if counting == "curve" else _SUMS
                db.executescript(
                    f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {version}; {_SCHEMA}"
                )
                for table in _CURVE_SCHEMA if counting == "curve" else ():
                    db.execute(table)
                meta = [("key_id", key_id), ("metric", counting)]
                db.executemany("INSERT INTO meta VALUES (?, ?)", meta)
                db.commit()
            place_new(Path(name), self.path)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"The ledger {self.path} cannot be created: {error}.") from error

    def _check(self, key_id: str, counting: Counting) -> None:
        """Refuse a file that is not a ledger, or one of another secret or way of counting."""
        # Never open the file outside SQLite: closing it would drop this process's locks on it.
        require_private(self.path.stat(), self.path)
        with self.transaction("BEGIN") as db:
            kind = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            if kind == [_APPLICATION, 1]:
                raise ArtifactError(
                    f"The ledger {self.path} was made by version 0.1, which named accounts after the text as "
                    "it was written: no text would be found in it. Start a new one, and lower its ceiling by "
                    "what was spent."
                )
            if kind[0] != _APPLICATION or kind[1] not in (_SUMS, _CURVES):
                raise ArtifactError(f"{self.path} is not a ledger of this version.")
            meta = dict(db.execute("SELECT name, value FROM meta"))
        if meta.get("key_id") != key_id:
            made = f"The ledger {self.path} was made with the secret {meta.get('key_id')}"
            raise ArtifactError(f"{made}. Found {key_id}, under which no text would be recognised.")
        if (meta.get("metric") == "curve") != (kind[1] == _CURVES):
            raise ArtifactError(f"{self.path} is not a ledger of this version.")
        if counting == "curve" and meta.get("metric") in ("own", "l2"):
            self._turn_to_curves()
        elif meta.get("metric") != counting:
            how = " (--accounting curve)" if meta.get("metric") == "curve" else ""
            found = meta.get("metric")
            raise ArtifactError(f'The ledger {self.path} must be opened with metric="{found}"{how}.')

    def _turn_to_curves(self) -> None:
        """Let a ledger of sums count by curves from now on; what was spent is kept as it is, aside."""
        with self.transaction("BEGIN IMMEDIATE") as db:
            if db.execute("SELECT value FROM meta WHERE name = 'metric'").fetchone()[0] == "curve":
                return  # another process was faster
            for table in _CURVE_SCHEMA:
                db.execute(table)
            db.execute("INSERT INTO before SELECT * FROM accounts")
            db.execute("DELETE FROM accounts")
            db.execute("UPDATE meta SET value = 'curve' WHERE name = 'metric'")
            db.execute(f"PRAGMA user_version = {_CURVES}")

    @contextmanager
    def transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Run one transaction on a connection of its own, which no thread or forked process can share."""
        # mode=rw: a ledger that went missing must not come back empty.
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        try:
            with closing(sqlite3.connect(address, _BUSY_SECONDS, uri=True, isolation_level=None)) as db:
                # EXTRA also syncs the folder: not even a power cut can undo a spend that was committed.
                db.execute("PRAGMA synchronous = EXTRA")
                db.execute("PRAGMA temp_store = MEMORY")
                db.execute(begin)
                yield db
                db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if str(error).startswith("no such"):
                raise ArtifactError(f"{self.path} is not a ledger.") from error
            raise SfumatoError(f"The ledger {self.path} failed ({error}). Release nothing.") from error
        except sqlite3.DatabaseError as error:
            raise ArtifactError(f"The ledger {self.path} is damaged or not a ledger ({error}).") from error
