"""Search: nDCG, recall and reciprocal rank of relevant documents by cosine.

Definitions are trec_eval's, so they are those of mteb: gains are linear, rank r is discounted by log2(r + 1),
the ideal ranking holds every judged document, and recall counts all relevant ones. Equal cosines (to 1e-12)
are in no order, so figures are the mean over all orders of them; trec_eval breaks such ties by name.

Where nothing is judged, the neighbours among clean vectors stand for what is to be found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, VectorError
from sfumato.metrics.similarity import AT_ONCE, checked, same_space, unit_blocks, unit_rows
from sfumato.numbers import whole_number
from sfumato.types import Floats, Rows

Judgements = Sequence[Mapping[int, float]]
"""For each query, the gain of each relevant document by its row."""

_TIE = 1e-12
_PAIRS = 512


@dataclass(frozen=True, slots=True, eq=False)
class Retrieval:
    """Figures of each query that has something to find."""

    k: int
    rows: Rows
    """`[q]` which of the given queries these are."""
    ndcg: Floats
    recall: Floats
    reciprocal_rank: Floats

    def means(self) -> dict[str, float]:
        """Each figure as a mean over queries, by its usual name."""
        return {
            f"ndcg@{self.k}": float(self.ndcg.mean()),
            f"recall@{self.k}": float(self.recall.mean()),
            f"mrr@{self.k}": float(self.reciprocal_rank.mean()),
        }


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Relevant documents of all queries, in the order of the queries."""

    query: Rows
    document: Rows
    gain: Floats


def retrieve(
    queries: Any,
    documents: Any,
    relevant: Judgements,
    *,
    k: int = 10,
    exclude: Sequence[int] | None = None,
) -> Retrieval:
    """Search every query among the documents and score what is found in the first `k`.

    Args:
        queries: `(q, d)` vectors; noisy, clean or filtered, whichever the searcher would use.
        documents: `(n, d)` vectors as they are stored.
        relevant: for each query, row and gain of its relevant documents; queries without any are left out.
        k: how far down the ranking counts.
        exclude: for each query a document that is never shown, such as the query itself; -1 for none.
    """
    asked, stored = same_space(queries, documents, "queries and documents")
    k = whole_number(k, "k", 1, 10**6)
    hidden = _hidden(exclude, len(asked), len(stored))
    pairs = _pairs(relevant, len(asked), len(stored), hidden)
    above, tied = _ranks(asked, stored, pairs, hidden)
    return _figures(pairs, above, tied, k)


def judgements(
    query_ids: Sequence[str], document_ids: Sequence[str], judged: Iterable[tuple[str, str, float]]
) -> list[dict[int, float]]:
    """Turn (query id, document id, gain) records into the rows and gains that `retrieve` takes."""
    query_rows = {name: row for row, name in enumerate(query_ids)}
    document_rows = {name: row for row, name in enumerate(document_ids)}
    found: list[dict[int, float]] = [{} for _ in query_ids]
    for number, (query, document, gain) in enumerate(judged):
        if query not in query_rows or document not in document_rows:
            raise InputError(f"Judgement {number} must name a known query and a known document.")
        found[query_rows[query]][document_rows[document]] = float(gain)
    return found


def neighbours_kept(vectors: Any, released: Any, k: int = 10) -> float:
    """Share of each row's k nearest neighbours by cosine that are still among them after the release."""
    return float(_kept(vectors, released, k).mean())


def neighbour_ndcg(vectors: Any, released: Any, k: int = 10) -> float:
    """Return nDCG@k of searches among released vectors for the k nearest neighbours among clean ones."""
    kept = _kept(vectors, released, k)
    gains = 1 / np.log2(np.arange(2, kept.shape[1] + 2))
    return float((kept @ gains).mean() / gains.sum())


def _hidden(exclude: Sequence[int] | None, queries: int, documents: int) -> Rows:
    rows = np.full(queries, -1) if exclude is None else np.asarray(exclude)
    if rows.shape != (queries,) or rows.dtype.kind not in "iu" or ((rows < -1) | (rows >= documents)).any():
        raise InputError(
            f"`exclude` must hold one document row or -1 a query, {queries} in all. Found shape {rows.shape}."
        )
    return rows.astype(np.intp)


def _pairs(relevant: Judgements, queries: int, documents: int, hidden: Rows) -> _Pairs:
    if len(relevant) != queries:
        raise InputError(f"There must be judgements for every query. Found {len(relevant)} for {queries}.")
    # A document that is never shown cannot be found, so it is no part of the ideal ranking either.
    flat = [
        (row, document, gain)
        for row, gains in enumerate(relevant)
        for document, gain in gains.items()
        if gain > 0 and document != hidden[row]
    ]
    if not flat:
        raise InputError("At least one query must have a relevant document. Found none.")
    query, document, gain = (np.array(column) for column in zip(*flat, strict=True))
    if document.dtype.kind not in "iu" or document.min() < 0 or document.max() >= documents:
        raise InputError(f"Relevant documents must be rows from 0 to {documents - 1}. Found others.")
    return _Pairs(query.astype(np.intp), document.astype(np.intp), gain.astype(np.float64))


