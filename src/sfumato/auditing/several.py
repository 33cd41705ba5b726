"""Several concepts in one audit: each judged by itself, and the worst decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.auditing.result import Audit, ConceptResult
from sfumato.auditing.verdict import Outcome
from sfumato.errors import InputError

_WORSE: tuple[Outcome, ...] = ("pass", "measured", "refused", "fail")
"""From good to bad."""


@dataclass(frozen=True, slots=True)
class Unaudited:
    """A concept that could not be audited, such as one that hardly any text holds."""

    name: str
    error: InputError


def together(found: Sequence[Audit | Unaudited]) -> Audit:
    """One audit of all: the worst concept's figures and verdict, and a line for each."""
    audits = [each for each in found if isinstance(each, Audit)]
    absent = [each for each in found if isinstance(each, Unaudited)]
    if not audits:
        raise absent[0].error
    results = tuple(_result(each) for each in found)
    worst = max(audits, key=_badness)
    if len(found) == 1:
        return replace(worst, concepts=results)
    verdict = worst.verdict
    reason = f"The worst of {len(found)} concepts is {worst.concept}. {verdict.reason}"
    if absent and verdict.outcome != "fail":
        names = ", ".join(each.name for each in absent)
        reason = f"No verdict on all: {names} could not be audited. Of the others: {reason}"
        verdict = replace(verdict, outcome="refused")
    return replace(worst, concepts=results, verdict=replace(verdict, reason=reason))


def _badness(found: Audit) -> tuple[int, float]:
    row = found.verdict.row
    return _WORSE.index(found.verdict.outcome), (row.figure or 0.0) if row is not None else 0.0


def _result(found: Audit | Unaudited) -> ConceptResult:
    if isinstance(found, Unaudited):
        return ConceptResult(name=found.name, outcome="refused", reason=f"No verdict: {found.error}")
    verdict: Any = found.verdict
    return ConceptResult(
        name=found.concept,
        outcome=verdict.outcome,
        reason=verdict.reason,
        row=verdict.row,
        worst_case=found.worst_case,
        oracle=found.oracle,
        cautions=found.cautions,
    )
