"""The cells of one concept and encoder, and what they are called where they are typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato_research.attackers import knowing
from sfumato_research.attackers.attackers import ATTACKERS, Attacker
from sfumato_research.attackers.cells import CellKey, Cells
from sfumato_research.attackers.knowing import KEPT
from sfumato_research.attackers.releases import CLEAN, COPIES, DEFAULT, FLOOR, LAPLACE, REMOVAL, STUDIED
from sfumato_research.studies.choice import CellChoice, resolve, short

USE = "use"
OLD_DEFAULT = "default-copies"
DEFENCES: Mapping[str, str] = {
    **{short(label): label for label in STUDIED if label != FLOOR},
    OLD_DEFAULT: COPIES,
}
"""What is typed, and the release it stands for."""
PLAIN_DEFENCES = (CLEAN, REMOVAL, DEFAULT, "Laplace .7", LAPLACE)
PLAIN_ATTACKS = ("tokens", "neighbours", "informed", "linkage", "membership", USE)
"""Of a run without a choice."""
MEASURED: Mapping[str, Attacker] = {**ATTACKERS, USE: Attacker("", "–", knowing.use, (KEPT,))}
ATTACKS: Mapping[str, str] = {short(name): name for name in MEASURED}


def typed(label: str) -> str:
    """The name of a release on a command line."""
    return next(name for name, each in DEFENCES.items() if each == label)


@dataclass(eq=False)
class BoardCells(Cells):
    """Chosen cells, with the clean ones and the floor that they stand beside."""

    table: Mapping[str, Attacker] = field(default_factory=lambda: MEASURED)
    choice: CellChoice = field(default_factory=CellChoice)

    @property
    def attacks(self) -> list[str]:
        """Rows that were chosen, or those of a plain run, which the product has."""
        named = resolve(self.choice.attacks, ATTACKS, "attack") or list(PLAIN_ATTACKS)
        return [name for name in named if self.table[name].able]

    @property
    def defences(self) -> list[str]:
        """Releases that were chosen, or those of a plain run."""
        return resolve(self.choice.defences, DEFENCES, "defence") or list(PLAIN_DEFENCES)

    def wanted(self) -> list[CellKey]:
        """Every cell a row is told from, the clean ones first."""
        beside = {name: self.table[name].beside or name for name in self.attacks}
        first = [(name, label, 0) for label in (CLEAN, FLOOR) for name in dict.fromkeys(beside.values())]
        chosen = [(name, label, 0) for label in self.defences for name in self.attacks]
        return list(dict.fromkeys([*first, *chosen]))
