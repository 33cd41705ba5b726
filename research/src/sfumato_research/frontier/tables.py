"""The protocol's tables of one concept and encoder, and what they say about its goals."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato_research.frontier.defences import OURS, REMOVED, WIDE
from sfumato_research.frontier.figures import Cuts
from sfumato_research.frontier.measure import CLEAN, FLOOR
from sfumato_research.frontier.nested import Nested
from sfumato_research.studies.base import Cell, Entry, Finding, Picture, StudyTable
from sfumato_research.studies.draw import Curve, curves

MOST_ABSOLUTE, LEAST_USE, NEAR_REMOVAL = 0.25, 0.95, 0.05
USES = ("sts", "search", "topic", "neighbours")
NAMES = {
    "sts": "STS",
    "search": "search, SciFact",
    "topic": "classes, AG News",
    "neighbours": "neighbours",
    "name": "search for the name",
    "sentiment": "sentiment",
}


def cell(found: Nested | None, form: str = ".3f") -> Cell:
    """A figure, or an empty cell."""
    return Cell(None) if found is None else Cell.between(found.value, found.interval, form)


def finder_of(label: str) -> str:
    """Whose misses divide the rows of a release."""
    return {WIDE: "wide"}.get(label, "all")


def term_table(title: str, cuts: Cuts) -> StudyTable:
    """What the term attack names: all rows, found rows, missed rows."""
    rows: list[Sequence[Entry]] = []
    for label in cuts.labels:
        if not cuts.has(label, "hits"):
            continue
        every = cuts.terms(label)
        found = cuts.terms(label, found=finder_of(label))
        missed = cuts.terms(label, found=finder_of(label), missed=True)
        assert every is not None
        rows.append(
            [
                label, cell(every.named), cell(every.excess, ".0%"), cell(every.absolute, ".0%"),
                cell(None if found is None else found.absolute, ".0%"),
                cell(None if missed is None else missed.named),
                cell(None if missed is None else missed.absolute, ".0%"),
                None if missed is None else round(missed.count),
            ]
        )  # fmt: skip
    rows.append(["best constant guess", cell(cuts.prior()), "", Cell(0.0, form=".0%"), "", "", "", None])
    columns = ["released", "named", "excess", "absolute", "absolute, found rows", "named, missed rows",
               "absolute, missed rows", "missed rows a cut"]  # fmt: skip
    return StudyTable(f"{title}: terms that people labelled", columns, rows, _TERMS)


def other_table(title: str, cuts: Cuts) -> StudyTable:
    """What else is read: presence, whose text it is, membership, attributes nobody named."""
    rows: list[Sequence[Entry]] = []
    for label in cuts.labels:
        if not cuts.has(label, "linked"):
            rows.append([label, cell(cuts.presence(label)), "", "", "", "", "", ""])
            continue
        rows.append(
            [
                label, cell(cuts.presence(label)), cell(cuts.linkage(label)), cell(cuts.membership(label)),
                cell(cuts.informed(label)), cell(cuts.informed(label, found=finder_of(label))),
                *(cell(cuts.over_guess(label, told), ".0%") for told in ("topic", "sentiment")),
            ]
        )  # fmt: skip
    columns = ["released", "presence", "linked, 1 of 1,000", "member", "informed", "informed, found rows",
               "topic", "sentiment"]  # fmt: skip
    return StudyTable(f"{title}: what else is read", columns, rows, _OTHER)


def use_table(title: str, cuts: Cuts) -> StudyTable:
    """What is left of use, on rows that are touched and on the others."""
    sides = [(name, side) for name in USES for side in (True, False)] + [("name", None)]
    rows: list[Sequence[Entry]] = [
        [label, *(cell(cuts.kept(label, name, touched=side), ".0%") for name, side in sides)]
        for label in cuts.labels
        if label != CLEAN and cuts.has(label, "sts.gold")
    ]
    words = {True: "touched", False: "others", None: ""}
    columns = ["released", *(f"{NAMES[name]} {words[side]}".strip() for name, side in sides)]
    return StudyTable(f"{title}: what stays useful, as a share of clean", columns, rows, _USE)


def picture(title: str, name: str, cuts: Cuts) -> Picture:
    """Absolute leakage against what is kept on touched rows, a point a release."""
    points = []
    for label in cuts.labels:
        found = cuts.terms(label) if cuts.has(label, "hits") else None
        kept = cuts.kept(label, "sts", touched=True) if cuts.has(label, "sts.gold") else None
        if found is None or kept is None:
            continue
        low, high = found.absolute.interval or (found.absolute.value,) * 2
        short = label.partition(", noise")[0]
        points.append(Curve(short, [kept.value], [found.absolute.value], [low], [high], joined=False))
    drawn = curves(
        points,
        title=title,
        x_label="share of clean STS kept, on pairs that are touched",
        y_label="absolute leakage of labelled terms",
        x_range=(0.5, 1.0),
        y_range=(0.0, 1.0),
    )
    note = "Bars: 95 % intervals. Down and to the right is better."
    return Picture(name, drawn, f"{title}: absolute leakage against what is kept on touched rows", note)


def goals(title: str, cuts: Cuts, label: str = OURS) -> list[Finding]:
    """The protocol's three criteria, judged on the ends of intervals."""
    every = cuts.terms(label)
    assert every is not None
    kept = {name: cuts.kept(label, name, touched=True) for name in USES}
    known = {name: each for name, each in kept.items() if each is not None}
    worst = min(known, key=lambda name: known[name].low)
    met = every.absolute.high <= MOST_ABSOLUTE and known[worst].low >= LEAST_USE
    released, removed = cuts.presence(label), cuts.presence(REMOVED)
    gap, beside = released.high - removed.low, cuts.beside(label, REMOVED)
    return [
        Finding(
            f"{title}: terms",
            f"absolute leakage at most {MOST_ABSOLUTE:.0%} at {LEAST_USE:.0%} of use on touched rows",
            "goal",
            f"{_percent(every.absolute)}; {NAMES[worst]} on touched rows keeps {_percent(known[worst])}",
            met,
        ),
        Finding(
            f"{title}: presence",
            f"AUC within {NEAR_REMOVAL:.2f} of removal's",
            "goal",
            f"{_plain(released)} against {_plain(removed)}",
            gap <= NEAR_REMOVAL,
        ),
        Finding(
            f"{title}: beside removal",
            "names fewer terms than removing what the same detector finds",
            "–",
            f"{beside.value:+.1%} of the terms {_ends(beside, '+.1%')}",
            True if beside.high < 0 else False if beside.low > 0 else None,
            "" if beside.high < 0 else "removal does as well",
        ),
    ]


