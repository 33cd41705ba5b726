"""An audit as one page: the verdict in words first, then the figures behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from sfumato.auditing.result import Audit
from sfumato.certifying import certified_figures
from sfumato.report.chart import Point, Series, pen, tradeoff
from sfumato.report.page import render
from sfumato.report.questions import plain_defence, what_else, why_not_remove
from sfumato.report.tables import (
    attack_row,
    baseline_row,
    between,
    class_rows,
    concept_row,
    share,
    term_rows,
    use_rows,
)
from sfumato.report.words import (
    STANDARDS,
    certificate_words,
    guarantee_words,
    heading,
    informed_words,
    limits,
    linkage_words,
    lost_words,
    matched_words,
    presence_words,
    reason,
)
from sfumato.trials.rows import percent

LIKE_REMOVAL = (0.95, 0.05)
"""About what cutting the term out reaches too: so much kept at least, so much excess at most."""
_TERMS = 24


def audit_page(audit: Audit, *, title: str = "Leakage audit", sealed: Mapping[str, Any] | None = None) -> str:
    """Write the page; it holds no text but those the audit holds, and asks nothing of the network.

    Args:
        audit: what was found.
        title: what stands above it.
        sealed: figures of the same texts in a sealed collection, for a section of their own.
    """
    ours = _place(audit)
    others = [*_series(audit), *(_removal(audit) if ours is not None else [])]
    return render(
        "audit.html.j2",
        title=title,
        outcome=audit.outcome,
        certified=_certified(audit),
        heading=_unbroken(heading(audit)),
        reason=_unbroken(reason(audit)),
        truth=_unbroken(audit.truth.words(audit.finding)),
        classes=class_rows(audit.finding, audit.removal),
        cautions=[_unbroken(each) for each in audit.cautions],
        concepts=[concept_row(each) for each in audit.concepts] if len(audit.concepts) > 1 else [],
        cards=_cards(audit),
        chart=_chart(audit, ours, others),
        placed=ours is not None,
        legend=[{"label": each.label, "line": Markup(_swatch(number))} for number, each in enumerate(others)],
        matched=_unbroken(matched_words(audit)),
        baselines=[baseline_row(row) for row in audit.baselines],
        attacks=[attack_row(row) for row in audit.attacks],
        left_out=audit.left_out,
        terms=term_rows(audit.terms[:_TERMS]),
        more_terms=term_rows(audit.terms[_TERMS:]),
        unnamed=any(row["term"] is None for row in audit.terms),
        examples=[_example(each) for each in audit.examples],
        utilities=[line for each in audit.uses for line in use_rows(each)],
        why=[_unbroken(each) for each in why_not_remove(audit)],
        also=what_else(audit.readable, ", ".join(each.name for each in audit.concepts) or audit.concept),
        guarantee=guarantee_words(audit),
        limits=limits(audit),
        lost=lost_words(audit),
        standards=STANDARDS,
        settings=_settings(audit.settings),
        sealed=None if sealed is None else _sealed(sealed),
        concept=", ".join(each.name for each in audit.concepts) or audit.concept,
        worst_concept=audit.concept,
        beside=audit.outcome != "refused"
        and audit.worst_case is not None
        and not audit.settings["worst_case"],
    )


def _certified(audit: Audit) -> dict[str, Any]:
    """The certificate in words, and its figures beside what the informed attacker got."""
    found, measured = audit.certificate, audit.informed
    cards = [] if found is None else [_plain(*each) for each in certified_figures(found)]
    if measured is not None:
        interval = (measured.low, measured.high)
        note = f"named by the informed attacker, of {measured.count} terms"
        cards.append(_card("Measured beside it", measured.value, interval, note))
    return {
        "words": _unbroken(certificate_words(audit)),
        "measured": _unbroken(informed_words(audit)),
        "cards": cards,
        "conditions": [] if found is None else found["conditions"],
    }


def _plain(name: str, value: str, note: str) -> dict[str, str]:
    return {"name": name, "value": _unbroken(value), "between": "", "note": _unbroken(note)}


def _unbroken(words: str) -> str:
    """Keep a number and its percent sign on one line."""
    return words.replace(" %", "\u00a0%")


def _cards(audit: Audit) -> list[dict[str, str]]:
    row, worst, utility = audit.verdict.row, audit.worst_case, audit.utility
    cards = []
    if row is not None and row.works:
        beside = f"{percent(row.control)} from clean ones, {percent(row.prior)} by a guess"
        cards.append(_card("Named from released vectors", row.released, None, f"by {row.name}: {beside}"))
        if row.separates:
            cards.append(_card("Excess leakage", row.excess, row.interval, "from what the rest gives away"))
        cards.append(_card("Absolute leakage", row.absolute, row.absolute_interval, "from a constant guess"))
    elif row is not None:
        little = f"too little to prove anything: a guess names {percent(row.prior)}"
        cards.append(_card("Read from clean vectors", row.control, None, little))
    if audit.attacks and audit.outcome != "refused":
        cards.append(_card("Utility kept", utility.kept, utility.interval, utility.metric))
    if worst is not None and worst is not row:
        informed = f"named by who knows the text but for the term; {percent(worst.floor or 0.0)} by chance"
        cards.append(_card("Worst case", worst.released, None, informed))
    if audit.oracle is not None:
        named = audit.oracle.named
        asked = f"named by who may ask the same protector; {percent(audit.oracle.chance)} by chance"
        cards.append(_card("Oracle", named.value, (named.low, named.high), asked))
    if audit.presence is not None:
        figure, beside = presence_words(audit.presence)
        note = _unbroken(f"1.00 is certain: {beside}")
        cards.append({"name": "Presence", "value": figure, "between": "", "note": note})
    if audit.linkage is not None:
        cards.append(_card("Linkage", audit.linkage.released, None, linkage_words(audit.linkage)))
    return cards


def _card(name: str, value: float | None, interval: Sequence[float] | None, note: str) -> dict[str, str]:
    return {
        "name": name,
        "value": share(value),
        "between": between(interval),
        "note": _unbroken(note),
    }


def _series(audit: Audit) -> list[Series]:
    """One series a baseline, with the settings that have a place in the picture."""
    rows = [row for row in audit.baselines if row.excess is not None and row.utility.kept is not None]
    return [
        Series(
            "concept cut out" if name == "removal" else name,
            [
                Point(
                    row.utility.kept or 0.0,
                    row.excess or 0.0,
                    row.utility.interval,
                    row.interval,
                    f"{plain_defence(row.name, row.setting)}: {percent(row.excess or 0.0)} excess at "
                    f"{percent(row.utility.kept or 0.0)}",
                )
                for row in members
            ],
        )
        for name, members in groupby(rows, key=lambda row: row.name)
    ]


def _removal(audit: Audit) -> list[Series]:
    """Where redaction stands in the picture, unless a baseline already shows it."""
    row = audit.removal
    if row is None or row.utility.kept is None or any(each.name == "removal" for each in audit.baselines):
        return []
    label = f"concept cut out: {percent(row.excess)} excess at {percent(row.utility.kept)}"
    return [
        Series("concept cut out", [Point(row.utility.kept, row.excess, row.utility.interval, None, label)])
    ]


def _place(audit: Audit) -> Point | None:
    """Where the release stands in the picture; None where no attack gives its excess a meaning."""
    row, utility = audit.verdict.row, audit.utility
    if row is None or row.excess is None or utility.kept is None or not row.separates:
        return None
    return Point(utility.kept, row.excess, utility.interval, row.interval, "audited here")


def _chart(audit: Audit, ours: Point | None, others: list[Series]) -> Markup | None:
    """The picture; None where there is nothing to put into it."""
    if ours is None and not others:
        return None
    drawn = tradeoff(
        ours,
        others,
        title="Excess leakage against utility kept",
        x_label=f"utility kept ({audit.utility.metric})",
        y_label="excess leakage",
        goal=LIKE_REMOVAL,
    )
    return Markup(drawn)


def _swatch(number: int) -> str:
    return (
        f'<svg viewBox="0 0 30 10" width="30" height="10" aria-hidden="true"><line x1="0" y1="5" x2="30" '
        f'y2="5" {pen(number)}/><circle cx="15" cy="5" r="4" fill="var(--s{number % 8})"/></svg>'
    )


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


def _sealed(found: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a sealed collection, as they are shown."""
    low, high = (percent(each) for each in found["between"])
    shown = {name: _unbroken(percent(found[name])) for name in ("recall", "kept", "named", "unsealed")}
    return {
        **found,
        **shown,
        "between": _unbroken(f"{low} to {high}"),
        "guessed": _unbroken(percent(found["guessed"])),
        "lines": [[_unbroken(each) for each in line] for line in found["lines"]],
        "kilobytes": f"{found['bytes'] / 1000:.0f}",
        "candidates": f"{found['candidates']:.0f}",
    }
