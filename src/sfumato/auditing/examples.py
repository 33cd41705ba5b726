"""What the attacker read, for texts and terms that may be shown and no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.concepts.concept import Concept
from sfumato.metrics.leakage import named, token
from sfumato.trials.reading import READY_MADE, Calibration, Guesses, Reading
from sfumato.trials.split import Split

if TYPE_CHECKING:
    from sfumato.auditing.readable import WrittenTexts

HIDDEN = "(not shown)"
_EXAMPLES, _LISTED = 6, 3

PUBLIC = ("terms", "catalog")
"""Concepts whose terms somebody listed; what is found in private texts is never called by its name."""

Guess = str | Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What one attack read from clean and released vectors, by row of the pool."""

    clean: dict[int, Guess]
    released: dict[int, Guess]
    learns: bool = True
    """Whether it learned from the audit's own texts, so that it may repeat them."""


def shown_by(calibration: Calibration, reading: Reading) -> Shown:
    """Put what an attack read beside the rows it read."""

    def by_row(guesses: Guesses) -> dict[int, Guess]:
        return dict(zip(reading.rows.tolist(), guesses, strict=True))

    return Shown(by_row(calibration.clean), by_row(reading.guesses), calibration.method.learns)


def examples(
    split: Split,
    read: dict[str, tuple[Calibration, Reading]],
    showable: list[bool],
    written: WrittenTexts | None,
) -> list[dict[str, Any]]:
    """The first attacked texts that may be shown, beside what was read from clean and released vectors.

    A guess repeats what the attacker learned from other texts, so it is shown only where it is a public term
    or stands in a showable text; what he wrote, only where all he learned from may be shown. The ready-made
    reader wrote some of them (`written`) even in an audit that does not measure it.
    """
    shown = {name: shown_by(*each) for name, each in read.items()}
    visible = np.array([showable[row] for row in split.source])
    holders = zip(split.rows.tolist(), split.terms, strict=True)
    allowed = public_terms(split.concept) | {term for row, terms in holders if visible[row] for term in terms}
    texts_allowed = bool(visible[split.learned].all())
    common = set.intersection(*(set(each.clean) for each in shown.values()))
    rows = [row for row in split.attacked.tolist() if visible[row] and row in common][:_EXAMPLES]
    if written is not None and READY_MADE not in shown:
        rows = [row for row in rows if row in written.rows] or rows
        clean, released = (
            dict(zip(written.rows, each, strict=True)) for each in (written.clean, written.released)
        )
        if set(rows) <= set(written.rows):
            shown[READY_MADE] = Shown(dict(clean), dict(released), learns=False)

    def side(guess: Guess, learns: bool) -> str | list[str]:
        if isinstance(guess, str):
            return guess if texts_allowed or not learns else HIDDEN
        return [term if term.lower() in allowed else HIDDEN for term in guess[:_LISTED]]

    held = dict(zip(split.rows.tolist(), split.terms, strict=True))
    return [
        {
            "row": int(split.source[row]),
            "text": split.texts[row],
            "terms": list(held[row]),
            "read": {
                name: {
                    "clean": side(each.clean[row], each.learns),
                    "released": side(each.released[row], each.learns),
                }
                for name, each in shown.items()
            },
        }
        for row in rows
    ]


def shown_first(split: Split, showable: list[bool]) -> list[int]:
    """The attacked rows, those that may be shown before the others."""
    rows = split.attacked.tolist()
    return sorted(rows, key=lambda row: not showable[split.source[row]])


def public_terms(concept: Concept) -> set[str]:
    """The terms that may be called by their names, in lower case."""
    return {term.lower() for term in concept.terms} if concept.source in PUBLIC else set()


def by_term(split: Split, columns: dict[str, Guesses | None]) -> list[dict[str, Any]]:
    """How often each term is named where it stands, the most frequent term first.

    Args:
        split: the texts.
        columns: what was read, by the name of the column it becomes.
    """
    truth = split.truth
    public = public_terms(split.concept)
    rows = []
    found = {
        name: None if guesses is None else [named(*row) for row in zip(truth, guesses, strict=True)]
        for name, guesses in columns.items()
    }
    for term in sorted({term for terms in truth for term in terms}):
        holding = [row for row, terms in enumerate(truth) if term in terms]
        row: dict[str, Any] = {"term": term if term in public else None, "count": len(holding)}
        for name, each in found.items():
            hits = [] if each is None else [each[at].get(token(term), False) for at in holding]
            row[name] = sum(hits) / len(hits) if hits else None
        rows.append(row)
    return sorted(rows, key=lambda row: (-row["count"], row["term"] or ""))
