"""The protocol's three concepts: texts, what people labelled in them, and what belongs together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts import Concept
from sfumato.metrics.similarity import unit_rows
from sfumato.preparing import RowSpans
from sfumato.types import Vectors
from sfumato_research.studies.data import rows

LEAST_WORDS = 6
_PASSAGE = 60
_TITLES = frozenset("Dr Mr Mrs Ms Miss PhD MD DDS DVM Jr Sr II III IV V".split())
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
_BLOCK = 1024


@dataclass(frozen=True, slots=True, eq=False)
class GoldCase:
    """One concept with its truth."""

    name: str
    label: str
    """Of the spans that say what is sensitive."""
    looked_for: str
    """The catalog's concept that a protector looks for."""
    texts: list[str]
    spans: list[list[dict[str, object]]]
    groups: NDArray[np.int64]
    """`[n]` what must stand on one side of a cut, as far as the data says."""

    def cut(self, most: int) -> GoldCase:
        """The first texts of it."""
        return replace(self, texts=self.texts[:most], spans=self.spans[:most], groups=self.groups[:most])

    @property
    def truth(self) -> Concept:
        """What people labelled."""
        return Concept.from_spans(self.label, name=self.name)

    @property
    def labelled(self) -> RowSpans:
        """The spans of each text."""
        return self.spans


def places(data: Path) -> GoldCase:
    """Locations in the news of CoNLL-2003."""
    return _news(data, "place", "LOC", "location")


def people(data: Path) -> GoldCase:
    """People in the news of CoNLL-2003."""
    return _news(data, "person", "PER", "person")


def patients(data: Path) -> GoldCase:
    """First and last names in the made-up headers of medical notes, a note's passages being one group."""
    texts: list[str] = []
    spans: list[list[dict[str, object]]] = []
    groups: list[int] = []
    for number, row in enumerate(rows(data, "pii_medical_notes", "notes")):
        names = [span for span in row["spans"] if "NAME" in span["label"].upper()]
        for start, end in _passages(row["text"]):
            texts.append(row["text"][start:end])
            groups.append(number)
            inside = [span for span in names if start <= span["start"] and span["end"] <= end]
            spans.append([word for span in inside for word in _name_words(row["text"], span, start)])
    return GoldCase("patient", "NAME", "person", texts, spans, np.array(groups, np.int64))


CASES: dict[str, tuple[Callable[[Path], GoldCase], Sequence[str]]] = {
    "place": (places, ("conll2003",)),
    "person": (people, ("conll2003",)),
    "patient": (patients, ("pii_medical_notes",)),
}
"""How each is made, and which data sets it reads."""


def near_clusters(vectors: Vectors, least: float = 0.95) -> NDArray[np.int64]:
    """`[n]` groups of vectors that a chain of cosines of at least so much joins."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    unit = unit_rows(vectors).astype(np.float32)
    pairs = [
        np.argwhere(unit[start : start + _BLOCK] @ unit.T >= least) + (start, 0)
        for start in range(0, len(unit), _BLOCK)
    ]
    joined = np.concatenate(pairs) if pairs else np.zeros((0, 2), int)
    table = coo_matrix((np.ones(len(joined)), joined.T), shape=(len(unit), len(unit)))
    return np.asarray(connected_components(table, directed=False)[1], np.int64)


def _news(data: Path, name: str, label: str, looked_for: str) -> GoldCase:
    known: dict[str, list[dict[str, object]]] = {}
    for row in rows(data, "conll2003", "conll2003"):
        if len(row["text"].split()) >= LEAST_WORDS:
            known.setdefault(row["text"], row["spans"])
    return GoldCase(name, label, looked_for, list(known), list(known.values()), np.arange(len(known)))


def _passages(text: str) -> list[tuple[int, int]]:
    """Where a note is cut: after lines and sentences, at about sixty words."""
    cuts = [match.end() for match in re.finditer(r"[.;:]\s+|,(?=[A-Z])", text)] + [len(text)]
    made, start, words, last = [], 0, 0, 0
    for cut in cuts:
        size = len(text[last:cut].split())
        if words and words + size > _PASSAGE:
            made.append((start, last))
            start, words = last, 0
        words, last = words + size, cut
    made.append((start, last))
    return [(one, other) for one, other in made if len(text[one:other].split()) >= LEAST_WORDS]


def _name_words(text: str, span: dict[str, int], start: int) -> list[dict[str, object]]:
    """The words of a name without titles, each a span of its own in the passage."""
    value = text[span["start"] : span["end"]]
    return [
        {
            "start": span["start"] + word.start() - start,
            "end": span["start"] + word.end() - start,
            "label": "NAME",
        }
        for word in _WORD.finditer(value)
        if word.group() not in _TITLES
    ]
