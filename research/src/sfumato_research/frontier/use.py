"""What is left of use, row by row: similarity, search, classes, neighbours, and the hidden name itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts import Concept
from sfumato.evaluation import Defence
from sfumato.metrics import classify
from sfumato.metrics.retrieval import retrieve
from sfumato.metrics.similarity import pair_cosines, unit_rows
from sfumato.randomness import generator
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget, Target
from sfumato.types import Floats, Vectors
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import Searchable, rows, searches, sts

NEEDS = ("sts12", "sts13", "sts14", "stsb", "retrieval_scifact", "ag_news", "sst5")
Touched = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class UseTexts:
    """Texts that use is measured on, the same for every concept and encoder."""

    first: list[str]
    second: list[str]
    scores: Floats
    documents: list[str]
    queries: list[str]
    judged: list[dict[int, float]]
    classes: dict[str, tuple[list[str], NDArray[np.str_]]]
    """By what is told: texts and the class of each, half to learn from."""

    @property
    def every(self) -> list[str]:
        """All different texts."""
        told = [text for texts, _ in self.classes.values() for text in texts]
        return list(dict.fromkeys([*self.first, *self.second, *self.documents, *self.queries, *told]))


def read_use(data: Path, setting: Setting) -> UseTexts:
    """Read them: some pairs, some classes, all of SciFact's judged searches."""
    most = setting.pick(2000 if setting.few else 6000, 300)
    told = setting.pick(1500 if setting.few else most // 2, most // 2)
    scored = sts(data, "sts12", "sts13", "sts14", "stsb")
    chosen = np.sort(generator(0).permutation(len(scored.scores))[:most])
    first, second = ([scored.texts[row] for row in scored.pairs[chosen, side]] for side in (0, 1))
    found = searches(data, "retrieval_scifact", "test")
    if setting.quick:
        found = _some(found, 20)
    elif setting.few:
        found = _among(found, 1000)
    return UseTexts(
        first,
        second,
        scored.scores[chosen],
        found.documents,
        found.queries,
        found.judged,
        {
            "topic": _told(data, "ag_news", "label", told),
            "sentiment": _told(data, "sst5", "label", told),
        },
    )


def measure_use(
    texts: UseTexts,
    defence: Defence,
    embedded: Vectors,
    looked_for: Concept,
    seed: int,
    before: dict[str, NDArray[Any]] | None = None,
) -> dict[str, NDArray[Any]]:
    """Release everything once, and keep a figure a row beside whether our detector touches the row.

    What clean vectors give is the same whatever is released: it is kept in `before`, and not measured again.
    """
    every = texts.every
    place = {text: row for row, text in enumerate(every)}
    released = defence.release(every, embedded, seed=seed)
    known = {} if before is None else before
    if "touched" not in known:
        known["touched"] = np.array([bool(spans) for spans in looked_for.find_all(every)], bool)
    touched = known["touched"]

    def at(wanted: Sequence[str]) -> NDArray[np.intp]:
        return np.array([place[text] for text in wanted], np.intp)

    one, two = at(texts.first), at(texts.second)
    kept: dict[str, NDArray[Any]] = {
        "sts.cosine": pair_cosines(released[one], released[two]),
        "sts.clean": pair_cosines(embedded[one], embedded[two]),
        "sts.gold": texts.scores,
        "sts.touched": touched[one] | touched[two],
    }
    asked, stored = at(texts.queries), at(texts.documents)
    kept["search.ndcg"] = retrieve(released[asked], released[stored], texts.judged, k=10).ndcg
    if "search.clean" not in known:
        known["search.clean"] = retrieve(embedded[asked], embedded[stored], texts.judged, k=10).ndcg
    kept["search.clean"] = known["search.clean"]
    answers = [touched[stored[list(judged)]].any() for judged in texts.judged]
    kept["search.touched"] = touched[asked] | np.array(answers, bool)
    for name, (told, labels) in texts.classes.items():
        own, half = at(told), np.arange(len(told)) % 2 == 0
        for column, vectors in (("right", released), ("clean", embedded)):
            if column == "clean" and f"{name}.clean" in known:
                kept[f"{name}.clean"] = known[f"{name}.clean"]
                continue
            learn, test = vectors[own[half]], vectors[own[~half]]
            kept[f"{name}.{column}"] = classify(learn, labels[half], test, labels[~half], c=10.0).correct
        known[f"{name}.clean"] = kept[f"{name}.clean"]
        kept[f"{name}.touched"] = touched[own[~half]]
        kept[f"{name}.guess"] = (labels[~half] == _most(labels[half])).astype(float)
    return kept


def neighbours(pool: Split, target: Target, looked_for: Concept, seed: int) -> dict[str, NDArray[Any]]:
    """How well releases find what is near among clean vectors, on rows of the attacked collection."""
    rows_ = np.sort(generator(seed).permutation(len(pool.texts))[:1000])
    unit = unit_rows(pool.clean)
    cosines = unit[rows_] @ unit.T
    cosines[np.arange(len(rows_)), rows_] = -np.inf
    near = np.argpartition(-cosines, 9, axis=1)[:, :10]
    relevant = [dict.fromkeys(found, 1.0) for found in near.tolist()]
    documents = target.documents()
    found = retrieve(documents[rows_], documents, relevant, k=10, exclude=rows_.tolist())
    touched = np.array(
        [bool(spans) for spans in looked_for.find_all([pool.texts[row] for row in rows_])], bool
    )
    return {
        "neighbours.ndcg": found.ndcg,
        "neighbours.clean": np.ones(len(rows_)),
        "neighbours.touched": touched,
    }


def names_found(pool: Split, target: DefenceTarget) -> dict[str, NDArray[Any]]:
    """Look for labelled terms themselves, each released like a document."""
    holding: dict[str, list[int]] = {}
    for row, terms in zip(pool.rows.tolist(), pool.terms, strict=True):
        for term in terms:
            holding.setdefault(term, []).append(row)
    asked = sorted(term for term, where in holding.items() if 2 <= len(where) <= 50)[:300]
    relevant = [dict.fromkeys(holding[term], 1.0) for term in asked]
    assert pool.embedder is not None
    clean = pool.embedder.embed(asked)
    before = retrieve(clean, pool.clean, relevant, k=10)
    after = retrieve(target.others(asked), target.documents(), relevant, k=10)
    return {
        "name.ndcg": after.ndcg,
        "name.clean": before.ndcg,
        "name.touched": np.ones(len(before.ndcg), bool),
    }


def _some(found: Searchable, most: int) -> Searchable:
    """A few searches among what answers them."""
    judged = found.judged[:most]
    kept = {row: number for number, row in enumerate(sorted({row for each in judged for row in each}))}
    answers = [{kept[row]: gain for row, gain in each.items()} for each in judged]
    return Searchable([found.documents[row] for row in kept], found.queries[:most], answers)


def _among(found: Searchable, most: int) -> Searchable:
    """Every search, among what answers one of them and some other documents."""
    judged = {row for each in found.judged for row in each}
    others = [row for row in generator(0).permutation(len(found.documents)).tolist() if row not in judged]
    kept = sorted([*judged, *others[: max(0, most - len(judged))]])
    places = {row: number for number, row in enumerate(kept)}
    answers = [{places[row]: gain for row, gain in each.items()} for each in found.judged]
    return Searchable([found.documents[row] for row in kept], found.queries, answers)


def _told(data: Path, name: str, column: str, most: int) -> tuple[list[str], NDArray[np.str_]]:
    found: dict[str, str] = {}
    for row in rows(data, name, name):
        found.setdefault(row["text"], str(row[column]))
    chosen = sorted(generator(0).permutation(len(found))[:most].tolist())
    items = list(found.items())
    return [items[row][0] for row in chosen], np.array([items[row][1] for row in chosen])


def _most(labels: NDArray[np.str_]) -> str:
    names, counts = np.unique(labels, return_counts=True)
    return str(names[counts.argmax()])
