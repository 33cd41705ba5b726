"""The rows that tell most of what attacks read: those read best, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.concepts.concept import Concept
from sfumato.metrics.leakage import named
from sfumato.metrics.reconstruction import token_f1
from sfumato.trials.everything import Tried

MOST = 10
_LISTED = 3


@dataclass(frozen=True, slots=True)
class Telling:
    """One row as an attack read it."""

    row: int
    """Of the caller's."""
    attack: str
    read: str
    true: str | None
    """The text, where it is known."""
    right: float
    """How much of it was read: the overlap of a text, or the share of its terms; where the text is not known,
    how sure the attack is."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def most_telling(
    tried: Sequence[Tried], texts: Sequence[str] | None, concept: Concept | None, most: int = MOST
) -> list[Telling]:
    """The rows read best of all attacks: written texts first, then terms; each row once."""
    found: list[tuple[int, Telling]] = []
    for each in tried:
        if each.reads not in ("text", "terms"):
            continue
        for place, row in enumerate(each.result.trial.rows.tolist()):
            own = int(each.places[row])
            true = None if texts is None else texts[own]
            read = each.result.recovered.rows[place]
            right = float(each.result.recovered.scores[place])
            if true is not None:
                right = _right(read, true, concept)
            if right > 0 and read:
                words = read if isinstance(read, str) else ", ".join(read[:_LISTED])
                found.append((0 if each.reads == "text" else 1, Telling(own, each.name, words, true, right)))
    kept: dict[int, Telling] = {}
    for _, one in sorted(found, key=lambda pair: (-pair[1].right, pair[0], pair[1].row)):
        kept.setdefault(one.row, one)
    return list(kept.values())[:most]


def _right(read: str | list[str], true: str, concept: Concept | None) -> float:
    if isinstance(read, str):
        return token_f1(true, read)
    if concept is None:
        return 0.0
    hits = named(concept.terms_in(true), read)
    return sum(hits.values()) / len(hits) if hits else 0.0
