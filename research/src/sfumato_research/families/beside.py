"""Two releases, or two kinds of rows, beside each other: differences of the same rows, drawn together."""

from __future__ import annotations

import numpy as np

from sfumato.metrics.intervals import percentile_interval
from sfumato.randomness import generator
from sfumato.types import Floats
from sfumato_research.frontier.figures import LEAST, Cuts
from sfumato_research.frontier.measure import CLEAN, Arrays
from sfumato_research.frontier.nested import (
    Nested,
    area,
    correlation_columns,
    correlation_kept,
    nested,
    rows_by_group,
)

DRAWS = 400


def presence_beside(cuts: Cuts, label: str, other: str) -> Nested | None:
    """How much more of the area under the curve one release leaves than another."""
    measured = cuts.of(label, other, key="presence.network")
    if not measured:
        return None
    rng = generator(0)
    groups = [rows_by_group(cut[f"{label}|presence.groups"]) for cut in measured]

    def between(cut: Arrays, rows: np.ndarray | slice) -> float:
        holds = cut[f"{label}|presence.holds"][rows].astype(bool)
        one, two = (cut[f"{each}|presence.network"][rows] for each in (label, other))
        return area(one, holds) - area(two, holds)

    def drawn(number: int) -> float:
        own = groups[number]
        rows = np.concatenate([own[place] for place in rng.integers(len(own), size=len(own))])
        return between(measured[number], rows)

    value = float(np.mean([between(cut, slice(None)) for cut in measured]))
    samples = [
        np.mean([drawn(number) for number in rng.integers(len(measured), size=len(measured))])
        for _ in range(DRAWS)
    ]
    return Nested(value, percentile_interval(np.array(samples)))


def misses_beside(cuts: Cuts, label: str) -> Nested | None:
    """How much more leaks, absolutely, from rows with a missed term than from those where all are found."""
    tables, groups = [], []
    for cut in cuts.of(label):
        found = cut["found.all"].astype(bool)
        if min(found.sum(), (~found).sum()) < LEAST:
            return None
        hits = [cut[f"{each}|hits"].astype(float).mean(axis=0) for each in (label, CLEAN)]
        columns = np.stack([*hits, cut["terms.prior"]], axis=1)
        tables.append(np.concatenate([columns * ~found[:, None], columns * found[:, None]], axis=1))
        groups.append(cut["groups"])

    def difference(sums: Floats) -> Floats:
        missed, whole = (
            (sums[:, at] - sums[:, at + 2]) / (sums[:, at + 1] - sums[:, at + 2]) for at in (0, 3)
        )
        return np.asarray(missed - whole)

    return nested(tables, groups, difference) if tables else None


def sts_beside(cuts: Cuts, label: str, other: str) -> Nested | None:
    """How much more of STS one release keeps than another, on touched pairs."""
    tables = []
    for cut in cuts.of(label, other, key="sts.cosine"):
        rows = cut[f"{label}|sts.touched"].astype(bool)
        gold, clean = cut[f"{label}|sts.gold"][rows], cut[f"{label}|sts.clean"][rows]
        both = [correlation_columns(clean, cut[f"{each}|sts.cosine"][rows], gold) for each in (label, other)]
        tables.append(np.concatenate([both[0], both[1][:, 6:]], axis=1))
    if not tables or min(map(len, tables)) < LEAST:
        return None
    second = [*range(6), 9, 10, 11]
    return nested(tables, None, lambda sums: correlation_kept(sums) - correlation_kept(sums[:, second]))


def search_beside(cuts: Cuts, label: str, other: str) -> Nested | None:
    """How much more of search one release keeps than another, on touched rows."""
    tables = []
    for cut in cuts.of(label, other, key="search.ndcg"):
        rows = cut[f"{label}|search.touched"].astype(bool)
        names = (f"{label}|search.ndcg", f"{other}|search.ndcg", f"{label}|search.clean")
        tables.append(np.stack([cut[name][rows].astype(float) for name in names], axis=1))
    if not tables or min(map(len, tables)) < LEAST:
        return None
    return nested(tables, None, lambda sums: (sums[:, 0] - sums[:, 1]) / sums[:, 2])
