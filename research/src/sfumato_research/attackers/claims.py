"""What the protocol claimed beforehand, counted from the cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sfumato_research.attackers.attackers import ATTACKERS, QUESTIONS
from sfumato_research.attackers.cells import Cells
from sfumato_research.attackers.figures import CellFigures
from sfumato_research.attackers.naming import LINKED, NAMED, WRITTEN
from sfumato_research.attackers.releases import (
    CLEAN,
    DEFAULT,
    DPPN,
    IRONCORE,
    LAPLACE,
    REMOVAL,
    ROTATION,
    SEALED,
    SPARSE,
)
from sfumato_research.attackers.tables import columns_of
from sfumato_research.frontier.nested import Nested
from sfumato_research.studies.base import Finding

MASKS, HALF, MOST, KEYS = 0.8, 0.5, 0.25, 0.9
_UNPAIRED, _FEW = "unpaired", 3


def claims(title: str, cells: Cells) -> list[Finding]:
    """A finding a claim, of those whose releases were attacked.

    Where the attack that is strongest on clean vectors was not run, who is strongest is open: so is a claim.
    """
    figures, there = CellFigures(cells), columns_of(cells)
    masks = f"masks hide nothing: the strongest names at least {MASKS:.0%} of what it names from clean"
    keys = f"keys give way to pairs: at least {KEYS:.0%} of what is named from clean"
    noise = "noise of 1.4 lengths halves what is named"
    return [
        *_kept(title, figures, there, (SPARSE, DPPN), masks, lambda found: found.low >= MASKS),
        *_kept(title, figures, there, (LAPLACE,), noise, lambda found: found.high < HALF),
        *_default(title, figures, there),
        *_kept(title, figures, there, (ROTATION, IRONCORE), keys, lambda found: found.low >= KEYS),
        *_unpaired(title, figures, there),
        *_sealed(title, figures, there),
        *_recent(title, figures, there),
    ]


def _kept(
    title: str,
    figures: CellFigures,
    there: list[str],
    labels: tuple[str, ...],
    claim: str,
    holds: Callable[[Nested], bool],
) -> list[Finding]:
    """What the strongest names of releases, as a share of what the strongest names from clean vectors."""
    clean, said, held = figures.strongest(CLEAN, NAMED), list[str](), list[bool]()
    subject = f"{title}: {', '.join(labels)}"
    missing = _untried(figures, [label for label in labels if label in there], NAMED)
    if missing:
        return [Finding(subject, claim, "–", missing, None)]
    for label in labels:
        row = figures.strongest(label, NAMED) if label in there else None
        found = None if clean is None or row is None else figures.kept(row, label, clean, NAMED)
        if row is not None and found is not None:
            said.append(f"{label} {_percent(found)}, by {figures.called(row)}")
            held.append(holds(found))
    return [Finding(subject, claim, "–", "; ".join(said), all(held))] if held else []


def _untried(figures: CellFigures, labels: Sequence[str], question: str) -> str:
    """Where the attack that is strongest on clean vectors was not run, in words; "" where it was."""
    missing = {label: row for label in labels if (row := figures.untried(label, question)) is not None}
    if not missing:
        return ""
    where = ", ".join(missing) if len(missing) <= _FEW else f"{len(missing)} of {len(labels)} columns"
    return f"no verdict: `{figures.called(next(iter(missing.values())))}` was not run on {where}"


def _default(title: str, figures: CellFigures, there: list[str]) -> list[Finding]:
    row = figures.strongest(DEFAULT, NAMED)
    if DEFAULT not in there or row is None:
        return []
    made = []
    missing = _untried(figures, [DEFAULT], NAMED)
    absolute = figures.relative(row, DEFAULT, NAMED)
    if absolute is not None:
        claim = f"absolute leakage of the strongest at most {MOST:.0%}"
        said = f"{_percent(absolute)}, by {figures.called(row)}"
        held = None if missing else absolute.high <= MOST
        made.append(Finding(f"{title}: {DEFAULT}", claim, "goal", missing or said, held))
    other = figures.strongest(REMOVAL, NAMED)
    gap = None if other is None else figures.difference(row, other, DEFAULT, REMOVAL, NAMED)
    if other is not None and gap is not None:
        lacking = figures.untried(REMOVAL, NAMED)
        fewer = gap.high < 0  # an attack more on removal could only show more of its terms
        same = None if missing else True if fewer else False if gap.low > 0 and not lacking else None
        names = f"{figures.called(row)} against {figures.called(other)}"
        said = f"{_percent(gap, '+.1%')} of the terms; {names}"
        beside = f"; `{figures.called(lacking)}` was not run on {REMOVAL}" if lacking else ""
        claim = "shows the strongest attack fewer terms than removal does"
        made.append(Finding(f"{title}: {DEFAULT}", claim, "–", missing or f"{said}{beside}", same))
    return made


def _unpaired(title: str, figures: CellFigures, there: list[str]) -> list[Finding]:
    said, held = list[str](), list[bool]()
    labels = (ROTATION, IRONCORE)
    claim = "keys give way without a pair: more rows are named than by chance"
    if any(label in there and figures.cells.get((_UNPAIRED, label, 0)) is None for label in labels):
        missing = f"no verdict: `{_UNPAIRED}` was not run"
        return [Finding(f"{title}: {', '.join(labels)}", claim, "–", missing, None)]
    for label in labels:
        found = figures.figure(_UNPAIRED, label, LINKED) if label in there else None
        chance = None if found is None else figures.prior(_UNPAIRED, LINKED)
        if found is not None and chance is not None:
            said.append(f"{label} {_percent(found, '.1%')}, chance {chance.value:.1%}")
            held.append(found.low > chance.value)
    return [Finding(f"{title}: {', '.join(labels)}", claim, "–", "; ".join(said), all(held))] if held else []


def _sealed(title: str, figures: CellFigures, there: list[str]) -> list[Finding]:
    """Every attack that works, by the higher of its floor and its prior, at 95 % for all of them together."""
    tried: list[tuple[str, Nested, float]] = []
    for question, name in QUESTIONS.items():
        for row, attacker in ATTACKERS.items():
            found = figures.figure(row, SEALED, question) if question in attacker.answers else None
            if found is not None and figures.works(row, question):
                bases = (figures.floor(row, question), figures.prior(row, question))
                base = max(each.value for each in bases if each is not None)
                tried.append((f"{figures.called(row)}, {name}", found, base))
    if SEALED not in there or not tried:
        return []
    more = [(name, found) for name, found, base in tried if _low(found, len(tried)) > base]
    beyond = "; ".join(f"{name} {_percent(found)}" for name, found in more)
    said = f"{len(tried) - len(more)} of {len(tried)} attacks{f'; more: {beyond}' if more else ''}"
    by_size = bool(more) and all(name.startswith("linkage,") for name, _ in more)
    return [
        Finding(
            f"{title}: {SEALED}",
            "no attack gets more than its prior or floor",
            f"{len(tried)} of {len(tried)}",
            said,
            not more,
            "sizes of records are seen" if by_size else "",
        )
    ]


def _low(found: Nested, several: int) -> float:
    """The lower end of an interval that holds for several attacks at once (Bonferroni, by a normal law)."""
    from scipy.stats import norm

    if found.interval is None:
        return found.value
    wider = norm.ppf(1 - 0.025 / several) / norm.ppf(0.975)
    return float(found.value - wider * (found.value - found.interval[0]))


def _recent(title: str, figures: CellFigures, there: list[str]) -> list[Finding]:
    said, held = list[str](), list[bool]()
    claim = "an attack of 2026 is the strongest in at least half of the columns"
    missing = _untried(figures, there, NAMED) or _untried(figures, there, WRITTEN)
    if missing:
        return [Finding(f"{title}: attacks", claim, "–", missing, None)]
    for question in (NAMED, WRITTEN):
        best = [figures.strongest(label, question) for label in there]
        known = [row for row in best if row is not None]
        if known and any(each.recent and figures.control(row, question) for row, each in ATTACKERS.items()):
            new = sum(ATTACKERS[row].recent for row in known)
            said.append(f"{QUESTIONS[question]}: {new} of {len(known)}")
            held.append(2 * new >= len(known))
    return [Finding(f"{title}: attacks", claim, "–", "; ".join(said), all(held))] if held else []


def _percent(found: Nested, form: str = ".0%") -> str:
    if found.interval is None:
        return f"{found.value:{form}}"
    return f"{found.value:{form}} [{found.interval[0]:{form}}, {found.interval[1]:{form}}]"
