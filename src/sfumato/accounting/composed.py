"""Accounts that count by curves: how many releases of each kind a text has had, and what they tell together.

An account is a number of fresh releases of each law of the loss; the laws themselves are kept beside it, so
that a ledger goes on after a restart and under another protector. What all of them together tell is computed
by convolution (`accounting.curves`), on the safe side. For a ceiling the question is turned round: how many
releases of one law fit beside those of others? That number is found once and compared with from then on.
"""

from __future__ import annotations

import math
import sqlite3
from hashlib import sha256
from typing import Any

import numpy as np

from sfumato.accounting.curves import MOST_RELEASES, GridLoss, summed
from sfumato.errors import ArtifactError, BudgetError

History = tuple[tuple[int, int], ...]
"""How many releases of each law, by the laws' numbers."""

NO_LAW = 0
"""Of releases whose loss has no law: they tell inputs apart."""
MOST_LAWS = 8
"""Of one account; a release under yet another one is refused."""
_MOST_CELLS = 1 << 16
_COLUMNS = (
    "mechanism", "distance", "exponent", "first", "mean", "mean_error", "wrong", "mu", "largest", "slack",
)  # fmt: skip
_CHARGED = """SELECT c.row, c.n, k.law, k.n, b.metric, b.epsilon, b.delta, b.slack
    FROM charge AS c LEFT JOIN composed AS k USING (unit) LEFT JOIN before AS b USING (unit)
    WHERE c.n > 0 ORDER BY c.row, k.law"""
_STEPS = sorted({math.ceil(2 ** (step / 4)) for step in range(4 * 14)})
"""Counts that releases of other laws are rounded up to, so that few sums have to be computed."""


