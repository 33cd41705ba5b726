"""What a detector finds in texts, looked for once and kept beside the vectors."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from sfumato.concepts import Concept
from sfumato.concepts.base import Detector, Span
from sfumato.concepts.catalog import lookup
from sfumato.concepts.detectors.labelled import Labelled
from sfumato.concepts.detectors.union import Union
from sfumato.concepts.spans import find_all
from sfumato.files import write_atomic
from sfumato.trials.questions.informed import asked_of, candidates
from sfumato.trials.rows import LeftOut
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato_research.studies.base import Setting

Finder = Literal["all", "lists"]
"""all: everything that is installed, spaCy's pipeline with it; lists: what Sfumato brings itself."""


def looking(name: str, finder: Finder) -> Concept:
    """The catalog's concept as one of the finders sees it."""
    concept = Concept.named(name)
    if finder == "all":
        return concept
    parts = [part.make() for part in lookup(name).parts if not part.package]
    return replace(concept, detector=parts[0] if len(parts) == 1 else Union(*parts))


def remembered(name: str, finder: Finder, texts: Sequence[str], setting: Setting) -> Concept:
    """The same concept, which looks at none of these texts twice, in this run or in a later one."""
    path = None if setting.cache is None else setting.cache / f"found-{name}-{finder}.json.gz"
    kept: dict[str, list[list[int]]] = {}
    if path is not None and path.exists():
        kept = json.loads(gzip.decompress(path.read_bytes()))
    known = {text: _digest(text) for text in dict.fromkeys(texts)}
    new = [text for text, digest in known.items() if digest not in kept]
    plain = _without_detector(name) if not new else looking(name, finder)
    if new:
        for text, spans in zip(new, plain.find_all(new), strict=True):
            kept[known[text]] = [[span.start, span.end] for span in spans]
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, gzip.compress(json.dumps(kept).encode()))
    rows = [(text, [{"start": a, "end": b, "label": name} for a, b in kept[d]]) for text, d in known.items()]
    lists = looking(name, "lists")  # for texts an attacker makes of his own
    return replace(plain, detector=Labelled(rows, name=f"{name}, {finder}", otherwise=lists.detector))


class KnownFinder:
    """A concept's whole detector, which looks at no text twice, whoever asks.

    Args:
        name: the catalog's concept.
        known: where it stands in texts that were looked at before, by their digest.
    """

    def __init__(self, name: str, known: Mapping[str, Sequence[Sequence[int]]]) -> None:
        self.concept, self.name = name, f"{name}, looked for once"
        self.blind_to = "What the concept's own detector does not find."
        self._known: dict[str, list[list[int]]] = {
            digest: [list(a) for a in each] for digest, each in known.items()
        }

    @cached_property
    def detector(self) -> Detector:
        """What finds, made when it is first needed."""
        found = looking(self.concept, "all").detector
        assert found is not None
        return found

    def find(self, text: str) -> list[Span]:
        """Where it stands in a text."""
        return next(self.find_many([text]))

    def find_many(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """Where it stands in each of many texts."""
        given = [(text, _digest(text)) for text in texts]
        new = {digest: text for text, digest in given if digest not in self._known}
        if new:
            spans = looking_in(self.detector, list(new.values()))
            self._known.update(zip(new, spans, strict=True))
        for _, digest in given:
            yield [Span(start, end, self.concept) for start, end in self._known[digest]]

    def spans(self, texts: Sequence[str]) -> dict[str, list[list[int]]]:
        """The same of different texts by their digest, to be kept."""
        for _ in self.find_many(texts):
            pass
        return {digest: self._known[digest] for digest in map(_digest, texts)}


def looking_in(detector: Detector, texts: Sequence[str]) -> list[list[list[int]]]:
    """Start and end of everything a detector finds in each text."""
    return [[[span.start, span.end] for span in found] for found in find_all(detector, texts)]


def informed_texts(pool: Split, suite: Suite, seed: int) -> list[str]:
    """The texts that the informed attacker makes: each he is asked about, with every candidate in place.

    He looks at them as the protector would, so what is found in them is looked for beforehand, too.
    """
    try:
        terms = candidates(pool, suite.candidates)
        asked = asked_of(pool, terms, suite.informed, seed)
    except LeftOut:
        return []
    concept = Concept.from_terms(pool.concept.name, terms)
    texts = [pool.texts[row] for row in pool.attacked[asked]]
    return [concept.replace(text, term) for text in texts for term in concept.terms]


def _without_detector(name: str) -> Concept:
    return looking(name, "lists")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
