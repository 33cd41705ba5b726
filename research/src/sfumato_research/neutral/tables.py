"""What the ways of making texts neutral leak, show and keep, and which of them may take the copies' place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.metrics.intervals import percentile_interval
from sfumato.randomness import generator
from sfumato.types import Floats
from sfumato_research.frontier.measure import Arrays
from sfumato_research.frontier.nested import (
    Nested,
    auc,
    correlation_columns,
    correlation_kept,
    nested,
    share,
)
from sfumato_research.frontier.tables import cell
from sfumato_research.neutral.measure import CLEAN, COPIES, WAYS
from sfumato_research.studies.base import Entry, Finding, StudyTable

MARGIN = 0.03
"""What a way of one pass may be worse than copies by."""
_DRAWS = 400


def table(title: str, cuts: Sequence[Arrays]) -> StudyTable:
    """Every way, and how far from copies it is on the same rows."""
    rows: list[list[Entry]] = []
    for label in (CLEAN, *WAYS):
        row: list[Entry] = [label, *(cell(each(cuts, label)) for each in (_terms, _presence, _near, _sts))]
        row.append(round(float(np.mean([cut[f"{label}|cosine"].mean() for cut in cuts])), 3))
        rows.append([*row, "" if label in (CLEAN, COPIES) else ", ".join(misses(cuts, label)) or "passes"])
    columns = [
        "way",
        "terms named",
        "presence, area",
        "neighbours kept",
        "STS kept",
        "cosine to clean",
        "beside copies",
    ]
    prior = sum(cut["terms.prior"].sum() for cut in cuts) / sum(cut["terms.total"].sum() for cut in cuts)
    note = (
        f"Without noise, on labelled rows; {len(cuts)} cuts, {sum(len(cut['groups']) for cut in cuts)} "
        f"attacked texts. Always guessing the same names {prior:.3f}."
    )
    return StudyTable(title, columns, rows, note)


def judged(title: str, cuts: Sequence[Arrays]) -> list[Finding]:
    """Which ways may take the copies' place in this cell."""
    found = []
    for label in WAYS:
        if label != COPIES:
            wrong = misses(cuts, label)
            kept = (_near(cuts, label).value + _sts(cuts, label).value) / 2
            ours = f"{', '.join(wrong) or 'not worse'}; keeps {kept:.3f} (mean of neighbours and STS)"
            claim = f"no worse than copies by {MARGIN} in terms, presence, neighbours and STS"
            found.append(Finding(f"{title}: {label}", claim, "–", ours, not wrong))
    return found


def misses(cuts: Sequence[Arrays], label: str) -> list[str]:
    """Which of the protocol's conditions a way does not meet, with the end of the interval that decides."""
    terms = nested(
        [
            np.stack([cut[f"{label}|hits"][0] - cut[f"{COPIES}|hits"][0], cut["terms.total"]], 1)
            for cut in cuts
        ],
        [cut["groups"] for cut in cuts],
        share,
    )
    shown = _presence(cuts, label).value - _presence(cuts, COPIES).value
    near = nested([_near_columns(cut, label, COPIES) for cut in cuts], None, share)
    same = _sts_difference(cuts[0], label)
    found = []
    if terms.high > MARGIN:
        found.append(f"terms {terms.high:+.3f}")
    if shown > MARGIN:
        found.append(f"presence {shown:+.3f}")
    if near.low < -MARGIN:
        found.append(f"neighbours {near.low:+.3f}")
    if same.low < -MARGIN:
        found.append(f"STS {same.low:+.3f}")
    return found


def _terms(cuts: Sequence[Arrays], label: str) -> Nested:
    tables = [np.stack([cut[f"{label}|hits"][0], cut["terms.total"]], 1) for cut in cuts]
    return nested(tables, [cut["groups"] for cut in cuts], share)


def _presence(cuts: Sequence[Arrays], label: str) -> Nested:
    return auc(
        [cut[f"{label}|presence"] for cut in cuts],
        [cut[f"{label}|presence.holds"] for cut in cuts],
        [cut[f"{label}|presence.groups"] for cut in cuts],
        draws=100,
    )


def _near(cuts: Sequence[Arrays], label: str) -> Nested:
    return nested([_near_columns(cut, label, None) for cut in cuts], None, share)


def _near_columns(cut: Arrays, label: str, other: str | None) -> Floats:
    touched = cut[f"{label}|neighbours.touched"]
    figures = cut[f"{label}|neighbours.ndcg"] - (0.0 if other is None else cut[f"{other}|neighbours.ndcg"])
    return np.stack([figures[touched], np.ones(int(touched.sum()))], 1)


def _sts(cuts: Sequence[Arrays], label: str) -> Nested:
    """The pairs and what becomes of them are the same in every cut."""
    cut = cuts[0]
    columns = correlation_columns(cut[f"{CLEAN}|sts"], cut[f"{label}|sts"], cut["sts.gold"])
    return nested([columns], None, correlation_kept)


def _sts_difference(cut: Arrays, label: str) -> Nested:
    """The share of clean that a way keeps less the share that copies keep, on the same drawn pairs."""
    every = [
        correlation_columns(cut[f"{CLEAN}|sts"], cut[f"{way}|sts"], cut["sts.gold"])
        for way in (label, COPIES)
    ]
    rng, size = generator(0), len(cut["sts.gold"])
    drawn = [np.arange(size), *(rng.integers(size, size=size) for _ in range(_DRAWS))]
    own, copies = (
        correlation_kept(np.stack([columns[rows].sum(axis=0) for rows in drawn])) for columns in every
    )
    return Nested(float(own[0] - copies[0]), percentile_interval((own - copies)[1:]))