class ComposedAccounts:
    """What composed releases tell, for one ledger; sums that were computed are remembered."""

    def __init__(self, ceiling: float | None) -> None:
        self.ceiling = ceiling
        self._laws: dict[int, GridLoss] = {}
        self._most: dict[tuple[History, int, float], int] = {}

    def number(self, db: sqlite3.Connection, loss: GridLoss | None, mechanism: str) -> int:
        """The number of a law in this ledger, which keeps a new one."""
        if loss is None:
            return NO_LAW
        known = db.execute("SELECT id FROM laws WHERE name = ?", (loss.name,)).fetchone()
        if known is not None:
            return int(known[0])
        masses = np.ascontiguousarray(loss.masses, "<f8").tobytes()
        # Plain numbers, as they come back: those of numpy are written otherwise.
        values = [mechanism, *(_plain(getattr(loss, each)) for each in _COLUMNS[1:])]
        names = ", ".join(("name", *_COLUMNS, "masses", "digest"))
        marks = ", ".join("?" * (len(_COLUMNS) + 3))
        row = (loss.name, *values, masses, _digest(loss.name, values, masses))
        return int(db.execute(f"INSERT INTO laws ({names}) VALUES ({marks})", row).lastrowid or 0)

    def refuse_over(
        self, db: sqlite3.Connection, law: int, releases: int, own: dict[str, Any], distance: float, what: str
    ) -> None:
        """Raise for the first row whose account would pass the ceiling.

        Args:
            db: where `charge` says how many releases each account is to have.
            law: of these releases.
            releases: how many each row counts for.
            own: the same release priced as a sum, to compare with what was spent as one.
            distance: between the inputs that the ceiling is about.
            what: what an account is called.
        """
        if self.ceiling is None:
            return
        for row, fresh, history, before in _histories(db):
            spent = _advantage_of_sum(before, own["metric"], distance)
            if self._fits(db, history, law, fresh * releases, spent):
                continue
            if law == NO_LAW:
                rule = "this release promises nothing (inputs are told apart) and the ledger has a ceiling"
            else:
                rule = f"all releases of its {what} together would pass the advantage {self.ceiling:g}"
                rule += " with what was spent before curves were counted" if spent else ""
            raise BudgetError(
                f"Row {row}: {rule}. Nothing was spent; drop the row or raise the ceiling.", row
            )

    def record(self, db: sqlite3.Connection, law: int, releases: int) -> None:
        """Put the releases that `charge` counts on their accounts."""
        db.execute(
            "INSERT INTO composed SELECT unit, ?, n * ? FROM charge WHERE n > 0 "
            "ON CONFLICT (unit, law) DO UPDATE SET n = n + excluded.n",
            (law, releases),
        )

    def advantage(self, db: sqlite3.Connection, unit: bytes) -> float:
        """At most this is the total variation over all releases on an account."""
        if db.execute("SELECT 1 FROM before WHERE unit = ?", (unit,)).fetchone():
            return 1.0  # a sum in a metric: how far apart the inputs are is not known here
        history = tuple(db.execute("SELECT law, n FROM composed WHERE unit = ? ORDER BY law", (unit,)))
        return self._advantage(db, history)

    def _fits(self, db: sqlite3.Connection, history: History, law: int, fresh: int, spent: float) -> bool:
        assert self.ceiling is not None
        counts = dict(history)
        others = tuple((each, _rounded(n)) for each, n in history if each != law)
        # Two independent parts tell at most 1 - (1 - a)(1 - b) together.
        allowed = 1 - (1 - self.ceiling) / (1 - spent) if spent < 1 else -1.0
        if NO_LAW in (law, *counts) or len(others) >= MOST_LAWS or allowed <= 0:
            return False
        return counts.get(law, 0) + fresh <= self._most_of(db, others, law, allowed)

    def _most_of(self, db: sqlite3.Connection, others: History, law: int, allowed: float) -> int:
        """How many releases of a law fit beside others: the answer is checked, whatever led to it."""
        known = self._most.get((others, law, allowed))
        if known is not None:
            return known
        low, high = 0, MOST_RELEASES + 1
        guess = self._guess(db, others, law, allowed)
        step = max(1, guess // 32)
        while high - low > 1:
            middle = min(max(guess, low + 1), high - 1)
            if self._advantage(db, (*others, (law, middle))) <= allowed:
                low, guess = middle, middle + step
            else:
                high, guess = middle, middle - step
            step *= 2
            if low > 0 and high <= MOST_RELEASES:
                guess = (low + high) // 2
        self._most[others, law, allowed] = low
        return low

    def _guess(self, db: sqlite3.Connection, others: History, law: int, allowed: float) -> int:
        """The same for normal losses: total variation erf(mu/sqrt(8)), and mu^2 adds."""
        from scipy.special import erfinv

        square = 8 * float(erfinv(min(allowed, 1 - 1e-12))) ** 2
        square -= sum(n * self._law(db, each).mu ** 2 for each, n in others)
        return int(min(max(square / max(self._law(db, law).mu ** 2, 1e-30), 1.0), MOST_RELEASES))

    def _advantage(self, db: sqlite3.Connection, history: History) -> float:
        if not history:
            return 0.0
        if any(law == NO_LAW for law, _ in history) or sum(n for _, n in history) > 2 * MOST_RELEASES:
            return 1.0
        return summed([(self._law(db, law), n) for law, n in history]).advantage

    def _law(self, db: sqlite3.Connection, number: int) -> GridLoss:
        """A law as the ledger keeps it; one that was changed is refused."""
        if number not in self._laws:
            names = ", ".join(("name", *_COLUMNS, "masses", "digest"))
            row = db.execute(f"SELECT {names} FROM laws WHERE id = ?", (number,)).fetchone()
            if row is None or row[-1] != _digest(row[0], list(row[1:-2]), row[-2]):
                raise ArtifactError(
                    "The ledger holds a law of losses that was changed or is gone. Restore it."
                )
            masses = np.frombuffer(row[-2], "<f8")
            values = dict(zip(_COLUMNS[1:], row[2:-2], strict=True))
            if not 1 <= len(masses) <= _MOST_CELLS:
                raise ArtifactError("The ledger holds a law of losses of another kind. Restore it.")
            self._laws[number] = GridLoss(masses=masses, name=row[0], **values)
        return self._laws[number]


def _plain(value: Any) -> int | float:
    return int(value) if isinstance(value, int | np.integer) else float(value)


def _digest(name: str, values: list[Any], masses: bytes) -> bytes:
    return sha256(repr((name, values)).encode() + masses).digest()


def _rounded(count: int) -> int:
    return next((step for step in _STEPS if step >= count), count)


def _histories(db: sqlite3.Connection) -> list[tuple[int, int, History, tuple[Any, ...] | None]]:
    """Row, fresh releases, history and earlier sum of each account to be charged, alike ones once."""
    accounts: dict[int, tuple[int, list[tuple[int, int]], tuple[Any, ...] | None]] = {}
    for row, fresh, law, n, *before in db.execute(_CHARGED):
        own = accounts.setdefault(row, (fresh, [], None if before[1] is None else tuple(before)))
        if law is not None:
            own[1].append((law, n))
    seen: dict[Any, int] = {}
    for row, (fresh, history, before) in accounts.items():
        seen.setdefault((fresh, tuple(history), before), row)
    return [(row, *key) for key, row in sorted(seen.items(), key=lambda each: each[1])]


def _advantage_of_sum(before: tuple[Any, ...] | None, metric: str, distance: float) -> float:
    """What an epsilon that was spent as a sum tells of two inputs at a distance in its metric, at most.

    (epsilon, delta) bounds the total variation by tanh(epsilon/2) + delta.
    """
    if before is None:
        return 0.0
    spent_in, epsilon, delta, slack = before
    if epsilon == 0:
        return 0.0
    if spent_in not in (metric, "bounded"):
        return 1.0
    nominal = epsilon * (1.0 if spent_in == "bounded" else distance) + slack
    return float(min(1.0, math.tanh(nominal / 2) + delta))
