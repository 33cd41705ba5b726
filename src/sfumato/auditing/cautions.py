"""What a verdict alone would hide: said beside it, on the screen, on the page and in JSON."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.auditing.verdict import Limits, Verdict
from sfumato.trials.questions.oracle import Oracle
from sfumato.trials.rows import AttackRow, percent

WORTH_A_WORD = 0.10
"""Leakage that is pointed out where no limit was set."""


def cautions(
    verdict: Verdict,
    worst: AttackRow | None,
    oracle: Oracle | None,
    limits: Limits,
    attacks: Sequence[AttackRow],
) -> tuple[str, ...]:
    """What a reader of the verdict has to know.

    Args:
        verdict: what was judged.
        worst: the informed attacker.
        oracle: who asked for releases.
        limits: what passes.
        attacks: every attack that was run.
    """
    found = []
    if verdict.outcome in ("pass", "measured") and verdict.row is not None:
        found += _absolute(verdict.row, limits)
        found += _missed(verdict.row, limits)
    found += _informed(verdict, worst, limits)
    if oracle is not None and oracle.missed is not None and oracle.missed.low > oracle.chance:
        right = round(oracle.missed.value * oracle.missed.count)
        found.append(
            f"Where the protector does not find the term, whoever may ask it names {right} of "
            f"{oracle.missed.count}."
        )
    if any(row.floor is None for row in attacks):
        found.append(
            "What the rest of the text gives away was not measured, because there is no encoder: name it "
            "with --embedder."
        )
    return tuple(found)


def _absolute(row: AttackRow, limits: Limits) -> list[str]:
    least = WORTH_A_WORD if limits.excess is None else limits.excess
    if limits.absolute is not None or row.by != "excess" or row.absolute is None or row.absolute <= least:
        return []
    return [
        f"The released vectors still name {percent(row.released)} of the terms where a constant guess names "
        f"{percent(row.prior)}: an absolute leakage of {percent(row.absolute)}. The excess does not show it, "
        f"because the same attack names {percent(row.floor or 0.0)} where the concept is removed: the rest "
        "of the text, or what the detector does not find, gives it away."
    ]


def _missed(row: AttackRow, limits: Limits) -> list[str]:
    """Leakage that all rows together hide: that of texts in which the protector misses a term."""
    missed = None if row.finding is None else row.finding.missed
    least = WORTH_A_WORD if limits.excess is None else limits.excess
    if missed is None or missed.excess is None or missed.excess <= least:
        return []
    return [
        f"In {missed.count} of the attacked texts the protector misses a term; of those texts alone the "
        f"excess leakage is {percent(missed.excess)}."
    ]


def _informed(verdict: Verdict, worst: AttackRow | None, limits: Limits) -> list[str]:
    if worst is None or worst is verdict.row or worst.excess is None or not worst.works:
        return []
    if worst.excess <= (WORTH_A_WORD if limits.excess is None else limits.excess):
        return []
    return [
        f"Whoever knows a text but for the term names it in {percent(worst.released)} of cases "
        f"({percent(worst.control)} from clean vectors, {percent(worst.floor or 0.0)} by chance)."
    ]
