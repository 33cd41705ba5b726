"""One practised reader of a release: it practises once, and reads without steps and with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.trials.making import make_attack
from sfumato_research.attackers.naming import Found, offered, scored, settings_for
from sfumato_research.attackers.stolen import Stolen

SETTINGS: dict[str, tuple[Any, Any, Any]] = {
    "practice": (60_000, 1000, 64), "made": (0.0, 0.0, 0.0), "likeliest": (4, 2, 1), "steps": (10, 2, 1),
    "beam": (4, 2, 1), "branch": (8, 2, 1),
}  # fmt: skip
"""Of a GPU, a CPU and a quick run. Half of the practice writes, the other half corrects."""
_AT_ONCE, _STEPPED = {"rows": (600, 600, 5)}, {"rows": (500, 120, 5)}


def at_once(stolen: Stolen) -> Found:
    """What it writes without looking at a guess of its own."""
    reader = _practised(stolen)
    stepped = reader.search
    reader.search = replace(stepped, steps=0, beam=1, first=1)
    try:
        return _read(stolen, reader, **settings_for(stolen.ground, _AT_ONCE))
    finally:
        reader.search = stepped


def with_steps(stolen: Stolen) -> Found:
    """What it writes after so many rounds of correction."""
    return _read(stolen, _practised(stolen), **settings_for(stolen.ground, _STEPPED))


def _practised(stolen: Stolen) -> Any:
    """The reader, which takes releases as they are."""

    def make() -> Any:
        ground = stolen.ground
        attack = make_attack("practised", settings_for(ground, SETTINGS), offered(stolen))
        known = stolen.with_public(stolen.training(), ground.public, own=False)
        return attack.fit(known.texts, known.vectors, known.victim)

    return stolen.once("practised", make)


def _read(stolen: Stolen, reader: Any, rows: int) -> Found:
    released = stolen.read(0, stolen.ground.rows[:rows])
    return scored(stolen.ground, reader.recover(released).rows)
