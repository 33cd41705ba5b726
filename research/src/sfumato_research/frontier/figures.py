"""Figures with nested intervals, from the arrays of all cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.types import Floats
from sfumato_research.frontier.measure import CLEAN, FLOOR, Arrays
from sfumato_research.frontier.nested import Nested, auc, correlation_columns, correlation_kept, nested, share

Rows = NDArray[np.bool_]
LEAST = 20
"""Rows below which a class has no figure."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the term attack got on some rows."""

    count: float
    """Rows a cut, on average."""
    named: Nested
    excess: Nested
    absolute: Nested


@dataclass(frozen=True, slots=True)
class Cuts:
    """The arrays of every cut of one concept and encoder."""

    cuts: Sequence[Arrays]

    @property
    def labels(self) -> list[str]:
        """What was attacked, in the order it was."""
        return list(dict.fromkeys(key.split("|")[0] for cut in self.cuts for key in cut if "|" in key))

    def has(self, label: str, key: str) -> bool:
        """Whether something was measured."""
        return any(f"{label}|{key}" in cut for cut in self.cuts)

    def of(self, *labels: str, key: str = "hits") -> list[Arrays]:
        """The cuts in which all of these were measured."""
        return [cut for cut in self.cuts if all(f"{label}|{key}" in cut for label in labels)]

    def terms(self, label: str, *, found: str | None = None, missed: bool = False) -> Terms | None:
        """All rows, or those a detector finds whole, or those where it misses a term."""
        tables, groups = [], []
        for cut in self.of(label):
            rows = self._rows(cut, found, missed)
            columns = [self._hits(cut, each)[rows] for each in (label, CLEAN, FLOOR)]
            columns += [cut["terms.prior"][rows], cut["terms.total"][rows]]
            tables.append(np.stack(columns, axis=1).astype(np.float64))
            groups.append(cut["groups"][rows])
        count = float(np.mean([len(table) for table in tables]))
        if count < LEAST:
            return None
        named = nested([table[:, [0, 4]] for table in tables], groups, share)
        excess = nested(tables, groups, lambda sums: (sums[:, 0] - sums[:, 2]) / (sums[:, 1] - sums[:, 2]))
        absolute = nested(tables, groups, lambda sums: (sums[:, 0] - sums[:, 3]) / (sums[:, 1] - sums[:, 3]))
        return Terms(count, named, excess, absolute)

    def prior(self) -> Nested:
        """What always naming the most frequent gets."""
        tables = [np.stack([cut["terms.prior"], cut["terms.total"]], axis=1) for cut in self.cuts]
        return nested(tables, [cut["groups"] for cut in self.cuts], share)

    def beside(self, label: str, other: str) -> Nested:
        """How much more of the terms one release shows than another, on the same rows."""
        tables = [
            np.stack([self._hits(cut, label) - self._hits(cut, other), cut["terms.total"]], axis=1)
            for cut in self.of(label, other)
        ]
        return nested(tables, [cut["groups"] for cut in self.of(label, other)], share)

    def presence(self, label: str) -> Nested:
        """Area under the curve of a small network that says whether a term is there."""
        return self._auc(label, "presence.network", "presence.holds", "presence.groups")

    def informed(self, label: str, *, found: str | None = None) -> Nested | None:
        """Share of the terms that the informed attacker names: of all he is asked about, or of found ones."""
        tables, groups = [], []
        for cut in self.of(label, key="informed.right"):
            rows = cut[f"{label}|informed.rows"]
            chosen = self._rows(cut, found, False)[rows]
            right = cut[f"{label}|informed.right"][chosen].astype(float)
            tables.append(np.stack([right, np.ones(len(right))], axis=1))
            groups.append(cut["groups"][rows][chosen])
        if sum(map(len, tables)) < LEAST:
            return None
        return nested(tables, groups, share)

    def membership(self, label: str) -> Nested:
        """Area under the curve of the nearest release's cosine."""
        return self._auc(label, "members.near", "members", None)

    def linkage(self, label: str) -> Nested:
        """Share of releases named among the known texts."""
        cuts = self.of(label, key="linked")
        tables = [np.stack([cut[f"{label}|linked"], np.ones(len(cut[f"{label}|linked"]))], 1) for cut in cuts]
        return nested(tables, [cut[f"{label}|linked.groups"] for cut in cuts], share)

    def kept(self, label: str, what: str, *, touched: bool | None = None) -> Nested | None:
        """The share of a clean figure that is left, on touched rows, on the others, or on all."""
        made = [self._use(cut, label, what, touched) for cut in self.of(label, key=f"{what}.touched")]
        if min(len(each) for each in made) < LEAST:
            return None
        return nested(made, None, correlation_kept if what == "sts" else share)

    def over_guess(self, label: str, what: str) -> Nested:
        """An attribute's accuracy over the majority's, as a share of the clean one's."""
        columns = ("right", "clean", "guess")
        cuts = self.of(label, key=f"{what}.right")
        tables = [np.stack([cut[f"{label}|{what}.{each}"] for each in columns], 1) for cut in cuts]
        return nested(tables, None, lambda sums: (sums[:, 0] - sums[:, 2]) / (sums[:, 1] - sums[:, 2]))

    def _use(self, cut: Arrays, label: str, what: str, touched: bool | None) -> Floats:
        rows = np.ones(len(cut[f"{label}|{what}.touched"]), bool)
        if touched is not None:
            rows = cut[f"{label}|{what}.touched"] == touched
        if what == "sts":
            clean, released, gold = (cut[f"{label}|sts.{each}"][rows] for each in ("clean", "cosine", "gold"))
            return correlation_columns(clean, released, gold)
        after = "right" if f"{label}|{what}.right" in cut else "ndcg"
        return np.stack([cut[f"{label}|{what}.{each}"][rows] for each in (after, "clean")], 1).astype(float)

    def _auc(self, label: str, scores: str, yes: str, groups: str | None) -> Nested:
        cuts = self.of(label, key=scores)
        together = None if groups is None else [cut[f"{label}|{groups}"] for cut in cuts]
        sure, truth = ([cut[f"{label}|{each}"] for cut in cuts] for each in (scores, yes))
        return auc(sure, truth, together)

    def _rows(self, cut: Arrays, found: str | None, missed: bool) -> Rows:
        if found is None:
            return np.ones(len(cut["groups"]), bool)
        rows: Rows = cut[f"found.{found}"].astype(bool)
        return ~rows if missed else rows

    def _hits(self, cut: Arrays, label: str) -> Floats:
        hits: Floats = cut[f"{label}|hits"].astype(np.float64).mean(axis=0)
        return hits