def _percent(found: Nested) -> str:
    return f"{found.value:.0%} {_ends(found, '.0%')}"


def _plain(found: Nested) -> str:
    return f"{found.value:.3f} {_ends(found, '.3f')}"


def _ends(found: Nested, form: str) -> str:
    return "[?]" if found.interval is None else f"[{found.interval[0]:{form}}, {found.interval[1]:{form}}]"


_TERMS = (
    f"Truth: labels. {CLEAN}: control; {FLOOR}: the floor, which no detector can miss. Removal, starred and "
    "another value look with the protector's own detector, as ours does. Found rows: the detector covers "
    "every labelled term; missed rows: at least one is left. Excess and absolute as in the protocol. "
    "Intervals over all cuts and groups within them, 95 %."
)
_OTHER = (
    "Presence (a small network), member: area under the curve, .5 is a guess. Linked: named among 1,000 "
    "known texts. Informed: he knows all but the term, of 50 candidates, 100 texts a cut; found rows: those "
    "in which the detector covers every labelled term. Topic (AG News), sentiment (SST-5): "
    "accuracy of a classifier over the majority's, as a share of the clean one's."
)
_USE = (
    "Touched: our detector finds something in the text, the query or an answer. STS: Pearson, 6,000 pairs "
    "of STS12 to 14 and STS-B; search: nDCG@10; neighbours: nDCG@10 of clean neighbours in the attacked "
    "collection; search for the name: a labelled term as the query, released like a document."
)
