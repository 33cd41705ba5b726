"""Labels of whole texts, such as a topic, a sentiment or the author's sex."""

from __future__ import annotations

from collections.abc import Iterable


def labels_of(texts: Iterable[str], labels: Iterable[object]) -> dict[str, str]:
    """The label of each text; one that has none, or several, is left out."""
    found: dict[str, set[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        found.setdefault(text, set()).update([] if label is None or label == "" else [str(label)])
    return {text: next(iter(each)) for text, each in found.items() if len(each) == 1}
