"""A sample of labelled texts, and a concept that finds a wanted share of what is labelled there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.cli.output import console
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.inputs import ColumnNames, read

_MOST_TEXTS = 1_000_000


def read_sample(sample: Path, names: ColumnNames) -> tuple[list[str], list[Any]]:
    """Its texts, and the spans that people labelled in each."""
    texts: list[str] = []
    spans: list[Any] = []
    for batch in read(sample, need="text", names=names):
        texts += batch.texts or []
        spans += batch.spans if batch.spans is not None else [[] for _ in batch.texts or []]
        if len(texts) > _MOST_TEXTS:
            raise InputError(f"{sample.name} must hold at most {_MOST_TEXTS} texts. Take a sample of it.")
    return texts, spans


def at_recall(
    wanted: list[Concept],
    recall: float | None,
    sample: Path | None,
    labels: str | None,
    names: ColumnNames,
) -> tuple[list[Concept], dict[str, Any] | None]:
    """The concepts, the one of the catalog with the threshold that --recall asks for; and what it finds."""
    if recall is None and sample is None and labels is None:
        return wanted, None
    if recall is None or sample is None or labels is None:
        raise InputError("--recall, --sample and --truth-spans belong together. Name all three, or none.")
    named = [concept for concept in wanted if concept.source == "catalog"]
    if len(named) != 1:
        raise InputError(f"--recall is about one --concept of the catalog. Found {len(named)}.")
    from sfumato.tagging.calibration import threshold_for

    found = threshold_for(named[0], *read_sample(sample, names), labels, recall)
    console().print(
        f"{named[0].name}: {found.found} of {found.labelled} labelled terms are found "
        f"({found.share:.1%}, at least {found.low:.1%} with 97.5 % confidence; {found.found_before} by "
        f"default): threshold {found.threshold:.3g}"
    )
    tuned = Concept.named(named[0].name, wide=named[0].wide, threshold=found.threshold)
    return [tuned if concept is named[0] else concept for concept in wanted], found.to_dict()
