"""An audit as one page: the verdict in words first, then the figures behind it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from sfumato.auditing.result import Audit
from sfumato.auditing.rows import AttackRow
from sfumato.auditing.verdict import percent
from sfumato.report.chart import Point, Series, bar, pen, tradeoff
from sfumato.report.page import render
from sfumato.report.words import HEADINGS, STANDARDS, guarantee_words, limits, matched_words, worst_words

GOAL = (0.95, 0.05)
"""What should be kept at least, and leak at most in excess."""
_TERMS = 24


def audit_page(audit: Audit, *, title: str = "Leakage audit") -> str:
    """Write the page; it holds no text but those the audit holds, and asks nothing of the network."""
    others = _series(audit)
    return render(
        "audit.html.j2",
        title=title,
        outcome=audit.outcome,
        heading=_unbroken(_heading(audit)),
        reason=_unbroken(audit.verdict.reason),
        warning=_unbroken(worst_words(audit)),
        cards=_cards(audit),
        chart=_chart(audit, others),
        legend=[{"label": each.label, "line": Markup(_swatch(number))} for number, each in enumerate(others)],
        matched=_unbroken(matched_words(audit)),
        baselines=[_baseline(row) for row in audit.baselines],
        attacks=[_attack(row) for row in audit.attacks],
        left_out=audit.left_out,
        terms=_terms(audit.terms[:_TERMS]),
        more_terms=_terms(audit.terms[_TERMS:]),
        examples=[_example(each) for each in audit.examples],
        utilities=[_utility(each) for each in audit.utilities],
        guarantee=guarantee_words(audit),
        limits=limits(audit),
        standards=STANDARDS,
        settings=_settings(audit.settings),
        concept=audit.settings["concept"]["name"],
        worst_case=audit.settings["worst_case"],
    )


def _heading(audit: Audit) -> str:
    limit = audit.settings["fail_above"]
    if audit.outcome == "pass" and limit is None:
        return HEADINGS["measured"]
    return HEADINGS[audit.outcome].format(limit="" if limit is None else percent(limit))


def _unbroken(words: str) -> str:
    """Keep a number and its percent sign on one line."""
    return words.replace(" %", "\u00a0%")


def between(interval: Sequence[float] | None) -> str:
    """An interval as people write it."""
    return "" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"


def _cards(audit: Audit) -> list[dict[str, str]]:
    row, worst, utility = audit.verdict.row, audit.worst_case, audit.utility
    cards = []
    if row is not None:
        cards.append(_card("Excess leakage", row.excess, row.interval, f"by {row.name}, against its floor"))
        cards.append(_card("Read from clean vectors", row.control, None, "the same attack: its control"))
    kept = _card("Utility kept", utility.kept, utility.interval, utility.metric)
    informed = "an attacker who knows the text but for the term"
    cards.append(kept)
    if worst is not None:
        cards.append(_card("Worst case", worst.excess, worst.interval, informed))
    return cards


def _card(name: str, value: float | None, interval: Sequence[float] | None, note: str) -> dict[str, str]:
    return {
        "name": name,
        "value": "undefined" if value is None else percent(value),
        "between": between(interval),
        "note": note,
    }


def _series(audit: Audit) -> list[Series]:
    """One series a baseline, with the settings that have a place in the picture."""
    rows = [row for row in audit.baselines if row.excess is not None and row.utility.kept is not None]
    return [
        Series(
            name,
            [
                Point(
                    row.utility.kept or 0.0,
                    row.excess or 0.0,
                    row.utility.interval,
                    row.interval,
                    f"{row.label}: {percent(row.excess or 0.0)} excess at {percent(row.utility.kept or 0.0)}",
                )
                for row in members
            ],
        )
        for name, members in groupby(rows, key=lambda row: row.name)
    ]


def _chart(audit: Audit, others: list[Series]) -> Markup:
    row, utility = audit.verdict.row, audit.utility
    ours = None
    if row is not None and row.excess is not None and utility.kept is not None and audit.outcome != "refused":
        ours = Point(utility.kept, row.excess, utility.interval, row.interval, "audited here")
    drawn = tradeoff(
        ours,
        others,
        title="Excess leakage against utility kept",
        x_label=f"utility kept ({utility.metric})",
        y_label="excess leakage",
        goal=GOAL,
    )
    return Markup(drawn)


def _swatch(number: int) -> str:
    return (
        f'<svg viewBox="0 0 30 10" width="30" height="10" aria-hidden="true"><line x1="0" y1="5" x2="30" '
        f'y2="5" {pen(number)}/><circle cx="15" cy="5" r="4" fill="var(--s{number % 8})"/></svg>'
    )


def _baseline(row: Any) -> dict[str, str]:
    return {
        "label": row.label,
        "excess": "undefined" if row.excess is None else percent(row.excess),
        "between": between(row.interval),
        "kept": "undefined" if row.utility.kept is None else percent(row.utility.kept),
        "promise": row.guarantee.partition(": ")[2] or row.guarantee,
        "keyed": "a key; the attacker had texts stored under it" if row.keyed else "",
    }


def _attack(row: AttackRow) -> dict[str, str | bool]:
    return {
        "name": row.name,
        "question": row.question,
        "control": percent(row.control),
        "floor": percent(row.floor),
        "prior": percent(row.prior),
        "released": percent(row.released),
        "excess": "undefined" if row.excess is None else percent(row.excess),
        "between": between(row.interval),
        "works": row.works,
        "counts": row.counts,
        "rows": str(row.rows),
        "note": row.note,
    }


def _terms(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "name": row["term"],
            "number": number + 1,
            "count": row["count"],
            "bar": Markup(bar(row["control"], row["floor"], row["released"])),
            **{key: _known(row[key]) for key in ("control", "floor", "released")},
        }
        for number, row in enumerate(rows)
    ]


def _known(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _example(row: dict[str, Any]) -> dict[str, Any]:
    sensitive = {term.lower() for term in row["terms"]}

    def side(found: str | list[str]) -> list[dict[str, Any]]:
        guesses = [found] if isinstance(found, str) else found
        return [
            {"words": guess, "hit": any(term in guess.lower() for term in sensitive)} for guess in guesses
        ]

    read = [
        {"attack": name, "clean": side(found["clean"]), "released": side(found["released"])}
        for name, found in row["read"].items()
    ]
    return {"text": row["text"], "terms": row["terms"], "read": read}


def _utility(found: Any) -> dict[str, str]:
    return {
        "metric": found.metric,
        "clean": f"{found.clean:.3f}",
        "released": f"{found.released:.3f}",
        "kept": "undefined" if found.kept is None else percent(found.kept),
        "between": between(found.interval),
    }


def _settings(settings: dict[str, Any]) -> list[tuple[str, str]]:
    flat: list[tuple[str, str]] = []
    for key, value in settings.items():
        if isinstance(value, dict):
            flat += [(f"{key} {inner}", str(each)) for inner, each in value.items()]
        elif isinstance(value, list):
            flat.append((key, ", ".join(map(str, value)) or "none"))
        else:
            flat.append((key, "none" if value is None else str(value)))
    return [(key.replace("_", " "), value) for key, value in flat]
