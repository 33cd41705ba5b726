"""Near words by a graph (FAISS HNSW; Malkov and Yashunin 2018), where the true nearest takes too long.

A blurred vector lies far from every word, which is hard for graphs: expect misses where budgets are small.
A miss costs meaning, never privacy.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from sfumato import blocks
from sfumato.numbers import whole_number
from sfumato.text.prefixes import Ids
from sfumato.types import FloatArray, Vectors


class Hnsw:
    """A graph of neighbours over the words.

    Args:
        vectors: `[V, d]` unit vectors.
        links: neighbours of each word in the graph.
        search: how many words are kept in view while searching; more finds better words, more slowly.
    """

    def __init__(self, vectors: Vectors, *, links: int = 32, search: int = 256) -> None:
        self._faiss: Any = importlib.import_module("faiss")
        links = whole_number(links, "links", 2, 512)
        # On unit vectors the smallest distance is the largest cosine (proposition 1).
        self._index = self._faiss.IndexHNSWFlat(vectors.shape[1], links)
        self._index.hnsw.efConstruction = 2 * links
        self._index.hnsw.efSearch = whole_number(search, "search", 1, 1 << 20)
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def nearest(self, released: FloatArray, *, threads: int | None = None, hints: Ids | None = None) -> Ids:
        """Return `[n]` word numbers; hints are not used."""
        rows = np.array(released, np.float32, order="C")
        # Only the direction counts; FAISS measures distance.
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        before = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(blocks.thread_count(threads))
        try:
            found = self._index.search(rows, 1)[1][:, 0]
        finally:
            self._faiss.omp_set_num_threads(before)
        # A graph may lose a row altogether and answer -1.
        return np.asarray(np.maximum(found, 0), np.int64)
