"""Clinical sentences with weak labels: dictionaries say where diseases, symptoms and drugs stand."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from rows import HIDDEN, Row, Segment

from sfumato.concepts.detectors.dictionary import Dictionary
from sfumato.concepts.detectors.lexicons import Lexicon
from sfumato.concepts.detectors.patterns import Patterns
from sfumato.concepts.detectors.union import Union
from sfumato.concepts.lists import medical

_SENTENCE = re.compile(r"[^.\n]{25,400}[.\n]")
_TITLED = re.compile(r"\b(?:Dr|Mr|Mrs|Ms)\.? [A-Z][\w.]*(?: [A-Z][\w.]*)?")
_PLACES_HELD = re.compile(r"(?:[A-Z]{2,}|[A-Z][a-z]+ (?:Hospital|Clinic|University|Center|County|Medical)\b)")
LOOKED_FOR = frozenset(("person", "disease", "symptom", "drug", "age"))


def sentences(data: Path, count: int, rng: random.Random) -> list[Row]:
    """Sentences of reports; people were taken out of those, but for what follows a title."""
    finders = [
        Union(Dictionary(terms, label=kind, name=kind), Lexicon(kind))  # type: ignore[arg-type]
        for kind, terms in (
            ("disease", medical.DISEASES),
            ("symptom", medical.SYMPTOMS),
            ("drug", medical.DRUGS),
        )
    ]
    finders.append(Patterns("age", label="age"))
    texts = [found.group().strip() for text in _reports(data) for found in _SENTENCE.finditer(text)]
    rng.shuffle(texts)
    return [Row(tuple(_segments(text, finders)), LOOKED_FOR) for text in texts[:count]]


def _reports(data: Path) -> Iterator[str]:
    with gzip.open(data / "mtsamples" / "mtsamples.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["transcription"]


def _segments(text: str, finders: list[object]) -> Iterator[Segment]:
    spans = [(found.start(), found.end(), "person") for found in _TITLED.finditer(text)]
    for finder in finders:
        spans += [(span.start, span.end, span.label) for span in finder.find(text)]  # type: ignore[attr-defined]
    spans += [(found.start(), found.end(), HIDDEN) for found in _PLACES_HELD.finditer(text)]
    at = 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], span[0] - span[1])):
        if start < at:
            continue
        if start > at:
            yield text[at:start], None
        yield text[start:end], kind
        at = end
    if at < len(text):
        yield text[at:], None
