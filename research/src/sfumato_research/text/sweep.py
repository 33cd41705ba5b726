"""The paper's figure 5: what the threshold of importance does to utility."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.concepts.spans import SpanLike
from sfumato.embedders.base import Embedder
from sfumato.randomness import resolve
from sfumato.text.budgets import Group
from sfumato.text.importance import SWEEP
from sfumato.text.rewriter import Rewriter


@dataclass(frozen=True, slots=True)
class SweepRow:
    """What one threshold gives."""

    threshold: float
    important: float
    """Share of words that count as important."""
    cosine: float
    """Mean cosine between a text and its private form."""
    error: float
    """Standard error of that mean."""
    mean_epsilon: float
    """Mean budget of a word: a lower threshold also spends more."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def sweep(
    rewriter: Rewriter,
    texts: Sequence[str],
    embedder: Embedder,
    *,
    tasks: Sequence[str] | None = None,
    spans: Sequence[Iterable[SpanLike]] | None = None,
    thresholds: Sequence[float] = SWEEP,
    rng: object = None,
) -> list[SweepRow]:
    """Rewrite the texts at every threshold and compare them with what they were."""
    source = resolve(rng)
    clean = embedder.embed(texts).astype(np.float64)
    rows = []
    for threshold in thresholds:
        made = rewriter.with_threshold(threshold).rewrite(texts, tasks=tasks, spans=spans, rng=source)
        released = embedder.embed([each.text for each in made]).astype(np.float64)
        cosines = (clean * released).sum(axis=1)
        counts = {group: sum(each.counts[group] for each in made) for group in Group}
        words = max(1, sum(counts.values()))
        important = sum(count for group, count in counts.items() if group.important) / words
        error = float(cosines.std(ddof=1)) / len(cosines) ** 0.5 if len(cosines) > 1 else 0.0
        rows.append(
            SweepRow(threshold, important, float(cosines.mean()), error, rewriter.budgets.mean(counts))
        )
    return rows
