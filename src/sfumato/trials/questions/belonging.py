"""Do these vectors belong to these texts? Rows in another order would read like a perfect defence."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binomtest

from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator
from sfumato.trials.rows import percent
from sfumato.trials.split import Split
from sfumato.types import Floats, Rows, Vectors

_ASKED, _OTHERS, _COMPARED, _SHUFFLES = 400, 20_000, 300, 200
_ALPHA = 1e-4
_SIGMAS = 5.0
_SHIFTS = (-3, -2, -1, 1, 2, 3)
_SAME, _OTHER, _MISPLACED = 0.999, 0.99, 0.05
"""Cosine from which a vector is a text's own; below which it is not; the share of rows that is too many."""

_ADVICE = (
    "Check the order of the rows, or give both files a column of ids. A release with so much noise that "
    "nothing of its texts is left cannot be told from that: audit its protector instead (--protector)."
)


def misfit(released: Vectors, split: Split, *, seed: int) -> str:
    """Why these vectors cannot be those of the texts, or nothing where they can.

    Args:
        released: `(n, d)` one for each of the caller's texts.
        split: the texts that are looked at, and their clean vectors.
        seed: draws which.
    """
    rng = generator(seed)
    asked = np.sort(rng.permutation(len(split.texts))[:_ASKED])
    if released.shape[1] == split.clean.shape[1]:
        others = np.sort(rng.permutation(len(released))[:_OTHERS])
        wrong = _misplaced(released, split, asked, others)
        if wrong:
            return f"these vectors do not belong to these texts: {wrong}. {_ADVICE}"
        nearer = _nearer(released, split, asked, others)
        if binomtest(nearer, len(asked), 0.5, alternative="greater").pvalue < _ALPHA:
            return ""
        said = (
            f"a text's own vector is nearer to it than half of the others are for "
            f"{percent(nearer / len(asked))} of {len(asked)} texts, and chance gives 50 %"
        )
    else:
        said = "they have another dimension than clean ones"
    if _keeps_neighbours(released[split.source], split.clean, rng):
        return ""
    return (
        f"these vectors do not belong to these texts: {said}; nor do texts that are alike have vectors that "
        f"are alike. {_ADVICE}"
    )


def _nearer(released: Vectors, split: Split, asked: Rows, others: Rows) -> int:
    """For how many texts their own vector is nearer than half of all are."""
    centre = released[others].mean(axis=0, dtype=np.float64)
    clean = unit_rows(split.clean[asked] - split.clean.mean(axis=0, dtype=np.float64))
    own = np.vecdot(clean, unit_rows(released[split.source[asked]] - centre))
    cosines = clean @ unit_rows(released[others] - centre).T
    return int(((cosines < own[:, None]).sum(axis=1) > len(others) / 2).sum())


def _misplaced(released: Vectors, split: Split, asked: Rows, others: Rows) -> str:
    """Whether vectors fit other rows plainly better than their own."""
    clean, rows = unit_rows(split.clean[asked]), split.source[asked]
    own = np.vecdot(clean, unit_rows(released[rows]))
    best = (clean @ unit_rows(released[others]).T).max(axis=1)
    elsewhere = int(((best >= _SAME) & (own < _OTHER)).sum())
    if elsewhere > max(2, _MISPLACED * len(asked)):
        return f"{elsewhere} of {len(asked)} texts find their own vector in another row"
    for shift in _SHIFTS:
        inside = (rows + shift >= 0) & (rows + shift < len(released))
        moved = released[rows[inside] + shift]
        gain = np.vecdot(clean[inside], unit_rows(moved)) - own[inside]
        if len(gain) > 2 and gain.mean() > _SIGMAS * gain.std(ddof=1) / math.sqrt(len(gain)):
            # Vectors that were turned lie anywhere; then only neighbours say which row is whose.
            texts = _alike(split.clean[asked[inside]][:_COMPARED])
            here, there = (_alike(each[:_COMPARED]) for each in (released[rows[inside]], moved))
            if _agreement(texts, there) > _agreement(texts, here):
                return f"they fit the texts better when moved by {abs(shift)}"
    return ""


def _keeps_neighbours(stored: Vectors, clean: Vectors, rng: np.random.Generator) -> bool:
    """Whether alike texts have alike vectors, more than in any other order of rows (Mantel 1967)."""
    rows = rng.permutation(len(clean))[:_COMPARED]
    wanted, found = (_alike(each[rows]) for each in (clean, stored))
    orders = [rng.permutation(len(rows)) for _ in range(_SHUFFLES)]
    by_chance = np.array([_agreement(wanted, found[np.ix_(order, order)]) for order in orders])
    own = _agreement(wanted, found)
    return bool(own > by_chance.max() and own - by_chance.mean() > _SIGMAS * by_chance.std())


def _agreement(one: Floats, other: Floats) -> float:
    """The correlation of two tables of cosines."""
    return float((one * other).sum() / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-300))


def _alike(vectors: Vectors) -> Floats:
    """Cosines of different rows, around their mean; the diagonal says nothing."""
    unit = unit_rows(vectors - vectors.mean(axis=0, dtype=np.float64))
    table = unit @ unit.T
    np.fill_diagonal(table, np.nan)
    table -= np.nanmean(table)
    return np.nan_to_num(table)
