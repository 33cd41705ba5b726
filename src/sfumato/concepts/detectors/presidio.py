"""Finds what Microsoft Presidio finds: its patterns alone, or with a spaCy pipeline for names."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Protocol

from sfumato.concepts.base import Check, Span
from sfumato.concepts.detectors import spacy
from sfumato.concepts.detectors.pieces import eased, pieces
from sfumato.concepts.spans import encodable, merge
from sfumato.errors import MissingPackageError

PACKAGE = "presidio_analyzer"
# Its expression for addresses of pages reads on from every letter: these bound how far, and between checks.
_LONGEST_RUN, _PIECE = 250, 2000

# Presidio's entities in the words of the catalog; the others keep their name in lower case.
ENTITIES: Mapping[str, str] = {
    "PERSON": "person",
    "LOCATION": "location",
    "ORGANIZATION": "organisation",
    "DATE_TIME": "date",
    "NRP": "group",
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "URL": "url",
    "IP_ADDRESS": "ip",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "US_SSN": "ssn",
    "US_BANK_NUMBER": "code",
    "US_DRIVER_LICENSE": "code",
    "US_PASSPORT": "code",
    "US_ITIN": "code",
    "UK_NHS": "record",
    "MEDICAL_LICENSE": "code",
    "CRYPTO": "code",
}


class PresidioEntity(Protocol):
    """What Presidio returns for each entity."""

    entity_type: str
    start: int
    end: int
    score: float


class Presidio:
    """Finds the entities of Presidio's recognisers, under the catalog's labels.

    Args:
        model: a spaCy pipeline for names; left out, pattern recognisers work alone.
        labels: which labels to keep, in the catalog's words; all when left out.
        threshold: leaves out what Presidio itself is less sure of.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        labels: Iterable[str] = (),
        threshold: float = 0.35,
    ) -> None:
        if importlib.util.find_spec(PACKAGE) is None:
            raise MissingPackageError("presidio-analyzer", "ner", "for the detector `presidio`")
        self.model = None if model is None else os.fspath(model)
        self.labels = frozenset(label.casefold() for label in labels)
        self.threshold = threshold
        self.name = "presidio" if model is None else f"presidio with {spacy.Spacy(model).name}"
        self.blind_to = "Numbers, ages, drugs and diseases, and identifiers outside its list of countries."
        if model is None:
            self.blind_to += " Without a spaCy pipeline also people, places and organisations."

    def find(self, text: str) -> list[Span]:
        """Return the entities in reading order, none overlapping."""
        return next(self.find_many([text]))

    def find_many(self, texts: Iterable[str], check: Check | None = None) -> Iterator[list[Span]]:
        """Find the entities of many texts, calling `check` before each piece of a long one."""
        for text in texts:
            yield merge(
                span for piece in pieces(encodable(text), _PIECE) for span in self._piece(*piece, check)
            )

    def _piece(self, text: str, offset: int, check: Check | None) -> list[Span]:
        if check is not None:
            check()
        if not text.strip():
            return []
        results = _engine(self.model).analyze(
            eased(text, _LONGEST_RUN), language="en", score_threshold=self.threshold
        )
        # Of spans equally long the surest gives the label.
        results.sort(key=lambda result: -result.score)
        return [
            Span(span.start + offset, span.end + offset, span.label)
            for span in from_results(results)
            if not self.labels or span.label in self.labels
        ]


def from_results(results: Iterable[PresidioEntity]) -> list[Span]:
    """Turn Presidio's results for one text into spans, under the catalog's labels."""
    return [
        Span(result.start, result.end, ENTITIES.get(result.entity_type, result.entity_type.lower()))
        for result in results
    ]


@cache
def _engine(model: str | None) -> Any:
    analyzer = importlib.import_module(PACKAGE)
    engines = importlib.import_module(f"{PACKAGE}.nlp_engine")
    if model is None:
        engine = engines.NoOpNlpEngine(models=[{"lang_code": "en", "model_name": ""}])
        engine.load()
    else:
        # Handed over loaded: left to itself Presidio would download a pipeline it does not find. And whole:
        # its context words are lemmas.
        engine = engines.SpacyNlpEngine(models=[{"lang_code": "en", "model_name": model}])
        engine.nlp = {"en": spacy.load(model, whole=True)}
    registry = analyzer.RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    registry.recognizers = [recognizer for recognizer in registry.recognizers if _usable(recognizer, model)]
    registry.add_recognizer(_email_recognizer())
    return analyzer.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])


def _usable(recognizer: Any, model: str | None) -> bool:
    kinds = {kind.__name__ for kind in type(recognizer).__mro__}
    return "EmailRecognizer" not in kinds and (model is not None or "SpacyRecognizer" not in kinds)


def _email_recognizer() -> Any:
    """Presidio's own, asking the list of domains it came with: its default fetches a new one from the web."""
    recognizers = importlib.import_module(f"{PACKAGE}.predefined_recognizers")
    extract = importlib.import_module("tldextract").TLDExtract(suffix_list_urls=(), cache_dir=None)

    class OfflineEmailRecognizer(recognizers.EmailRecognizer):  # type: ignore[name-defined]
        def validate_result(self, pattern_text: str) -> bool:
            return bool(extract(pattern_text).fqdn)

    return OfflineEmailRecognizer()
