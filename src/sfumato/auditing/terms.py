"""Leakage term by term: what stands behind one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.auditing.material import Material
from sfumato.auditing.reading import Guesses
from sfumato.concepts.concept import Concept
from sfumato.evaluation.privacy import count_leaked

PUBLIC = ("terms", "catalog")
"""Concepts whose terms somebody listed; what is found in private texts is never called by its name."""


def public_terms(concept: Concept) -> set[str]:
    """The terms that may be called by their names, in lower case."""
    return {term.lower() for term in concept.terms} if concept.source in PUBLIC else set()


def by_term(material: Material, columns: dict[str, Guesses | None]) -> list[dict[str, Any]]:
    """How often each term is named where it stands, the most frequent term first.

    Args:
        material: the texts.
        columns: what was read, by the name of the column it becomes.
    """
    truth = material.truth
    public = public_terms(material.concept)
    rows = []
    for term in sorted({term for terms in truth for term in terms}):
        holding = [row for row, terms in enumerate(truth) if term in terms]
        row: dict[str, Any] = {"term": term if term in public else None, "count": len(holding)}
        for name, guesses in columns.items():
            row[name] = None if guesses is None else _share(term, holding, truth, guesses)
        rows.append(row)
    return sorted(rows, key=lambda row: (-row["count"], row["term"] or ""))


def _share(term: str, rows: list[int], truth: Sequence[Sequence[str]], guesses: Guesses) -> float:
    return sum(_named(term, guesses[row], len(truth[row])) for row in rows) / len(rows)


def _named(term: str, guess: str | Sequence[str], count: int) -> bool:
    """Whether it stands in a rebuilt text, or among as many guesses as the text holds terms."""
    if isinstance(guess, str):
        return bool(count_leaked([[term]], [guess]).found[0])
    return any(term == each.lower() for each in guess[:count])
