"""The verdict: pass, fail or refused, and what was measured in words; it never says that anything is safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.auditing.control import MARGIN
from sfumato.auditing.rows import AttackRow

Outcome = Literal["pass", "fail", "refused"]
EXIT_CODES: dict[Outcome, int] = {"pass": 0, "fail": 1, "refused": 3}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an audit says in the end."""

    outcome: Outcome
    reason: str
    """In words, with the figures it rests on."""
    row: AttackRow | None
    """The attack it rests on: the one that gets furthest of those that work; None where none was run."""

    @property
    def exit_code(self) -> int:
        """What the command returns."""
        return EXIT_CODES[self.outcome]


def percent(value: float) -> str:
    """A share as people write it; small ones with a digit more."""
    number = 100 * value
    return f"{number:.1f} %" if abs(number) < 9.95 else f"{number:.0f} %"


def decide(rows: Sequence[AttackRow], fail_above: float | None, *, missing: str = "") -> Verdict:
    """Judge an audit by the attacks that count.

    Args:
        rows: every attack that was run.
        fail_above: the highest excess leakage that passes; None sets no limit.
        missing: why an attack that was asked to count could not be run.
    """
    counted = [row for row in rows if row.counts]
    if missing:
        return Verdict("refused", f"No verdict: {missing}.", _furthest(counted))
    working = [row for row in counted if row.works and row.excess is not None]
    if not working:
        return Verdict("refused", _refusal(counted), _furthest(counted))
    row = max(working, key=lambda row: row.excess or 0.0)
    excess = row.excess or 0.0
    said = _measured(row)
    if fail_above is None:
        return Verdict("pass", f"{said} No limit was set, so nothing was failed or passed.", row)
    reach = ""
    if row.interval is not None and row.interval[0] <= fail_above < row.interval[1]:
        reach = " The interval reaches across the limit: more texts would settle it."
    if excess > fail_above:
        return Verdict("fail", f"{said} That is above the limit of {percent(fail_above)}.{reach}", row)
    return Verdict("pass", f"{said} That is within the limit of {percent(fail_above)}.{reach}", row)


def _furthest(rows: Sequence[AttackRow]) -> AttackRow | None:
    return max(rows, key=lambda row: row.control, default=None)


def _measured(row: AttackRow) -> str:
    between = ""
    if row.interval is not None:
        low, high = (percent(end) for end in row.interval)
        between = f" (95 % interval {low} to {high})"
    return (
        f"The best attack tried ({row.name}) names {percent(row.released)} of the sensitive terms from the "
        f"released vectors, {percent(row.control)} from clean ones and {percent(row.floor)} where they were "
        f"removed: an excess leakage of {percent(row.excess or 0.0)}{between}."
    )


def _refusal(rows: Sequence[AttackRow]) -> str:
    row = _furthest(rows)
    if row is None:
        return "No verdict: no attack could be run."
    figures = (
        f"The best ({row.name}) names {percent(row.control)} of the sensitive terms from clean vectors, "
        f"{percent(row.floor)} where they were removed and {percent(row.prior)} by a constant guess; it has "
        f"to be {percent(MARGIN)} above both with 95 % confidence."
    )
    if row.control - row.prior > 2 * MARGIN > row.control - row.floor:
        return (
            "No verdict: the rest of the text gives the concept away, so there is nothing that hiding it in "
            f"the vectors could take from the attacker. {figures}"
        )
    return (
        "No verdict: no attack that counts reads even the clean vectors, and a failed attack proves "
        f"nothing. {figures} Give more texts with the concept, its terms, or the right encoder."
    )
