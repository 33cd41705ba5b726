"""FAISS: a flat index that looks at every row, or an HNSW graph, kept as one folder with its metadata."""

from __future__ import annotations

import importlib
import struct
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import artifacts
from sfumato.errors import ArtifactError, ParameterError
from sfumato.files import PathLike
from sfumato.stores.distances import distances, nearest
from sfumato.stores.kinds.local import LocalStore
from sfumato.stores.kinds.table import RowTable
from sfumato.stores.rows import Hit, Metadata, Metric, Scalar, checked_metric
from sfumato.types import Vectors

KIND = "faiss-store"
Index = Literal["flat", "hnsw"]
_LINKS, _BUILD_WIDTH, _SEARCH_WIDTH = 32, 200, 128
_FEW = 2000
"""A filter that leaves so few rows is answered by looking at each: a graph would lose its way."""


class Faiss(LocalStore):
    """Rows in a FAISS index in memory; loaded from a folder, and saved to it by `flush` and `close`.

    With `cosine` vectors are kept at unit length.
    """

    name = "faiss"

    def __init__(
        self, path: PathLike, *, metric: Metric | None = None, index: str | None = None, create: bool = True
    ) -> None:
        super().__init__(f"faiss:{path}", metric)
        if index not in (None, "flat", "hnsw"):
            raise ParameterError(f"`index` of a FAISS store must be flat or hnsw. Found {index!r:.40}.")
        self._faiss: Any = importlib.import_module("faiss")
        self.path = Path(path)
        self.kind: str = index or "flat"
        self._index: Any = None
        if self.path.exists():
            self._load(metric, index)
        elif not create:
            raise self._absent()
        self.exact = self.kind == "flat"

    def _load(self, metric: Metric | None, index: str | None) -> None:
        saved = artifacts.load(self.path, KIND)
        data, rows = saved.tensors.get("index"), saved.tensors.get("rows")
        kind = saved.config.get("index")
        if data is None or rows is None or kind not in ("flat", "hnsw"):
            raise ArtifactError(f"`{self.path}` is refused: it holds no index. Save it again.")
        if index not in (None, kind):
            raise ParameterError(f"{self.label} has a {kind} index, not {index}. Leave it out.")
        self.kind = str(kind)
        own = checked_metric(str(saved.config.get("metric")))
        if not is_plain(data.tobytes(), self.kind):
            raise ArtifactError(f"`{self.path}` is refused: its index is of another kind. Save it again.")
        loaded = None
        try:
            # A copy: a saved array may not be written to, and FAISS asks for one that may.
            loaded = self._faiss.deserialize_index(np.array(data))
        except RuntimeError:
            loaded = None
        if loaded is None or loaded.metric_type != self._kind_of(own):
            raise ArtifactError(f"`{self.path}` is refused: its index cannot be read. Save it again.")
        self._index = loaded
        self._agree(own, loaded.d, metric)
        self._table = RowTable.from_bytes(rows, loaded.ntotal)

    def _kind_of(self, metric: Metric) -> int:
        return int(self._faiss.METRIC_L2 if metric == "l2" else self._faiss.METRIC_INNER_PRODUCT)

    def _empty(self, dim: int) -> Any:
        kind = self._kind_of(self.metric)
        if self.kind == "flat":
            return self._faiss.IndexFlat(dim, kind)
        made = self._faiss.IndexHNSWFlat(dim, _LINKS, kind)
        made.hnsw.efConstruction = _BUILD_WIDTH
        return made

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        if self._index is None:
            self.dim = vectors.shape[1]
            self._index = self._empty(self.dim)
        self._index.add(self._scaled(vectors))
        self._table.append(ids, metadata)
        self._changed = True
        if self._table.dead > len(self._table):
            self._compact()

    def _scaled(self, vectors: Vectors) -> Vectors:
        if self.metric != "cosine":
            return vectors
        wide = vectors.astype(np.float64)
        return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True), np.float32)

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        there = [row for row, name in enumerate(ids) if self._table.places([name])]
        names = [ids[row] for row in there]
        merged = [self._table.metadata[at] | fields for at in self._table.places(names)]
        if names:
            self._add(names, vectors[there], merged)

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        rows = self._table.alive(allowed)
        if len(rows) <= _FEW or (len(rows) < 0.05 * self._index.ntotal):
            near = nearest(vectors, self._stored(rows), self.metric, k)
            return [self._hits(rows[places], found) for places, found in near]
        _, found = self._index.search(self._scaled(vectors), k, params=self._parameters(rows, k))
        return [
            self._measured(query, places[places >= 0]) for query, places in zip(vectors, found, strict=True)
        ]

    def _parameters(self, rows: NDArray[np.intp], k: int) -> Any:
        chosen: dict[str, Any] = {}
        if len(rows) < self._index.ntotal:
            bits = np.zeros(self._index.ntotal, bool)
            bits[rows] = True
            chosen["sel"] = self._faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))
        if self.kind == "hnsw":
            return self._faiss.SearchParametersHNSW(efSearch=max(_SEARCH_WIDTH, 2 * k), **chosen)
        return self._faiss.SearchParameters(**chosen)

    def _measured(self, query: Vectors, places: NDArray[np.int64]) -> list[Hit]:
        """Hits with distances measured again: FAISS loses digits where it measures many at once."""
        if not len(places):
            return []
        found = distances(query[None], self._stored(places), self.metric)[0]
        order = np.lexsort((places, found))
        return self._hits(places[order], found[order])

    def _stored(self, places: Any) -> Vectors:
        if not len(places):
            return np.empty((0, self.dim or 0), np.float32)
        return np.asarray(self._index.reconstruct_batch(np.asarray(places, np.int64)), np.float32)

    def _compact(self) -> None:
        """Build the index again without the rows that are gone."""
        if not self._table.dead:
            return
        kept = self._stored(self._table.alive())
        self._index = self._empty(self.dim or 0)
        self._index.add(kept)
        self._table.compact()

    def flush(self) -> None:
        """Save to the folder, in one step."""
        if not self._changed or self._index is None:
            return
        self._compact()
        data = np.asarray(self._faiss.serialize_index(self._index), np.uint8)
        tensors = {"index": data, "rows": self._table.to_bytes()}
        artifacts.save(self.path, KIND, {"metric": self.metric, "index": self.kind}, tensors)
        self._changed = False

    def close(self) -> None:
        """Save to the folder."""
        self.flush()


_HEAD = struct.Struct("<4siqqq?i")
_SIZES = (8, 4, 4, 8, 4)
"""Bytes of a value in each list of a graph."""
_GRAPH_ENDS = 20


def is_plain(data: bytes, kind: str) -> bool:
    """Whether these are the bytes of a flat index, or of a graph over one, to the last byte.

    FAISS reads other kinds as well, some of which open files that they name.
    """
    try:
        place = 0
        if kind == "hnsw":
            if _HEAD.unpack_from(data)[0] != b"IHNf":
                return False
            place = _HEAD.size
            for size in _SIZES:
                place += 8 + size * struct.unpack_from("<Q", data, place)[0]
            place += _GRAPH_ENDS
        name, dim, rows, *_ = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        values = struct.unpack_from("<Q", data, place)[0]
    except struct.error:
        return False
    whole = place + 8 + 4 * values == len(data) and values == dim * rows
    return whole and name in (b"IxF2", b"IxFI", b"IxFl")
