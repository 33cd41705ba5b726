"""What has been spent on each text: written before a release leaves, refused over the ceiling.

Losses add only in one metric, so an account keeps the metric of its first spend and refuses others. A ledger
with `metric="own"` counts each guarantee's own epsilon. Mahalanobis epsilons add only for one noise shape:
pass its digest as `shape`, else the worst case per unit of Euclidean distance is counted. With `metric="l2"`
that worst case is counted for all, and mechanisms may be mixed. No promise is an infinite epsilon anywhere.

Epsilons and deltas add. Fresh noise costs each time a text appears; sticky noise costs once per text and
stream, and the same vector again costs nothing. A new key is a new stream, hence another spend.

A text's name and account are the identity of what was embedded (`accounting.identity`), so that spellings and
hidden terms that come down to one vector are one account.

The file holds neither text nor key: texts and units are 16 bytes of an HMAC under a subkey of the secret,
which stays the same for the life of the ledger. The secret of the sticky noise may be rotated apart from it.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from sfumato.accounting.guarantee import Guarantee
from sfumato.accounting.keys import Secret, place_new, require_private
from sfumato.accounting.sticky import keyed_digests
from sfumato.errors import ArtifactError, BudgetError, InputError, ParameterError, SfumatoError

Counting = Literal["own", "l2"]

_APPLICATION, _VERSION = 0x5366756D, 2
_BUSY_SECONDS, _ID_BYTES = 60.0, 16
_TEXT, _UNIT = b"sfumato ledger text", b"sfumato ledger unit"
_STREAM = re.compile(r"[0-9a-f]{48}")
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE accounts (unit BLOB PRIMARY KEY, metric TEXT, epsilon REAL NOT NULL, delta REAL NOT NULL,
    slack REAL NOT NULL, releases INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT UNIQUE, terms TEXT);
CREATE TABLE held (unit BLOB, text BLOB, stream INTEGER, PRIMARY KEY (unit, text, stream)) WITHOUT ROWID;
CREATE TABLE spends (id INTEGER PRIMARY KEY, at REAL, key_id TEXT, stream TEXT, mechanism TEXT, proof TEXT,
    metric TEXT, epsilon REAL, delta REAL, rows INTEGER, charged INTEGER);
"""
_SPENT = """SELECT SUM(epsilon), MIN(SUM(delta), 1.0), metric, SUM(releases), SUM(slack) FROM accounts {}
    GROUP BY metric ORDER BY metric"""
_SUMMARY = {
    "accounts": """SELECT metric, COUNT(*) AS accounts, MAX(epsilon) AS max_epsilon, MIN(MAX(delta), 1.0) AS
        max_delta, MAX(releases) AS max_releases FROM accounts GROUP BY metric ORDER BY metric""",
    "spends": """SELECT key_id, mechanism, metric, proof, COUNT(*) AS calls, SUM(rows) AS rows,
        SUM(charged) AS charged FROM spends GROUP BY key_id, mechanism, metric, proof ORDER BY MIN(id)""",
}
_OVER = """SELECT row, metric, COALESCE(epsilon, 0) + n * :epsilon AS e, COALESCE(delta, 0) + n * :delta AS d,
    metric != :metric AND MAX(epsilon, :epsilon) < 9e999 AS mixed
    FROM charge LEFT JOIN accounts USING (unit)
    WHERE n > 0 AND (e > :most OR d > :most_delta OR mixed) ORDER BY row LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Spend:
    """What has been spent, in one metric; infinite when something was released without a promise."""

    epsilon: float = 0.0
    delta: float = 0.0
    metric: str = "none"
    releases: int = 0
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a batch is on the ledger and may leave; epsilon and delta are those of each charged row."""

    rows: int
    charged: int
    """Rows that cost something; the others repeat sticky noise."""
    metric: str
    epsilon: float
    delta: float
    highest: float
    """Largest epsilon now spent on any text or unit of the batch."""
    remaining: float | None
    """What is left under the ceiling for that one; None without a ceiling."""


