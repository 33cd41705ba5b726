"""The verdict: pass, fail, measured or refused, and what was measured in words; it never says safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sfumato.metrics.intervals import Interval
from sfumato.trials.control import MARGIN
from sfumato.trials.finding import RowClass
from sfumato.trials.rows import AttackRow, percent

Outcome = Literal["pass", "measured", "fail", "refused"]
EXIT_CODES: dict[Outcome, int] = {"pass": 0, "measured": 0, "fail": 1, "refused": 3}


@dataclass(frozen=True, slots=True)
class Limits:
    """The highest leakage that passes; None sets no limit."""

    excess: float | None = None
    absolute: float | None = None

    @property
    def none(self) -> bool:
        """Whether there is nothing to pass or fail."""
        return self.excess is None and self.absolute is None

    def passed_by(self, row: AttackRow) -> tuple[float, str] | None:
        """By how much a row goes beyond a limit, the furthest, and which limit that is in words."""
        over: list[tuple[float, str]] = []
        if self.excess is not None and row.figure is not None:
            over.append((row.figure - self.excess, f"{percent(self.excess)} for {row.by} leakage"))
        if self.absolute is not None and row.absolute is not None:
            over.append((row.absolute - self.absolute, f"{percent(self.absolute)} for absolute leakage"))
        return max((each for each in over if each[0] > 0), default=None)


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

    def trained(self, rows: Sequence[AttackRow]) -> AttackRow | None:
        """The trained attack of which classes of rows are shown: the one it rests on, or else the first."""
        first = [] if self.row is None else [self.row]
        return next((row for row in (*first, *rows) if row.finding is not None), None)


def decide(rows: Sequence[AttackRow], limits: Limits, *, missing: str = "", asked: str = "") -> Verdict:
    """Judge an audit by the attacks that count.

    Where none of them reads clean vectors, any other attack that names terms may still fail it: that a
    trained attacker is too weak here does not hide what a better one reads.

    Args:
        rows: every attack that was run.
        limits: what passes.
        missing: why an attack that was asked to count could not be run.
        asked: what the oracle got, which always stands in the verdict.
    """
    found = _decide(rows, limits, missing)
    return replace(found, reason=f"{found.reason} {asked}") if asked else found


def _decide(rows: Sequence[AttackRow], limits: Limits, missing: str) -> Verdict:
    able = [row for row in rows if row.works and row.figure is not None and row.reads in ("terms", "text")]
    basis = [row for row in able if row.counts and not row.only_fails]
    more = [row for row in able if row not in basis and not row.at_chance and (row.counts or not basis)]
    if not basis:
        least = MARGIN if limits.excess is None else limits.excess
        more = [row for row in more if (row.figure or 0.0) > least]
    judged = [*basis, *more]
    if not judged:
        return Verdict("refused", _refusal(rows, missing), _furthest(rows))
    over = {row.name: found for row in judged if (found := limits.passed_by(row)) is not None}
    if over:
        row = max((row for row in judged if row.name in over), key=lambda row: over[row.name][0])
        return Verdict(
            "fail",
            f"{measured(row)} That is above the limit of {over[row.name][1]}.{_near(row, limits)}",
            row,
        )
    row = max(judged, key=lambda row: row.figure or 0.0)
    if missing:
        return Verdict("refused", f"No verdict: {missing}. What is known: {measured(row)}", row)
    if limits.none:
        return Verdict("measured", f"{measured(row)} No limit was set, so nothing was passed or failed.", row)
    if not basis:
        return Verdict("refused", f"{_refusal(rows, missing)} What is known: {measured(row)}", row)
    return Verdict("pass", f"{measured(row)} {_within(row, limits)}{_near(row, limits)}", row)


def _within(row: AttackRow, limits: Limits) -> str:
    held = []
    if limits.excess is not None:
        held.append(f"{percent(limits.excess)} for {row.by} leakage")
    if limits.absolute is not None:
        held.append(f"{percent(limits.absolute)} for absolute leakage")
    return f"That is within the limit of {' and of '.join(dict.fromkeys(held))}."


def _near(row: AttackRow, limits: Limits) -> str:
    pairs = ((row.figure_interval, limits.excess), (row.absolute_interval, limits.absolute))
    across = any(
        ends is not None and limit is not None and ends[0] <= limit < ends[1] for ends, limit in pairs
    )
    return " The interval reaches across the limit: more texts would settle it." if across else ""


def _furthest(rows: Sequence[AttackRow]) -> AttackRow | None:
    counted = [row for row in rows if row.counts and not row.only_fails]
    return max(counted, key=lambda row: row.control, default=None)


def _between(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f" (95 % interval {percent(interval[0])} to {percent(interval[1])})"


def measured(row: AttackRow) -> str:
    """What one attack got, beside all it is to be compared with."""
    beside = [f"{percent(row.control)} from clean ones"]
    if row.floor is None:
        beside.append("not measured where they are removed")
    elif row.floor_is == "removed":
        beside.append(f"{percent(row.floor)} where they are removed from the text")
    elif row.floor != row.prior:
        beside.append(f"{percent(row.floor)} by chance")
    beside.append(f"{percent(row.prior)} by {'chance' if row.floor == row.prior else 'a constant guess'}")
    figures = []
    if row.excess is not None:
        figures.append(f"an excess leakage of {percent(row.excess)}{_between(row.interval)}")
    if row.absolute is not None and row.floor != row.prior:
        figures.append(f"an absolute leakage of {percent(row.absolute)}{_between(row.absolute_interval)}")
    said = (
        f"The best attack tried ({row.name}) names {percent(row.released)} of the sensitive terms from the "
        f"released vectors, {', '.join(beside[:-1])} and {beside[-1]}"
    )
    said += f": {' and '.join(figures)}." if figures else "."
    if row.by == "absolute" and row.floor is not None:
        said += (
            " It does not read clean vectors clearly better than the rest of the text, so the absolute "
            "leakage is what is judged."
        )
    elif row.by == "absolute":
        said += " Without a floor there is no excess, so the absolute leakage is what is judged."
    return said + _by_class(row)


def _by_class(row: AttackRow) -> str:
    """What is read where the protector finds every term, and where it misses one."""
    found, missed = (None, None) if row.finding is None else (row.finding.found, row.finding.missed)
    if found is None or missed is None or not missed.count:
        return ""
    return (
        f" Found rows, {found.count} texts in which the protector finds every term: {_class_words(found)}. "
        f"Missed rows, {missed.count} in which it misses one: {_class_words(missed)}."
    )


def _class_words(rows: RowClass) -> str:
    if rows.released is None:
        return "too few to measure"
    said = f"{percent(rows.released)} named"
    if rows.excess is not None:
        said += f", an excess of {percent(rows.excess)}{_between(rows.interval)}"
    return said


def _refusal(rows: Sequence[AttackRow], missing: str) -> str:
    row = _furthest(rows)
    if missing:
        return f"No verdict: {missing}."
    if row is None:
        return "No verdict: no attack could be run."
    known = [
        f"{each.name} names {percent(each.released)} ({percent(each.control)} from clean vectors)"
        for each in rows
        if each is not row and each.works
    ]
    return (
        "No verdict: no attack that counts reads even the clean vectors, and a failed attack proves nothing: "
        "neither that the vectors leak nor that they do not. The best "
        f"({row.name}) names {percent(row.control)} of the sensitive terms from clean vectors where a "
        f"constant guess names {percent(row.prior)}; it has to be {percent(MARGIN)} above that with 95 % "
        "confidence."
        + (f" Of the other attacks, {'; '.join(known)}." if known else "")
        + " Give more texts with the concept, its terms, or the right encoder."
    )
