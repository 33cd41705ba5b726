"""Leakage term by term: what stands behind one number."""

from __future__ import annotations

from typing import Any

from sfumato.concepts.concept import Concept
from sfumato.metrics.leakage import named, token
from sfumato.trials.reading import Guesses
from sfumato.trials.split import Split

PUBLIC = ("terms", "catalog")
"""Concepts whose terms somebody listed; what is found in private texts is never called by its name."""


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
            row[name] = None if each is None else _share([each[at].get(token(term), False) for at in holding])
        rows.append(row)
    return sorted(rows, key=lambda row: (-row["count"], row["term"] or ""))


def _share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)
