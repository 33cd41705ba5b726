"""What is to be hidden in which texts, and what those texts are good for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.concepts import Concept
from sfumato.concepts.lists.medical import DISEASES
from sfumato.metrics import Utility, classify, compare_means
from sfumato.trials.split import Split
from sfumato.trials.target import Target
from sfumato.trials.utility import ScoredPairs, Searches, chosen_searches
from sfumato.types import Vectors
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
class Corpus:
    """Different texts, what is protected in them, and what they are for."""

    name: str
    """As it stands in tables."""
    texts: list[str]
    concept: Concept
    pairs: ScoredPairs | None = None
    searches: Searches | None = None
    """Whose answers count as rows of the texts."""
    labels: list[str] | None = None
    """The class of each text."""
    needed: Collection[int] = ()
    """Rows that are always taken, beside those that searches look for."""
    groups: Sequence[int] | None = None
    """The document or note of each text, where several are of one: they stand on one side of a cut."""

    def answers(self, most: int, seed: int) -> set[int]:
        """Rows that searches look for, where no more than so many are made."""
        if self.searches is None:
            return set()
        chosen = chosen_searches(self.searches, most, seed)
        return {row for number in chosen for row in self.searches.relevant[number]}


class ClassAccuracy:
    """How well a classifier trained on releases tells the classes of other releases."""

    def __init__(self, split: Split, labels: Sequence[str]) -> None:
        self.labels = np.array([labels[row] for row in split.source])
        self.even = np.arange(len(self.labels)) % 2 == 0
        self.clean = self._right(split.clean)

    def _right(self, vectors: Vectors) -> np.ndarray:
        learn_from, tested = vectors[self.even], vectors[~self.even]
        return classify(learn_from, self.labels[self.even], tested, self.labels[~self.even], c=10.0).correct

    def measure(self, target: Target) -> Utility:
        """Train and test on one release."""
        return compare_means("classes", self.clean, self._right(target.documents()))


def places_in_sts(data: Path) -> Corpus:
    """Places in the sentences of STS 2012 to 2014; of use for STS12's pairs, and to find the alike ones."""
    all_texts = sts(data, "sts12", "sts13", "sts14").texts
    scored = sts(data, "sts12")
    place = {text: row for row, text in enumerate(all_texts)}
    first, second = ([scored.texts[row] for row in column] for column in scored.pairs.T)
    alike = np.flatnonzero(scored.scores >= 4).tolist()
    return Corpus(
        "location, STS12-14",
        all_texts,
        Concept.from_terms("location", PLACES),
        ScoredPairs(first, second, scored.scores.tolist()),
        Searches([first[row] for row in alike], [[place[second[row]]] for row in alike]),
        needed=range(len(all_texts)),
    )


def diseases_in_notes(data: Path) -> Corpus:
    """Diseases in passages of medical transcriptions; of use to tell the specialty."""
    texts: dict[str, str] = {}
    for row in rows(data, "mtsamples", "mtsamples"):
        for passage in _passages(row["transcription"]):
            texts.setdefault(passage, row["medical_specialty"][0])
    counts = Counter(texts.values())
    kept = {text: label for text, label in texts.items() if counts[label] >= 200}
    concept = _frequent("disease", DISEASES, list(kept), 8)
    return Corpus("disease, mtsamples", list(kept), concept, labels=list(kept.values()))


def people_in_news(data: Path) -> Corpus:
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
    return Corpus("person, CoNLL-2003", list(texts), concept, labels=list(texts.values()))


CORPORA: dict[str, tuple[Callable[[Path], Corpus], Sequence[str]]] = {
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
