"""What an audit runs: two suites of attacks, and what decides the verdict."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from sfumato.auditing.verdict import Limits
from sfumato.errors import ParameterError
from sfumato.numbers import finite_number, whole_number

SuiteName = Literal["quick", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """How much of everything an audit does."""

    rows: int
    """Most texts with the concept: some the attacker learns from, the others are attacked."""
    pool: int
    """Most texts in all; those without the concept are there for search and to be told apart."""
    seeds: int
    """Runs of the token attack, each with another seed and pooled; attacks that write texts run once."""
    draws: int
    """Releases of the attacked texts that one fitted attack reads, each by itself; they are pooled."""
    epochs: int
    copies: int
    """Texts with another term put in that the attacker makes of each of his own, where he may query."""
    informed: int
    """Texts of which the informed attacker knows everything but the term."""
    candidates: int
    """Most terms he chooses from."""
    linked: int
    """Releases that are to be told apart among all texts of the pool."""
    averaged: int
    """Releases of one text that are averaged."""
    written: int
    """Attacked texts that an attack which writes texts reads: it is slow."""
    searches: int
    """Most searches, or pairs, that utility is measured on."""
    attacks: tuple[str, ...]
    """Trained attacks of the table."""
    baselines: tuple[str, ...] | None
    """Baselines to compare with; None for all that are installed."""


SUITES: dict[SuiteName, Suite] = {
    "quick": Suite(
        rows=1000, pool=1600, seeds=1, draws=3, epochs=25, copies=2, informed=40, candidates=30, linked=60,
        averaged=8, written=150, searches=400, attacks=("tokens",),
        baselines=("laplace", "sparse", "suppression", "leace", "removal"),
    ),
    "full": Suite(
        rows=4000, pool=8000, seeds=3, draws=3, epochs=40, copies=8, informed=200, candidates=100, linked=200,
        averaged=16, written=300, searches=2000, attacks=("tokens", "decoder", "minilm"), baselines=None,
    ),
}  # fmt: skip


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
