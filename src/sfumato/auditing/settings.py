"""What an audit runs, and what decides the verdict."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from sfumato.auditing.verdict import Limits
from sfumato.errors import ParameterError
from sfumato.numbers import finite_number, whole_number
from sfumato.trials.suite import SUITES, Suite, SuiteName


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """How an audit is run; the same settings and inputs give the same figures."""

    suite: SuiteName = "quick"
    fail_above: float | None = None
    """Excess leakage above which the verdict is "fail"; None sets no limit."""
    fail_absolute_above: float | None = None
    """The same for absolute leakage, which is counted from a constant guess."""
    worst_case: bool = False
    """Whether the informed attacker counts for the verdict, too."""
    baselines: bool = False
    """Whether to put other defences beside the one that is audited."""
    attacks: tuple[str, ...] = ()
    """More trained attacks of the table, by name."""
    rows: int | None = None
    """Most texts with the concept, in place of the suite's number."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every field."""
        if self.suite not in get_args(SuiteName):
            raise ParameterError(
                f"`suite` must be one of {', '.join(get_args(SuiteName))}. Found {self.suite!r:.40}."
            )
        for name in ("fail_above", "fail_absolute_above"):
            if getattr(self, name) is not None:
                finite_number(getattr(self, name), name, 0.0, 1.0)
        if self.rows is not None:
            whole_number(self.rows, "rows", 60, 10**6)
        whole_number(self.seed, "seed", 0, 2**40)

    def limits(self) -> Limits:
        """What passes."""
        return Limits(self.fail_above, self.fail_absolute_above)

    def plan(self) -> Suite:
        """The suite with what these settings change in it."""
        chosen = SUITES[self.suite]
        attacks = tuple(dict.fromkeys((*chosen.attacks, *self.attacks)))
        if self.rows is None:
            return replace(chosen, attacks=attacks)
        pool = max(self.rows, round(self.rows * chosen.pool / chosen.rows))
        return replace(chosen, attacks=attacks, rows=self.rows, pool=pool)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"attacks": list(self.attacks)}
