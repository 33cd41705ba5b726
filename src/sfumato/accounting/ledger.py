"""What has been spent on each text: written before a release leaves, refused over the ceiling.

Losses add only in one metric, so an account keeps the metric of its first spend and refuses others. A ledger
with `metric="own"` counts each guarantee's own epsilon. Mahalanobis epsilons add only for one noise shape:
pass its digest as `shape`, else the worst case per unit of Euclidean distance is counted. With `metric="l2"`
that worst case is counted for all, and mechanisms may be mixed. No promise is an infinite epsilon anywhere.

With `metric="curve"` it counts how many releases of each kind there were, and what all of them together tell
of two inputs at a distance (`accounting.composed`): its ceiling is that advantage, and mechanisms may be
mixed. Epsilon is then the largest loss between such inputs, for the record.

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
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from sfumato.accounting.composed import ComposedAccounts
from sfumato.accounting.curves import GridLoss
from sfumato.accounting.guarantee import Guarantee
from sfumato.accounting.keys import Secret
from sfumato.accounting.ledger_file import Counting, LedgerFile
from sfumato.accounting.pricing import load_batch, price, record_batch, stream_number
from sfumato.accounting.sticky import keyed_digests
from sfumato.errors import BudgetError, InputError, ParameterError
from sfumato.numbers import finite_number

_ID_BYTES = 16
_TEXT, _UNIT = b"sfumato ledger text", b"sfumato ledger unit"
_STREAM = re.compile(r"[0-9a-f]{48}")
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
    advantage: float | None = None
    """Where curves are counted: at most this is what all releases together tell of two inputs."""


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
        ceiling_advantage: float | None = None,
        distance: float | None = None,
    ) -> None:
        """Open a ledger, or make one.

        Args:
            path: its file.
            secret: names accounts; always the same for one ledger.
            ceiling: the most epsilon that one account may spend; None for no limit.
            delta_ceiling: the same for delta.
            metric: how it counts, see above.
            ceiling_advantage: for `metric="curve"`, the most that all releases on one account may tell: how
                much better than a coin an attacker tells two inputs apart.
            distance: between these two, in the mechanism's metric, where the protector keeps none itself.
        """
        if not isinstance(secret, Secret):
            raise ParameterError(f"`secret` must be a Secret. Found {type(secret).__name__}.")
        if metric not in get_args(Counting):
            raise ParameterError(f'`metric` must be "own", "l2" or "curve". Found {metric!r}.')
        for name, limit in (("ceiling", ceiling), ("delta_ceiling", delta_ceiling)):
            if limit is not None and not (isinstance(limit, int | float) and 0 < limit < math.inf):
                raise ParameterError(f"`{name}` must be a number over 0, or None for none. Found {limit!r}.")
        _refuse_other_ceilings(metric, ceiling, delta_ceiling, ceiling_advantage, distance)
        self.path, self.metric = Path(path), metric
        self.ceiling, self.delta_ceiling = ceiling, delta_ceiling
        self.ceiling_advantage, self.distance = ceiling_advantage, distance
        self._secret = secret  # and no subkeys: it keeps the ledger from being pickled with a key inside
        self._file = LedgerFile(self.path, secret.key_id, metric)
        self._composed = ComposedAccounts(ceiling_advantage)

    def spend(
        self,
        texts: Iterable[str],
        guarantee: Guarantee,
        *,
        stream: str | None = None,
        unit: str | Sequence[str] | None = None,
        shape: str | None = None,
        loss: GridLoss | None = None,
    ) -> Receipt:
        """Record one release of each text, all or none, on the account of its `unit`, or else on its own.

        Args:
            texts: names of what is released.
            guarantee: what each release promises.
            stream: of sticky noise, which costs once; None for fresh noise.
            unit: the account, or one a row.
            shape: digest of the noise's shape.
            loss: its privacy loss (`accounting.curves.loss_of`), for a ledger that counts curves.
        """
        if stream is not None and not (isinstance(stream, str) and _STREAM.fullmatch(stream)):
            raise ParameterError("`stream` must be an id made by `Sticky.stream_id` (48 hex digits).")
        cost = price(guarantee, shape, self.metric, loss)
        names = units = keyed_digests(self._secret.derive(_TEXT), texts, size=_ID_BYTES)
        if unit is not None:
            each = [unit] * len(names) if isinstance(unit, str) else unit
            units = keyed_digests(self._secret.derive(_UNIT), each, "unit", _ID_BYTES)
        if len(units) != len(names):
            raise InputError(f"`unit` must name one unit a row. Found {len(units)} for {len(names)} rows.")
        with self._file.transaction("BEGIN IMMEDIATE") as db:
            number = None if stream is None else stream_number(db, stream, guarantee.mechanism, cost)
            load_batch(db, zip(range(len(names)), units, names, strict=True), number)
            what = "text" if unit is None else "unit"
            if self.metric == "curve":
                self._compose(db, guarantee, shape, loss, what)
            else:
                self._refuse_over(db, cost, what)
            charged, highest = record_batch(db, cost, number)
            values = (stream[:16] if stream else "fresh", stream, guarantee.mechanism, guarantee.proof)
            paid = (cost["metric"], cost["epsilon"], cost["delta"])
            entry = (time.time(), *values, *paid, len(names), charged)
            db.execute("INSERT INTO spends VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entry)
        remaining = None if self.ceiling is None else max(0.0, self.ceiling - highest)
        return Receipt(len(names), charged, *paid, highest, remaining)

    def _compose(
        self,
        db: sqlite3.Connection,
        guarantee: Guarantee,
        shape: str | None,
        loss: GridLoss | None,
        what: str,
    ) -> None:
        """Put a batch on accounts that count curves, unless one would pass the ceiling."""
        law = self._composed.number(db, loss, guarantee.mechanism)
        own, releases = price(guarantee, shape, "own"), int(guarantee.releases)
        distance = math.inf if loss is None else loss.distance
        self._composed.refuse_over(db, law, releases, own, distance, what)
        self._composed.record(db, law, releases)

    def spent(self, text: str | None = None, *, unit: str | None = None) -> Spend:
        """Look up what has been spent on one text, or on one unit."""
        if (text is None) == (unit is None):
            raise ParameterError("`spent` needs a text or a unit, and not both.")
        label, name = (_TEXT, text) if unit is None else (_UNIT, unit)
        account = keyed_digests(self._secret.derive(label), [name or ""], size=_ID_BYTES)
        with self._file.transaction("BEGIN") as db:
            row = db.execute(_SPENT.format("WHERE unit = ?"), account).fetchone()
            told = self._composed.advantage(db, account[0]) if self.metric == "curve" else None
        return replace(Spend(*row) if row else Spend(), advantage=told)

    def total(self) -> dict[str, Spend]:
        """Add up everything spent, by metric, as if all texts were one person's."""
        with self._file.transaction("BEGIN") as db:
            return {row[2]: Spend(*row) for row in db.execute(_SPENT.format(""))}

    def summary(self) -> dict[str, Any]:
        """Count accounts by metric, and spends by key and mechanism, for a report (JSON-ready, no text)."""
        limits = {"ceiling": self.ceiling, "delta_ceiling": self.delta_ceiling}
        limits |= {"ceiling_advantage": self.ceiling_advantage} if self.metric == "curve" else {}
        result: dict[str, Any] = {"metric": self.metric, **limits}
        with self._file.transaction("BEGIN") as db:
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


def _refuse_other_ceilings(
    metric: Counting,
    ceiling: float | None,
    delta_ceiling: float | None,
    advantage: float | None,
    distance: float | None,
) -> None:
    """Refuse a ceiling that a ledger of this kind would not look at."""
    if metric == "curve":
        if ceiling is not None or delta_ceiling is not None:
            raise ParameterError(
                "A ledger that counts curves has no ceiling of epsilon or delta. Give `ceiling_advantage`."
            )
        if advantage is not None:
            finite_number(advantage, "ceiling_advantage", 1e-6, 1 - 1e-9)
        if distance is not None:
            finite_number(distance, "distance", 1e-12, 1e6)
    elif advantage is not None or distance is not None:
        raise ParameterError(
            'A ceiling of advantage, and a distance, are for a ledger that counts curves (metric="curve").'
        )
