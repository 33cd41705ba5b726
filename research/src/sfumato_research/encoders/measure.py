"""What is measured of an encoder: how its cosines follow people, what it finds, how its vectors lie."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.metrics.intervals import Resampling, mean_interval
from sfumato.metrics.retrieval import Retrieval, retrieve
from sfumato.metrics.similarity import Similarity
from sfumato.metrics.similarity import sts as similarity
from sfumato.metrics.utility import compare_retrieval, compare_sts
from sfumato_research.sentences import ordinary_sentences
from sfumato_research.studies.base import Cell, Setting
from sfumato_research.studies.data import rows, searches, sts

DRAWN = Resampling()
SHARE = 0.99
SENTENCES, FEW = 2000, 100


def similar(encoder: Embedder, name: str, setting: Setting) -> Similarity:
    """Cosines of the pairs of one STS set beside their scores; of the STS Benchmark its test part alone."""
    if name == "stsb":
        pairs = [row for row in rows(setting.data, name, name) if row["split"] == "test"]
        texts = [row[f"sentence{side}"] for row in pairs for side in (1, 2)]
        places = np.arange(len(texts)).reshape(-1, 2)
        scores = np.array([float(row["score"]) for row in pairs])
    else:
        found = sts(setting.data, name)
        texts, places, scores = found.texts, found.pairs, found.scores
    places, scores = places[: setting.pick(None, 60)], scores[: setting.pick(None, 60)]
    wanted = sorted(set(places.ravel().tolist()))
    vectors = dict(zip(wanted, encoder.embed([texts[place] for place in wanted]), strict=True))
    first, second = (np.stack([vectors[place] for place in side]) for side in places.T.tolist())
    return similarity(first, second, scores)


def correlated(found: Similarity) -> Cell:
    """Rank correlation with its interval over pairs."""
    perfect = Similarity(found.gold, found.gold)
    return Cell.between(found.spearman, compare_sts(perfect, found, "spearman", DRAWN).interval)


def beside(first: Similarity, found: Similarity) -> Cell:
    """The correlation over that of another encoder on the same pairs."""
    shared = compare_sts(first, found, "spearman", DRAWN)
    return Cell.between(shared.kept, shared.interval)


def searched(encoder: Embedder, setting: Setting) -> Retrieval:
    """What it finds among SciFact's abstracts for the queries of the test part."""
    found = searches(setting.data, "retrieval_scifact", "test")
    documents, judged = found.documents, found.judged
    if setting.quick:
        judged = judged[:20]
        kept = sorted({place for each in judged for place in each} | set(range(60)))
        places = {place: number for number, place in enumerate(kept)}
        documents = [documents[place] for place in kept]
        judged = [{places[place]: gain for place, gain in each.items()} for each in judged]
    queries = encoder.embed(found.queries[: len(judged)])
    return retrieve(queries, encoder.embed(documents), judged)


def ndcg(found: Retrieval) -> Cell:
    """nDCG@10 with its interval over queries."""
    return Cell.between(float(found.ndcg.mean()), mean_interval(found.ndcg, DRAWN))


def found_beside(first: Retrieval, found: Retrieval) -> Cell:
    """nDCG@10 over that of another encoder for the same queries."""
    shared = compare_retrieval(first, found, "ndcg", DRAWN)
    return Cell.between(shared.kept, shared.interval)


@dataclass(frozen=True, slots=True)
class Room:
    """How an encoder's vectors lie, and how fast they come."""

    dimensions: int
    """That hold 99 % of the spread."""
    cosine: float
    """Mean of two different sentences."""
    second: float
    """Texts a second of processor time, with nothing remembered: what else the machine does costs nothing."""


def room(encoder: Embedder, setting: Setting) -> Room:
    """Measured on made-up sentences, which no encoder has seen."""
    texts = ordinary_sentences(setting.pick(SENTENCES, FEW), 2)
    inner = getattr(encoder, "embedder", encoder)
    inner.embed(texts[:64])  # kernels are chosen, and shapes compared, once
    began = process_time()
    vectors = inner.embed(texts).astype(np.float64)
    took = process_time() - began
    count = len(vectors)
    cosine = ((vectors.sum(axis=0) ** 2).sum() - count) / (count * (count - 1))
    values = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
    held = int(np.searchsorted(values.cumsum() / values.sum(), SHARE)) + 1
    return Room(held, float(cosine), count / took)
