"""What is to be hidden in which texts, and what those texts are good for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sfumato.concepts import Concept
from sfumato.concepts.lists.medical import DISEASES
from sfumato_research.studies.data import rows, sts

PLACES = tuple(
    """
    Afghanistan Africa America Arkansas Asia Australia Baghdad Beijing Boston Brazil Britain California
    Canada Chicago China Colorado Cuba Egypt England Europe Florida France Gaza Georgia Germany Greece
    Hawaii Houston India Indonesia Iran Iraq Ireland Israel Italy Jakarta Japan Jerusalem Kabul Kashmir
    Korea Lebanon Libya London Madrid Mexico Miami Michigan Moscow Nevada Nigeria Norway Ohio Oregon
    Pakistan Palestine Paris Philadelphia Philippines Poland Russia Seattle Spain Sweden Syria Taiwan
    Texas Tokyo Toronto Turkey Ukraine Virginia Washington Yemen
    """.split()
)
"""Every place of one word that STS 2012 to 2014 name at least four times."""
_WORDS = 60
_END = re.compile(r"(?<=[.;:])\s+(?=[A-Z0-9])")


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One concept in one set of texts."""

    name: str
    """As it stands in tables."""
    concept: Concept
    texts: list[str]
    pairs: tuple[list[str], list[str], list[float]] | None = None
    """Pairs of texts with the score people gave, the measure of use."""
    found: tuple[list[str], list[list[int]]] | None = None
    """Searches, and the rows of the texts they should find."""
    labels: list[str] | None = None
    """The class of each text, the measure of use where there are no pairs."""
    needed: set[int] = field(default_factory=set)


def places_in_sts(data: Path) -> Scene:
    """Places in the sentences of STS 2012 to 2014; of use for STS12's pairs, and to find the alike ones."""
    all_texts = sts(data, "sts12", "sts13", "sts14").texts
    scored = sts(data, "sts12")
    place = {text: row for row, text in enumerate(all_texts)}
    first, second = ([scored.texts[row] for row in column] for column in scored.pairs.T)
    alike = np.flatnonzero(scored.scores >= 4).tolist()
    return Scene(
        "location, STS12-14",
        Concept.from_terms("location", PLACES),
        all_texts,
        (first, second, scored.scores.tolist()),
        ([first[row] for row in alike], [[place[second[row]]] for row in alike]),
        needed=set(range(len(all_texts))),
    )


def diseases_in_notes(data: Path) -> Scene:
    """Diseases in passages of medical transcriptions; of use to tell the specialty."""
    texts: dict[str, str] = {}
    for row in rows(data, "mtsamples", "mtsamples"):
        for passage in _passages(row["transcription"]):
            texts.setdefault(passage, row["medical_specialty"][0])
    counts = Counter(texts.values())
    kept = {text: label for text, label in texts.items() if counts[label] >= 200}
    concept = _frequent("disease", DISEASES, list(kept), 8)
    return Scene("disease, mtsamples", concept, list(kept), labels=list(kept.values()))


def people_in_news(data: Path) -> Scene:
    """Surnames in the news of CoNLL-2003; of use to tell what else a sentence names."""
    texts: dict[str, str] = {}
    names: Counter[str] = Counter()
    for row in rows(data, "conll2003", "conll2003"):
        if len(row["text"].split()) < 6:
            continue
        others = sorted({span["label"] for span in row["spans"]} - {"PER"})
        texts.setdefault(row["text"], " and ".join(others) or "nothing")
        names.update(span["value"].split()[-1] for span in row["spans"] if span["label"] == "PER")
    often = sorted(name for name, count in names.items() if count >= 6 and name.isalpha() and len(name) > 2)
    concept = Concept.from_terms("person", often)
    return Scene("person, CoNLL-2003", concept, list(texts), labels=list(texts.values()))


SCENES: dict[str, tuple[Callable[[Path], Scene], Sequence[str]]] = {
    "location": (places_in_sts, ("sts12", "sts13", "sts14")),
    "disease": (diseases_in_notes, ("mtsamples",)),
    "person": (people_in_news, ("conll2003",)),
}
"""How each is made, and which data sets it reads."""


def _passages(text: str) -> list[str]:
    """Sentences joined into passages of at most sixty words or so."""
    made: list[str] = []
    words = _WORDS + 1
    for sentence in _END.split(" ".join(text.split())):
        size = len(sentence.split())
        if words + size > _WORDS:
            made.append(sentence)
            words = size
        else:
            made[-1] += " " + sentence
            words += size
    return [passage for passage in made if 8 <= len(passage.split()) <= 2 * _WORDS]


def _frequent(name: str, terms: Sequence[str], texts: list[str], least: int) -> Concept:
    """A concept of those terms that stand in enough of the texts."""
    concept = Concept.from_terms(name, terms)
    counts = Counter(
        term
        for text, spans in zip(texts, concept.find_all(texts), strict=True)
        for term in {text[span.start : span.end].lower() for span in spans}
    )
    return Concept.from_terms(name, [term for term in terms if counts[term.lower()] >= least])
