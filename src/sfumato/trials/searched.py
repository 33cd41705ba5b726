"""What an attack was chosen from: control, floor and release have to be searched alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import InputError


@dataclass(frozen=True, slots=True)
class Searched:
    """What an attack was chosen from on held-back texts, and what was chosen for each run."""

    search: dict[str, Any] | None = None
    """None where the attack has nothing to choose."""
    chosen: dict[str, list[dict[str, Any]]] | None = None
    """By what was attacked: control, floor and released."""


NO_CHOICE = Searched()
"""Of an attack that has nothing to choose."""


def searched_alike(fitted: Mapping[str, Sequence[Any]]) -> Searched:
    """What fitted attacks were chosen from, or refuse to compare those that were searched in other ways.

    Args:
        fitted: by what was attacked, attacks that say what was `chosen` from which `search`, or do not: what
            a writer calls its search is how it looks for a text, and nothing was chosen by it.
    """
    every = [each for several in fitted.values() for each in several]
    found = [getattr(each, "search", None) if hasattr(each, "chosen") else None for each in every]
    if any(each != found[0] for each in found):
        known = [each or {} for each in found]
        keys = dict.fromkeys(key for each in known for key in each)
        other = [key for key in keys if any(each.get(key) != known[0].get(key) for each in known)]
        raise InputError(
            "Control, floor and release must be attacked with the same search. Found another "
            f"{', '.join(other)}. Fit the attack with the same settings everywhere."
        )
    if not found or not found[0]:
        return NO_CHOICE
    return Searched(found[0], {name: [each.chosen for each in several] for name, several in fitted.items()})
