"""What one release costs, and the accounts it is put on."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from sfumato.accounting.curves import GridLoss
from sfumato.accounting.guarantee import Guarantee
from sfumato.accounting.ledger_file import Counting
from sfumato.errors import InputError, ParameterError


def price(
    g: Guarantee, shape: str | None, counting: Counting, loss: GridLoss | None = None
) -> dict[str, Any]:
    """Say what one release costs, by the rules at the top of `accounting.ledger`."""
    figures = (g.epsilon, g.delta, g.slack, g.worst_case_l2)
    if not (all(x >= 0 for x in figures) and g.delta <= 1 and g.releases >= 1):  # also catches NaN
        raise ParameterError(f"A guarantee must have non-negative figures. Found {g.to_dict()}.")
    metric, epsilon, delta = str(g.metric), float(g.epsilon), float(g.delta)
    if counting == "curve":
        metric, epsilon, delta = "curve", math.inf if loss is None else float(loss.largest), 0.0
    elif counting == "l2" or (metric == "mahalanobis" and shape is None):
        metric, epsilon = "l2", float(g.worst_case_l2)
    elif metric == "mahalanobis":
        metric = f"mahalanobis:{sha256(str(shape).encode()).hexdigest()[:16]}"
    if counting != "curve" and (not g.is_private or math.isinf(epsilon)):
        metric, epsilon, delta = "none", math.inf, 1.0
    cost = {"metric": metric, "epsilon": epsilon, "delta": delta}
    return {**cost, "slack": float(g.slack), "releases": int(g.releases)}


def stream_number(db: sqlite3.Connection, stream: str, mechanism: str, cost: dict[str, Any]) -> int:
    """Number a stream, whose terms must never change because its id covers every parameter."""
    curve = cost["metric"] == "curve"
    terms = repr((mechanism, "curve")) if curve else repr((mechanism, *cost.values()))
    db.execute("INSERT OR IGNORE INTO streams (name, terms) VALUES (?, ?)", (stream, terms))
    number, known = db.execute("SELECT id, terms FROM streams WHERE name = ?", (stream,)).fetchone()
    # A ledger that counted sums before has streams in their terms.
    if known != terms and not (curve and known.startswith(repr((mechanism,))[:-1])):
        raise InputError(f"The stream {stream} was recorded with another guarantee. Nothing was spent.")
    return int(number)


def load_batch(db: sqlite3.Connection, batch: Iterable[tuple[int, bytes, bytes]], stream: int | None) -> None:
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


def record_batch(db: sqlite3.Connection, cost: dict[str, Any], stream: int | None) -> tuple[int, float]:
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