class Ledger:
    """What has been spent on each text, in one SQLite file that threads and processes may share."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        secret: Secret,
        ceiling: float | None,
        delta_ceiling: float | None = None,
        metric: Counting = "own",
    ) -> None:
        if not isinstance(secret, Secret):
            raise ParameterError(f"`secret` must be a Secret. Found {type(secret).__name__}.")
        if metric not in ("own", "l2"):
            raise ParameterError(f'`metric` must be "own" or "l2". Found {metric!r}.')
        for name, limit in (("ceiling", ceiling), ("delta_ceiling", delta_ceiling)):
            if limit is not None and not (isinstance(limit, int | float) and 0 < limit < math.inf):
                raise ParameterError(f"`{name}` must be a number over 0, or None for none. Found {limit!r}.")
        self.path, self.metric = Path(path), metric
        self.ceiling, self.delta_ceiling = ceiling, delta_ceiling
        self._secret = secret  # and no subkeys: it keeps the ledger from being pickled with a key inside
        if not self.path.exists():
            self._create(secret.key_id)
        self._check(secret.key_id)

    def spend(
        self,
        texts: Iterable[str],
        guarantee: Guarantee,
        *,
        stream: str | None = None,
        unit: str | Sequence[str] | None = None,
        shape: str | None = None,
    ) -> Receipt:
        """Record one release of each text, all or none, on the account of its `unit`, or else on its own."""
        if stream is not None and not (isinstance(stream, str) and _STREAM.fullmatch(stream)):
            raise ParameterError("`stream` must be an id made by `Sticky.stream_id` (48 hex digits).")
        cost = _price(guarantee, shape, self.metric)
        names = units = keyed_digests(self._secret.derive(_TEXT), texts, size=_ID_BYTES)
        if unit is not None:
            each = [unit] * len(names) if isinstance(unit, str) else unit
            units = keyed_digests(self._secret.derive(_UNIT), each, "unit", _ID_BYTES)
        if len(units) != len(names):
            raise InputError(f"`unit` must name one unit a row. Found {len(units)} for {len(names)} rows.")
        with self._transaction("BEGIN IMMEDIATE") as db:
            number = None if stream is None else _stream_number(db, stream, guarantee.mechanism, cost)
            _load(db, zip(range(len(names)), units, names, strict=True), number)
            self._refuse_over(db, cost, "text" if unit is None else "unit")
            charged, highest = _record(db, cost, number)
            values = (stream[:16] if stream else "fresh", stream, guarantee.mechanism, guarantee.proof)
            price = (cost["metric"], cost["epsilon"], cost["delta"])
            entry = (time.time(), *values, *price, len(names), charged)
            db.execute("INSERT INTO spends VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entry)
        remaining = None if self.ceiling is None else max(0.0, self.ceiling - highest)
        return Receipt(len(names), charged, *price, highest, remaining)

    def spent(self, text: str | None = None, *, unit: str | None = None) -> Spend:
        """Look up what has been spent on one text, or on one unit."""
        if (text is None) == (unit is None):
            raise ParameterError("`spent` needs a text or a unit, and not both.")
        label, name = (_TEXT, text) if unit is None else (_UNIT, unit)
        account = keyed_digests(self._secret.derive(label), [name or ""], size=_ID_BYTES)
        with self._transaction("BEGIN") as db:
            row = db.execute(_SPENT.format("WHERE unit = ?"), account).fetchone()
        return Spend(*row) if row else Spend()

    def total(self) -> dict[str, Spend]:
        """Add up everything spent, by metric, as if all texts were one person's."""
        with self._transaction("BEGIN") as db:
            return {row[2]: Spend(*row) for row in db.execute(_SPENT.format(""))}

    def summary(self) -> dict[str, Any]:
        """Count accounts by metric, and spends by key and mechanism, for a report (JSON-ready, no text)."""
        limits = {"ceiling": self.ceiling, "delta_ceiling": self.delta_ceiling}
        result: dict[str, Any] = {"metric": self.metric, **limits}
        with self._transaction("BEGIN") as db:
            db.row_factory = sqlite3.Row
            for name, query in _SUMMARY.items():
                rows = [dict(row) for row in db.execute(query)]
                result[name] = [{k: "inf" if v == math.inf else v for k, v in row.items()} for row in rows]
        return result

    def _refuse_over(self, db: sqlite3.Connection, cost: dict[str, Any], what: str) -> None:
        """Raise for the first row whose account would pass a ceiling or mix two metrics."""
        # Sums of floats are compared with a little room, so that three times 0.1 fits under 0.3.
        most, most_delta = ((x or math.inf) * (1 + 1e-9) for x in (self.ceiling, self.delta_ceiling))
        found = db.execute(_OVER, {**cost, "most": most, "most_delta": most_delta}).fetchone()
        if found is None:
            return
        row, metric, epsilon, delta, mixed = found
        if mixed:
            rule = f"its {what} is counted in {metric} and this release in {cost['metric']}, which do not add"
            advice = 'keep to one metric, or use a ledger made with metric="l2"'
            raise InputError(f"Row {row}: {rule}. Nothing was spent; {advice}.")
        if math.isinf(cost["epsilon"]):
            rule = "this release promises nothing (infinite epsilon) and the ledger has a ceiling"
        elif epsilon > most:
            rule = f"its {what} would reach epsilon {epsilon:.6g} ({cost['metric']}), ceiling {self.ceiling}"
        else:
            rule = f"its {what} would reach delta {delta:.3g}, ceiling {self.delta_ceiling}"
        raise BudgetError(f"Row {row}: {rule}. Nothing was spent; drop the row or raise the ceiling.", row)

    def _create(self, key_id: str) -> None:
        """Make an empty ledger beside its final name, then give it that name: no half ledger can be seen."""
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".ledger-")  # mode 0600
            os.close(handle)
            with closing(sqlite3.connect(name)) as db:
                db.executescript(_SCHEMA)
                meta = [("key_id", key_id), ("metric", self.metric)]
                db.executemany("INSERT INTO meta VALUES (?, ?)", meta)
                db.commit()
            place_new(Path(name), self.path)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"The ledger {self.path} cannot be created: {error}.") from error

    def _check(self, key_id: str) -> None:
        """Refuse a file that is not a ledger, or one of another secret or way of counting."""
        # Never open the file outside SQLite: closing it would drop this process's locks on it.
        require_private(self.path.stat(), self.path)
        with self._transaction("BEGIN") as db:
            kind = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            if kind == [_APPLICATION, 1]:
                raise ArtifactError(
                    f"The ledger {self.path} was made by version 0.1, which named accounts after the text as "
                    "it was written: no text would be found in it. Start a new one, and lower its ceiling by "
                    "what was spent."
                )
            if kind != [_APPLICATION, _VERSION]:
                raise ArtifactError(f"{self.path} is not a ledger of this version.")
            meta = dict(db.execute("SELECT name, value FROM meta"))
        if meta.get("key_id") != key_id:
            made = f"The ledger {self.path} was made with the secret {meta.get('key_id')}"
            raise ArtifactError(f"{made}. Found {key_id}, under which no text would be recognised.")
        if meta.get("metric") != self.metric:
            raise ArtifactError(f'The ledger {self.path} must be opened with metric="{meta.get("metric")}".')

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
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


