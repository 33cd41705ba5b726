"""From cells to figures with intervals: what was reached, what it is beside control, floor and prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.types import Floats
from sfumato_research.attackers.attackers import ATTACKERS
from sfumato_research.attackers.cells import ON_CPU, SECOND, Cells
from sfumato_research.attackers.knowing import MEMBER
from sfumato_research.attackers.naming import NAMED
from sfumato_research.attackers.releases import CLEAN, FLOOR, LAPLACE, RELEASES
from sfumato_research.frontier.nested import Nested, auc, nested, share

MARGIN = 0.05
"""By which a control must lie above its prior for an attack to count."""
_CHANCE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Hits of rows and how many there could be, whose sums make a figure, and what is drawn together."""

    hits: Floats
    total: Floats
    groups: NDArray[np.int64]

    def figure(self) -> Nested:
        """The share, with its interval."""
        return nested([np.stack([self.hits, self.total], 1)], [self.groups], share)


@dataclass(eq=False)
class CellFigures:
    """Figures of one concept's cells."""

    cells: Cells

    def column(self, row: str, release: str, question: str, part: str = "value") -> Column | None:
        """Hits of one row on one release; `part` may also be its floor or its prior."""
        return self._column(self.cells.get((row, release, 0)), question, part)

    def called(self, row: str) -> str:
        """The name of a row in tables, by the settings that its cells were made with."""
        every = (self.cells.get((row, release, time)) for release in RELEASES for time in (0, SECOND))
        devices = {cell["device"] for cell in every if cell is not None}
        return ATTACKERS[row].on_cpu or row if devices == {"cpu"} and row in ATTACKERS else row

    def alone(self, row: str, question: str) -> Nested | None:
        """What an attack reached on a CPU, with its settings for one."""
        found = self._column(self.cells.get((row, LAPLACE, ON_CPU)), question, "value")
        return None if found is None else found.figure()

    def _column(self, cell: dict[str, Any] | None, question: str, part: str) -> Column | None:
        found: dict[str, Any] | None = None if cell is None else cell["figures"].get(question)
        if found is None or question == MEMBER:
            return None
        key = {"value": "found"}.get(part, part) if question == NAMED else part
        hits = np.asarray(found[key], float)
        total = np.asarray(found.get("total", np.ones(len(hits))), float)
        assert cell is not None
        groups = np.asarray(found.get("groups", cell["groups"]), np.int64)[: len(hits)]
        return Column(hits, total, groups)

    def figure(self, row: str, release: str, question: str) -> Nested | None:
        """What an attack reached."""
        if question == MEMBER:
            return self.member(row, release)
        found = self.column(row, release, question)
        return None if found is None else found.figure()

    def control(self, row: str, question: str) -> Nested | None:
        """The same on clean vectors."""
        return self.figure(self._beside(row), CLEAN, question)

    def floor(self, row: str, question: str) -> Nested | None:
        """What it gets where there is nothing to find."""
        if question == MEMBER:
            return Nested(_CHANCE, None)
        if question == NAMED:
            return self.figure(self._beside(row), FLOOR, question)
        found = self.column(self._beside(row), CLEAN, question, "floor")
        return None if found is None else found.figure()

    def prior(self, row: str, question: str) -> Nested | None:
        """What a constant answer gets."""
        if question == MEMBER:
            return Nested(_CHANCE, None)
        found = self.column(self._beside(row), CLEAN, question, "prior")
        return None if found is None else found.figure()

    def works(self, row: str, question: str) -> bool:
        """Whether it reads clean vectors clearly better than a constant answer."""
        control, prior = self.control(row, question), self.prior(row, question)
        return control is not None and prior is not None and control.low - prior.value >= MARGIN

    def strongest(self, release: str, question: str) -> str | None:
        """The row of the highest figure among those that work; of several the first."""
        return next(iter(self._highest(release, question)), None)

    def _highest(self, release: str, question: str) -> list[str]:
        """The rows of the highest figure among those that work."""
        found: dict[str, float] = {}
        for row, attacker in self.cells.table.items():
            figure = self.figure(row, release, question) if question in attacker.answers else None
            if figure is not None and self.works(row, question):
                found[row] = figure.value
        return [row for row, value in found.items() if value == max(found.values())]

    def untried(self, release: str, question: str) -> str | None:
        """The attack that is strongest on clean vectors, where neither it nor its equal was run here.

        One that was strongest there in earlier runs comes first, if it was not even run on clean vectors.
        """
        for row, each in self.cells.table.items():
            if each.leads and question in each.answers and self.cells.get((row, CLEAN, 0)) is None:
                return row
        best = self._highest(CLEAN, question)
        run = any(self.cells.get((row, release, 0)) is not None for row in best)
        return best[0] if best and not run else None

    def as_strong(self, release: str, question: str, row: str) -> list[str]:
        """Others whose difference from this one, on the rows both read, cannot be told from nothing."""
        others = [
            other for other, each in self.cells.table.items() if question in each.answers and other != row
        ]
        return [
            other
            for other in others
            if self.works(other, question)
            and (gap := self.difference(row, other, release, release, question)) is not None
            and gap.low <= 0
        ]

    def difference(self, row: str, other: str, release: str, beside: str, question: str) -> Nested | None:
        """One attack's figure less another's, or on another release, on the rows both read."""
        one, two = self.column(row, release, question), self.column(other, beside, question)
        if one is None or two is None:
            return None
        count = min(len(one.hits), len(two.hits))
        table = np.stack([one.hits[:count] - two.hits[:count], one.total[:count]], 1)
        return nested([table], [one.groups[:count]], share)

    def relative(self, row: str, release: str, question: str, base: str = "prior") -> Nested | None:
        """(released - base)/(control - base): absolute leakage, or with the floor for a base the excess."""
        released = self.column(row, release, question)
        clean = self.column(self._beside(row), CLEAN, question)
        under = (
            self.column(self._beside(row), FLOOR, question)
            if base == "floor" and question == NAMED
            else self.column(self._beside(row), CLEAN, question, base)
        )
        if released is None or clean is None or under is None:
            return None
        count = min(len(each.hits) for each in (released, clean, under))
        columns = [each.hits[:count] for each in (released, clean, under)]
        return nested(
            [np.stack(columns, 1)],
            [released.groups[:count]],
            lambda sums: (sums[:, 0] - sums[:, 2]) / (sums[:, 1] - sums[:, 2]),
        )

    def kept(self, row: str, release: str, other: str, question: str) -> Nested | None:
        """What one attack gets from a release as a share of what another gets from clean vectors."""
        one, two = self.column(row, release, question), self.column(other, CLEAN, question)
        if one is None or two is None:
            return None
        count = min(len(one.hits), len(two.hits))
        table = np.stack([one.hits[:count], two.hits[:count]], 1)
        return nested([table], [one.groups[:count]], share)

    def member(self, row: str, release: str) -> Nested | None:
        """Area under the curve of a membership attack."""
        found = self._members(row, release)
        return None if found is None else auc([found[0]], [found[1]], [found[2]])

    def caught(self, row: str, release: str, wrong: float = 0.01) -> float | None:
        """Share of stored texts that are told at so many false alarms."""
        found = self._members(row, release)
        if found is None:
            return None
        scores, inside, _ = found
        edge = np.quantile(scores[~inside], 1 - wrong, method="higher")
        return float((scores[inside] > edge).mean())

    def minutes(self, row: str) -> tuple[float | None, float | None]:
        """Mean minutes a release, of processor and of GPU; None where none of its cells was run so."""
        spent: dict[bool, list[float]] = {True: [], False: []}
        for cell in self.cells.there():
            if cell["attack"] == row and cell["figures"]:
                gpu = cell["device"] != "cpu"
                spent[gpu].append(float(cell["seconds" if gpu else "processor_seconds"]) / 60)
        mean = {gpu: float(np.mean(each)) if each else None for gpu, each in spent.items()}
        return mean[False], mean[True]

    def _members(self, row: str, release: str) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]] | None:
        cell = self.cells.get((row, release, 0))
        found = None if cell is None else cell["figures"].get(MEMBER)
        if found is None:
            return None
        return (
            np.asarray(found["scores"], float),
            np.asarray(found["inside"], bool),
            np.asarray(found["groups"], np.int64),
        )

    def _beside(self, row: str) -> str:
        return self.cells.table[row].beside or row
