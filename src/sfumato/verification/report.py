"""What a verification found: one row for each check, and the verdict over all of them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

Layer = Literal["epsilon", "tokens", "law", "bits", "cases"]
"""epsilon: loss in few dimensions; tokens: loss of words decoded from releases; law: goodness of fit;
bits: low-order bits; cases: what is checked."""

ALPHA = 1e-9
"""Chance of a false alarm in one check: a run makes some hundreds, so a thousand runs stay silent."""

CAVEAT = "this can falsify a sampler, it cannot prove one"


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check of one mechanism."""

    mechanism: str
    variant: str
    """Which configuration of the mechanism, such as "dense"; empty when there is only one."""
    layer: Layer
    check: str
    dim: int
    claim: str
    measured: str
    value: float
    """The p-value, epsilon bound, integral or count behind `measured`."""
    limit: float
    """The number that `value` is held against."""
    passed: bool

    @property
    def label(self) -> str:
        """Mechanism and variant in one name."""
        return f"{self.mechanism}, {self.variant}" if self.variant else self.mechanism

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form."""
        values = asdict(self)
        values["value"] = self.value if math.isfinite(self.value) else str(self.value)
        return values


@dataclass(frozen=True, slots=True)
class Verification:
    """Every row of one run; it passes when all of them do."""

    rows: tuple[CheckRow, ...]
    promises: dict[str, str]
    """The metric in which each checked configuration makes its promise, or "no promise"."""
    seconds: float
    quick: bool
    seed: int | None
    """The seed of a repeatable run; None for secure randomness."""

    @property
    def passed(self) -> bool:
        """Whether there are rows and none of them failed."""
        return bool(self.rows) and all(row.passed for row in self.rows)

    @property
    def failures(self) -> tuple[CheckRow, ...]:
        """The rows that failed."""
        return tuple(row for row in self.rows if not row.passed)

    @property
    def verdict(self) -> str:
        """One line for people."""
        if self.passed:
            return f"pass: none of {len(self.rows)} checks found a fault; {CAVEAT}"
        names = dict.fromkeys(row.label for row in self.failures)
        return f"fail: {len(self.failures)} of {len(self.rows)} checks failed ({', '.join(names)}); {CAVEAT}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form of the whole run."""
        return {
            "verdict": "pass" if self.passed else "fail",
            "summary": self.verdict,
            "checks": len(self.rows),
            "failed": len(self.failures),
            "alpha": ALPHA,
            "quick": self.quick,
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "promises": self.promises,
            "rows": [row.to_dict() for row in self.rows],
        }