def _price(g: Guarantee, shape: str | None, counting: Counting) -> dict[str, Any]:
    """Say what one release costs, by the rule at the top of this file."""
    figures = (g.epsilon, g.delta, g.slack, g.worst_case_l2)
    if not (all(x >= 0 for x in figures) and g.delta <= 1 and g.releases >= 1):  # also catches NaN
        raise ParameterError(f"A guarantee must have non-negative figures. Found {g.to_dict()}.")
    metric, epsilon, delta = str(g.metric), float(g.epsilon), float(g.delta)
    if counting == "l2" or (metric == "mahalanobis" and shape is None):
        metric, epsilon = "l2", float(g.worst_case_l2)
    elif metric == "mahalanobis":
        metric = f"mahalanobis:{sha256(str(shape).encode()).hexdigest()[:16]}"
    if not g.is_private or math.isinf(epsilon):
        metric, epsilon, delta = "none", math.inf, 1.0
    cost = {"metric": metric, "epsilon": epsilon, "delta": delta}
    return {**cost, "slack": float(g.slack), "releases": int(g.releases)}


def _stream_number(db: sqlite3.Connection, stream: str, mechanism: str, cost: dict[str, Any]) -> int:
    """Number a stream, whose terms must never change because its id covers every parameter."""
    terms = repr((mechanism, *cost.values()))
    db.execute("INSERT OR IGNORE INTO streams (name, terms) VALUES (?, ?)", (stream, terms))
    number, known = db.execute("SELECT id, terms FROM streams WHERE name = ?", (stream,)).fetchone()
    if known != terms:
        raise InputError(f"The stream {stream} was recorded with another guarantee. Nothing was spent.")
    return int(number)


def _load(db: sqlite3.Connection, batch: Iterable[tuple[int, bytes, bytes]], stream: int | None) -> None:
    """Put the batch in a table of this connection and count, for each unit, the rows that cost something."""
    # Sticky noise costs once however often a text appears, so only the first row of each is kept.
    once = "" if stream is None else ", UNIQUE (unit, text)"
    db.execute(f"CREATE TEMP TABLE batch (row INTEGER, unit BLOB, text BLOB, held INTEGER DEFAULT 0{once})")
    db.executemany("INSERT OR IGNORE INTO batch (row, unit, text) VALUES (?, ?, ?)", batch)
    if stream is not None:
        known = "SELECT 1 FROM held AS h WHERE h.unit = batch.unit AND h.text = batch.text AND h.stream = ?"
        db.execute(f"UPDATE batch SET held = 1 WHERE EXISTS ({known})", (stream,))
    db.execute(
        "CREATE TEMP TABLE charge AS SELECT unit, COUNT(*) - SUM(held) AS n, "
        "MIN(CASE held WHEN 0 THEN row END) AS row FROM batch GROUP BY unit"
    )


def _record(db: sqlite3.Connection, cost: dict[str, Any], stream: int | None) -> tuple[int, float]:
    """Add the costs to the accounts; return how many rows cost something and the highest account touched."""
    added = ", ".join(f"{x} = {x} + excluded.{x}" for x in ("epsilon", "delta", "slack", "releases"))
    db.execute(
        "INSERT INTO accounts SELECT unit, :metric, n * :epsilon, n * :delta, n * :slack, n * :releases "
        f"FROM charge WHERE n > 0 ON CONFLICT (unit) DO UPDATE SET {added}",
        cost,
    )
    if stream is not None:
        db.execute("INSERT INTO held SELECT unit, text, ? FROM batch WHERE held = 0", (stream,))
    touched = "SELECT SUM(n), MAX(epsilon) FROM charge JOIN accounts USING (unit)"
    charged, highest = db.execute(touched).fetchone()
    return charged or 0, highest or 0.0
