"""What `sfumato rewrite` counts on the way, shows at the end and writes as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from sfumato.concepts.base import Span
from sfumato.inputs.base import RowBatch
from sfumato.text import Budgets, Group, GroupMap, Promise, Rewriter, Rewritten
from sfumato.text.explain import Explanation
from sfumato.text.grouping import name_of
from sfumato.text.groups import group_table

_SHOWN = 8


@dataclass
class Totals:
    """What is counted from batch to batch."""

    texts: list[str] | None
    explained: list[Explanation] = field(default_factory=list)
    counts: dict[Group, int] = field(default_factory=lambda: dict.fromkeys(Group, 0))
    largest: Promise | None = None
    labels: Counter[str] = field(default_factory=Counter)
    """Spans that came with the texts and were used without being named, by label."""
    labelled: bool = False
    rows: int = 0
    refused: int = 0

    def add(self, made: Rewritten) -> None:
        """Count one text."""
        self.rows += 1
        for group, number in made.counts.items():
            self.counts[group] += number
        if self.largest is None or made.promise.epsilon > self.largest.epsilon:
            self.largest = made.promise

    def marked(self, batch: RowBatch, groups: GroupMap) -> list[list[Span]] | None:
        """The labelled spans of a batch; rows after the first labelled ones may have none."""
        if batch.spans is None:
            return [[] for _ in range(len(batch))] if self.labelled else None
        self.labelled = True
        if not groups.names_labels:
            self.labels.update(span.label for row in batch.spans for span in row)
        return batch.spans


def report(screen: Console, totals: Totals, budgets: Budgets, showing: bool) -> None:
    """Show what was spent on what, and what is promised; never a text."""
    table = Table(show_header=True, pad_edge=False)
    heading, *rows = group_table(totals.counts, budgets)
    for name in heading:
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    screen.print(table)
    if totals.largest is not None:
        screen.print(
            f"{totals.rows} texts; the most for one of them: {totals.largest.describe()}", highlight=False
        )
        for note in totals.largest.notes[1:]:
            screen.print(f"  {note}", highlight=False)
    if totals.labels:
        names = ", ".join(name for name, _ in totals.labels.most_common(_SHOWN))
        screen.print(
            f"{totals.labels.total()} spans labelled in the input were sensitive too ({names}"
            f"{', ...' * (len(totals.labels) > _SHOWN)}); --no-labels leaves them out.",
            highlight=False,
            markup=False,
        )
    if totals.refused:
        screen.print(f"{totals.refused} repairs broke a rule and were not taken.")
    if showing:
        screen.print("An explanation holds the original words: it is for their owner only.")


def results(totals: Totals, rewriter: Rewriter) -> dict[str, Any]:
    """What the JSON holds."""
    vocabulary = rewriter.vocabulary
    return {
        "texts": totals.texts,
        "rows": totals.rows,
        "groups": {str(int(group)): number for group, number in totals.counts.items()},
        "promise": None if totals.largest is None else totals.largest.to_dict(),
        "repairs_refused": totals.refused,
        "settings": {
            "mechanism": rewriter.channel.name,
            "vocabulary": {"name": vocabulary.name, "words": len(vocabulary), "dim": vocabulary.dim},
            "vocabulary_sha256": vocabulary.digest,
            "threshold": rewriter.groups.threshold,
            "groups": "cosine" if rewriter.groups.function is None else name_of(rewriter.groups.function),
            "unknown": rewriter.unknown,
            "labelled_spans": dict(totals.labels),
        },
    }
