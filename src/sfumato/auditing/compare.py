"""Two audits of the same thing: did leakage grow by more than chance explains?

Each audit has a figure and a 95 % interval. They come from different texts, runs and noise, so the
half-widths towards each other add as independent errors do: it grew if the difference is more than
sqrt(a^2 + b^2), where a is what the earlier interval reaches upwards and b what the later one reaches down.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ArtifactError, InputError
from sfumato.files import PathLike

LARGEST = 64 * 2**20
_FIGURES = (("excess", "interval"), ("absolute", "absolute_interval"))
_SAME = ("suite", "target", "embedder", "dim")
"""Settings that have to agree, or the figures are of different things."""


@dataclass(frozen=True, slots=True)
class Grown:
    """How leakage changed since an earlier audit."""

    before: float
    now: float
    allowed: float
    """How much more there may be before it is more than chance."""
    figure: str
    """Which figure was compared: excess, or absolute where an audit has no excess."""

    @property
    def grew(self) -> bool:
        """Whether it grew by more than chance explains."""
        return self.now - self.before > self.allowed

    def words(self) -> str:
        """One line."""
        change = f"{self.figure} leakage was {self.before:.1%} and is {self.now:.1%}"
        more = "more than" if self.grew else "within"
        return f"{change}: {more} the {self.allowed:.1%} that chance explains."


def read_audit(path: PathLike) -> dict[str, Any]:
    """What an earlier `sfumato audit --json` wrote."""
    try:
        with open(path, "rb") as handle:
            found = json.loads(handle.read(LARGEST))  # a longer one ends early, and is refused as no JSON
        for figure, ends in _FIGURES:
            _require_figure(found["leakage"][figure], found["leakage"][ends])
        if not isinstance(found["settings"]["concept"]["name"], str):
            raise TypeError
        str(found["leakage"]["attack"])
    except (ValueError, KeyError, TypeError) as error:
        raise ArtifactError(
            f"`{path}` has to be an audit with a measured leakage, as `sfumato audit --json` writes it. "
            f"Found something else ({type(error).__name__}). Run that audit again."
        ) from None
    return dict(found)


def _require_figure(value: Any, ends: Any) -> None:
    """A figure inside its interval, or neither: with anything else a comparison would hold by accident."""
    if value is None and ends is None:
        return
    low, high = (0.0, 0.0) if ends is None else ends
    numbers = (value, low, high)
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in numbers):
        raise TypeError
    if not all(map(math.isfinite, numbers)) or (ends is not None and not low <= value <= high):
        raise ValueError


def compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> Grown:
    """Compare two audits, the later one as `Audit.to_dict` gives it; refuse what cannot be compared."""
    if now["leakage"] is None:
        raise InputError("This audit measured no leakage, so there is nothing to compare.")
    for name in _SAME:
        _require_same(name, before["settings"].get(name), now["settings"].get(name))
    _require_same("concept", before["settings"]["concept"]["name"], now["settings"]["concept"]["name"])
    _require_same("truth", before.get("truth"), now.get("truth"))
    _require_same("attack", before["leakage"]["attack"], now["leakage"]["attack"])
    figure, ends = _FIGURES[0 if _has_excess(before, now) else 1]
    old, new = before["leakage"], now["leakage"]
    if any(each.get(figure) is None or each.get(ends) is None for each in (old, new)):
        raise InputError("One of the two audits has no interval for its leakage. Run it with more rows.")
    up, down = float(old[ends][1]) - float(old[figure]), float(new[figure]) - float(new[ends][0])
    return Grown(float(old[figure]), float(new[figure]), math.hypot(max(up, 0.0), max(down, 0.0)), figure)


def _has_excess(*audits: Mapping[str, Any]) -> bool:
    return all(each["leakage"].get("interval") is not None for each in audits)


def _require_same(what: str, before: Any, now: Any) -> None:
    if before != now:
        raise InputError(
            f"Two audits can be compared if they are of the same {what}. "
            f"Found {before!r:.60} and {now!r:.60}. Run the earlier one again."
        )
