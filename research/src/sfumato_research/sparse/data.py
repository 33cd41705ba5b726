"""The data sets of the SPARSE study, each with the entities it protects and its own measure of utility."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from sfumato.concepts.concept import Concept
from sfumato.concepts.detectors.dictionary import Dictionary
from sfumato.concepts.lists import medical, organisations, places
from sfumato.concepts.texts.swaps import TermSwap
from sfumato.errors import InputError
from sfumato.trials.suite import Suite
from sfumato.trials.utility import ScoredPairs, Searches
from sfumato_research.sparse.entities import entities_of, entity_concept
from sfumato_research.sparse.passages import LONGEST, searched_passages
from sfumato_research.studies.base import Setting
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import Corpus
from sfumato_research.studies.data import encoder, rows, searches, sts
from sfumato_research.studies.measured import sizes

BOTH_WAYS = ("sts12", "fiqa")
"""Sets whose sensitive words are found by lists and, a second time, by NER."""
Finder = Literal["lists", "ner"]
AT_LEAST = {"fiqa": 3}
"""Texts a term must stand in to be protected, else 5: what an attacker sees once he cannot learn."""
_PAIRS = 5000
Gold = ScoredPairs | Searches

ENTITIES = (
    places.COUNTRIES,
    places.STATES,
    places.CITIES,
    places.REGIONS,
    organisations.ORGANISATIONS,
)
DISEASES = (medical.DISEASES,)
CASED = places.CASED | organisations.CASED | medical.CASED


def listed_concept(name: str, texts: Sequence[str], kinds: Sequence[Sequence[str]], at_least: int) -> Concept:
    """The terms of some lists that stand in enough of the texts; one may stand for another of its kind."""
    everything = list(dict.fromkeys(term for kind in kinds for term in kind))
    finder = Concept.from_detector(name, Dictionary(everything, label=name, cased=CASED))
    counts = Counter(term for text in texts for term in finder.terms_in(text))
    frequent = [term for term in everything if counts[term.lower()] >= at_least]
    if len(frequent) < 2:
        raise InputError(f"At least 2 terms must stand in {at_least} texts. Found {len(frequent)}.")
    kept = set(frequent)
    groups = [[term for term in kind if term in kept] for kind in kinds]
    detector = Dictionary(frequent, label=name, name=f"{len(frequent)} listed terms", cased=CASED)
    return Concept(
        name,
        tuple(frequent),
        detector,
        placeholder="something",
        swap=TermSwap(*(group for group in groups if len(group) > 1)),
    )


def corpus(data: Path, name: str, finder: Finder = "lists", cache: Path | None = None) -> Corpus:
    """Load one of the sets, its sensitive words found by lists or by NER."""
    loaded = _LOADERS[name](data)
    texts, at_least = loaded.texts, AT_LEAST.get(name, 5)
    if finder == "ner":
        concept = entity_concept(texts, entities_of(name, texts, cache), at_least)
    elif name == "scifact":
        concept = listed_concept("disease", texts, DISEASES, at_least)
    else:
        concept = listed_concept("entity", texts, ENTITIES, at_least)
    if isinstance(loaded.gold, Searches):
        return Corpus(name, texts, concept, searches=loaded.gold, groups=loaded.groups)
    return Corpus(name, texts, concept, pairs=loaded.gold, groups=loaded.groups)


def load_texts(data: Path, name: str) -> list[str]:
    """The texts of one of the sets."""
    return _LOADERS[name](data).texts


SIZES: dict[str, dict[str, int]] = {
    "main": {"rows": 800, "pool": 1600, "searches": 800, "epochs": 15, "copies": 3, "seeds": 5, "draws": 5},
    "others": {"rows": 500, "pool": 1000, "searches": 500, "epochs": 15, "copies": 3, "seeds": 2, "draws": 2},
}
"""Sizes of full runs: of STS12 and FIQA, which most tables use, and of everything else."""


def cells_of(setting: Setting, suite: Suite, *names: str) -> Path | None:
    """Where cells of texts, a concept, an encoder and sizes are kept, if anywhere."""
    if setting.cache is None:
        return None
    sizes = hashlib.blake2b(f"{suite}{setting.quick}{setting.seed}".encode(), digest_size=4).hexdigest()
    return setting.cache / "cells" / f"{'-'.join(names)}-{sizes}"


@lru_cache(maxsize=8)
def comparison(setting: Setting, name: str, model: str = "minilm", finder: Finder = "lists") -> Comparison:
    """The comparison on one set, kept while a study runs."""
    found = corpus(setting.data, name, finder, setting.cache)
    suite = sizes(setting, **SIZES["main" if name in BOTH_WAYS else "others"])
    setting.on_step(f"embedding {name}")
    kept = cells_of(setting, suite, name, finder, model)
    return Comparison(found, encoder(setting, model), suite, kept=kept, seed=setting.seed)


def shortened(text: str) -> str:
    """The first words of a text."""
    return " ".join(text.split()[:LONGEST])


@dataclass(frozen=True, slots=True, eq=False)
class LoadedSet:
    """Texts, what they are for, and the document of each where several are of one."""

    texts: list[str]
    gold: Gold
    groups: list[int] | None = None


Load = Callable[[Path], LoadedSet]


def _similar(name: str) -> Load:
    def load(data: Path) -> LoadedSet:
        found = sts(data, name)
        first, second = ([found.texts[row] for row in side] for side in found.pairs.T)
        return LoadedSet(found.texts, ScoredPairs(first, second, found.scores.tolist()))

    return load


def _in_passages(folder: str) -> Load:
    def load(data: Path) -> LoadedSet:
        pieces, queries, answers = searched_passages(data, folder)
        return LoadedSet(pieces.texts, Searches(queries, answers), pieces.groups)

    return load


def _searched(folder: str) -> Load:
    def load(data: Path) -> LoadedSet:
        found = searches(data, folder)
        place: dict[str, int] = {}
        for text in [*found.documents, *found.queries]:
            place.setdefault(shortened(text), len(place))
        answers = [
            sorted({place[shortened(found.documents[row])] for row in judged}) for judged in found.judged
        ]
        return LoadedSet(list(place), Searches([shortened(query) for query in found.queries], answers))

    return load


def _quora(data: Path) -> LoadedSet:
    """Each question looks for its duplicates among all the others."""
    place: dict[str, int] = {}
    alike: dict[str, set[int]] = {}
    for number, row in enumerate(rows(data, "quora_pairs", "quora_pairs")):
        if number == _PAIRS:
            break
        first, second = row["question1"], row["question2"]
        for text in (first, second):
            place.setdefault(text, len(place))
        if row["is_duplicate"] == "1" and first != second:
            alike.setdefault(first, set()).add(place[second])
    return LoadedSet(list(place), Searches(list(alike), [sorted(found) for found in alike.values()]))


_LOADERS: dict[str, Load] = {
    "sts12": _similar("sts12"),
    "fiqa": _in_passages("retrieval_fiqa_mini"),
    "stsb": _similar("stsb"),
    "sts14": _similar("sts14"),
    "quora": _quora,
    "scifact": _searched("retrieval_scifact"),
}
FOLDERS = {
    "sts12": "sts12",
    "fiqa": "retrieval_fiqa_mini",
    "stsb": "stsb",
    "sts14": "sts14",
    "quora": "quora_pairs",
    "scifact": "retrieval_scifact",
}
"""Where each set lies."""