def _ranks(asked: Any, stored: Any, pairs: _Pairs, hidden: Rows) -> tuple[Rows, Rows]:
    """How many documents stand above each relevant one, and how many on its level, itself included."""
    above, tied = np.zeros((2, len(pairs.query)), np.intp)
    for start in range(0, len(above), _PAIRS):
        part = slice(start, start + _PAIRS)
        rows, own = np.unique(pairs.query[part], return_inverse=True)
        searching = unit_rows(asked[rows])
        level = np.vecdot(searching[own], unit_rows(stored[pairs.document[part]]))[:, None]
        for first, block in unit_blocks(stored, AT_ONCE // _PAIRS):
            cosines = searching @ block.T
            here = np.flatnonzero((hidden[rows] >= first) & (hidden[rows] < first + len(block)))
            cosines[here, hidden[rows[here]] - first] = -np.inf
            gaps = cosines[own] - level
            above[part] += (gaps > _TIE).sum(axis=1)
            tied[part] += (np.abs(gaps) <= _TIE).sum(axis=1)
    return above, tied


def _figures(pairs: _Pairs, above: Rows, tied: Rows, k: int) -> Retrieval:
    rows, own, counts = np.unique(pairs.query, return_inverse=True, return_counts=True)
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))])
    # A document on a level of t takes each of its places as often: the mean over places, nothing beyond k.
    upper, lower = np.minimum(above + tied, k), np.minimum(above, k)
    gained = np.bincount(own, pairs.gain * (discounts[upper] - discounts[lower]) / tied)
    order = np.lexsort((-pairs.gain, own))
    place = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
    worth = np.diff(discounts, append=discounts[-1])[np.minimum(place, k)]
    ideal = np.bincount(own, pairs.gain[order] * worth)
    recall = np.bincount(own, (upper - lower) / tied) / counts
    return Retrieval(k, rows, gained / ideal, recall, _reciprocal(own, above, tied, k))


def _reciprocal(own: Rows, above: Rows, tied: Rows, k: int) -> Floats:
    """Expected 1/rank of the first relevant document, 0 beyond k."""
    best = np.full(own.max() + 1, np.iinfo(np.intp).max, np.intp)
    np.minimum.at(best, own, above)
    leading = above == best[own]
    relevant = np.bincount(own, leading)
    level = np.zeros(len(best), np.intp)
    level[own[leading]] = tied[leading]
    total, missed = np.zeros(len(best)), np.ones(len(best))
    for step in range(min(k, int(level.max()))):
        # The next place of the level is relevant with this chance, given that none before it was.
        chance = np.clip(relevant / np.maximum(level - step, 1), 0.0, 1.0) * (step < level)
        total += np.where(best + step < k, missed * chance / (best + step + 1), 0.0)
        missed *= 1 - chance
    return total


def _kept(vectors: Any, released: Any, k: int) -> NDArray[np.bool_]:
    """`[n, k]` whether each released neighbour, the nearest first, is one among clean vectors."""
    before, after = checked(vectors, "vectors"), checked(released, "released vectors")
    if len(before) != len(after):
        raise VectorError(f"A release must have one row a vector. Found {len(before)} and {len(after)} rows.")
    if len(before) < 2:
        raise VectorError(f"Neighbours need at least 2 rows. Found {len(before)}.")
    k = min(whole_number(k, "k", 1, 10**6), len(before) - 1)
    wanted, found = _nearest(unit_rows(before), k), _nearest(unit_rows(after), k)
    # Row numbers are made unique across rows, so that one look-up serves all of them.
    offset = np.arange(len(before))[:, None] * len(before)
    return np.isin(found + offset, wanted + offset)


def _nearest(unit: Floats, k: int) -> NDArray[np.intp]:
    """The k nearest other rows of every row by cosine, the nearest first."""
    found = np.empty((len(unit), k), np.intp)
    step = max(1, AT_ONCE // len(unit))
    for start in range(0, len(unit), step):
        block = unit[start : start + step]
        cosine = block @ unit.T
        cosine[np.arange(len(block)), np.arange(start, start + len(block))] = -np.inf
        near = np.argpartition(-cosine, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(cosine, near, axis=1), axis=1)
        found[start : start + len(block)] = np.take_along_axis(near, order, axis=1)
    return found
