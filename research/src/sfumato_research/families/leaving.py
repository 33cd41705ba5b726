"""What each release leaves with each encoder: terms named, absolute leakage, and use on touched rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sfumato_research.frontier.figures import Cuts, Terms
from sfumato_research.frontier.measure import CLEAN, FLOOR
from sfumato_research.frontier.nested import Nested
from sfumato_research.studies.base import Cell, Entry, StudyTable

Measured = Mapping[tuple[str, str], Cuts]
"""Cuts by concept and encoder."""
_NOTE = (
    "Named: share of the labelled terms. Absolute: from the best constant guess (0 %) to clean vectors "
    "(100 %). STS and search: what is kept where our detector touches a row. Presence: area under the "
    "curve. 95 %."
)


def leaving_table(title: str, measured: Measured, concept: str, models: Sequence[str]) -> StudyTable:
    """A row a figure and release, a column an encoder."""
    cuts = {model: measured[concept, model] for model in models}
    labels = list(dict.fromkeys(label for each in cuts.values() for label in each.labels))
    ordered = [CLEAN, FLOOR, *(label for label in labels if label not in (CLEAN, FLOOR))]
    rows: list[list[Entry]] = []
    for figure, (form, read) in _FIGURES.items():
        for label in ordered:
            cells = [_cell(each, label, read, form) for each in cuts.values()]
            if any(cell.value is not None for cell in cells):
                rows.append([figure, label, *cells])
    return StudyTable(title, ["figure", "release", *models], rows, _NOTE)


def _of_terms(which: Callable[[Terms], Nested]) -> Callable[[Cuts, str], Nested | None]:
    def read(cuts: Cuts, label: str) -> Nested | None:
        found = cuts.terms(label) if cuts.has(label, "hits") else None
        return None if found is None else which(found)

    return read


def _kept(what: str) -> Callable[[Cuts, str], Nested | None]:
    def read(cuts: Cuts, label: str) -> Nested | None:
        known = label != CLEAN and cuts.has(label, f"{what}.touched")
        return cuts.kept(label, what, touched=True) if known else None

    return read


def _presence(cuts: Cuts, label: str) -> Nested | None:
    return cuts.presence(label) if cuts.has(label, "presence.network") else None


_FIGURES: Mapping[str, tuple[str, Callable[[Cuts, str], Nested | None]]] = {
    "named": (".3f", _of_terms(lambda found: found.named)),
    "absolute": (".0%", _of_terms(lambda found: found.absolute)),
    "STS": (".0%", _kept("sts")),
    "search": (".0%", _kept("search")),
    "presence": (".2f", _presence),
}


def _cell(cuts: Cuts, label: str, read: Callable[[Cuts, str], Nested | None], form: str) -> Cell:
    found = read(cuts, label)
    return Cell(None) if found is None else Cell.between(found.value, found.interval, form)
