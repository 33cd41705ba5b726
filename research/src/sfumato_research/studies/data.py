"""Reads the public data sets that studies run on."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders import CachedEmbedder, load_embedder
from sfumato.embedders.base import Embedder
from sfumato.errors import InputError
from sfumato_research.studies.base import Setting
from sfumato_research.studies.encoders import study_encoder


def rows(data: Path, folder: str, name: str) -> Iterator[dict[str, Any]]:
    """The rows of FOLDER/NAME.tsv.gz or FOLDER/NAME.jsonl.gz."""
    for ending in ("tsv.gz", "jsonl.gz"):
        path = data / folder / f"{name}.{ending}"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as handle:
                if ending == "jsonl.gz":
                    yield from map(json.loads, handle)
                else:
                    csv.field_size_limit(1 << 24)
                    yield from csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
            return
    raise InputError(f"{data / folder} must hold {name}.tsv.gz or {name}.jsonl.gz. Found neither.")


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTexts:
    """Different texts, and pairs of them with the score people gave."""

    texts: list[str]
    pairs: NDArray[np.intp]
    """`[m, 2]` rows of the texts."""
    scores: NDArray[np.float64]


def sts(data: Path, *names: str) -> ScoredTexts:
    """The pairs of some STS sets: sts12, sts13, sts14, stsb (columns score, sentence1, sentence2)."""
    places: dict[str, int] = {}
    pairs, scores = [], []
    for name in names:
        for row in rows(data, name, name):
            pairs.append([places.setdefault(row[f"sentence{side}"], len(places)) for side in (1, 2)])
            scores.append(float(row["score"]))
    return ScoredTexts(list(places), np.array(pairs, np.intp), np.array(scores))


@dataclass(frozen=True, slots=True, eq=False)
class Searchable:
    """Documents, queries, and which documents answer which query how well."""

    documents: list[str]
    queries: list[str]
    judged: list[dict[int, float]]
    """For each query, rows of the documents that answer it."""


def searches(data: Path, folder: str, split: str | None = None) -> Searchable:
    """A retrieval set in BEIR's layout."""
    documents = {row["_id"]: row for row in rows(data, folder, "corpus")}
    places = {name: place for place, name in enumerate(documents)}
    texts = [f"{row.get('title', '')} {row['text']}".strip() for row in documents.values()]
    asked = {row["_id"]: row["text"] for row in rows(data, folder, "queries")}
    judged: dict[str, dict[int, float]] = {}
    for row in rows(data, folder, "qrels"):
        known = row["corpus-id"] in places and row["query-id"] in asked
        if known and float(row["score"]) > 0 and split in (None, row["split"]):
            judged.setdefault(row["query-id"], {})[places[row["corpus-id"]]] = float(row["score"])
    return Searchable(texts, [asked[name] for name in judged], list(judged.values()))


def encoder(setting: Setting, name: str = "minilm") -> Embedder:
    """An encoder that remembers vectors between runs where the setting has a place for them."""
    inner = load_embedder(study_encoder(name).spec)
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")  # a folder's name is no place of its own
    return inner if setting.cache is None else CachedEmbedder(inner, setting.cache / kept)
