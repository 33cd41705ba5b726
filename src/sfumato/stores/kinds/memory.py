"""The reference store: everything in memory, every search exact; saved to a folder if it was given one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato import artifacts
from sfumato.errors import ArtifactError
from sfumato.files import PathLike
from sfumato.stores.distances import nearest
from sfumato.stores.kinds.local import LocalStore
from sfumato.stores.kinds.table import RowTable
from sfumato.stores.rows import Hit, Metadata, Metric, Scalar, checked_metric
from sfumato.types import Vectors

KIND = "memory-store"


class Memory(LocalStore):
    """Rows in memory; with a path they are loaded from there, and saved by `flush` and `close`."""

    name = "memory"

    def __init__(
        self, path: PathLike | None = None, *, metric: Metric | None = None, create: bool = True
    ) -> None:
        super().__init__("memory:" if path is None else f"memory:{path}", metric)
        self.path = None if path is None else Path(path)
        self._vectors = np.empty((0, 0), np.float32)
        if self.path is not None and self.path.exists():
            self._load(self.path, metric)
        elif not create:
            raise self._absent()

    def _load(self, path: Path, metric: Metric | None) -> None:
        saved = artifacts.load(path, KIND)
        vectors, rows = saved.tensors.get("vectors"), saved.tensors.get("rows")
        if vectors is None or rows is None or vectors.ndim != 2 or vectors.dtype != np.float32:
            raise ArtifactError(f"`{path}` is refused: it holds no vectors. Save it again.")
        self._agree(checked_metric(str(saved.config.get("metric"))), vectors.shape[1], metric)
        self._table = RowTable.from_bytes(rows, len(vectors))
        self._vectors = np.array(vectors)

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        if self.dim is None:
            self.dim = vectors.shape[1]
            self._vectors = np.empty((0, self.dim), np.float32)
        start = len(self._table.ids)
        room = len(self._vectors)
        if start + len(ids) > room:
            grown = np.empty((max(2 * room, start + len(ids)), self.dim), np.float32)
            grown[:start] = self._vectors[:start]
            self._vectors = grown
        self._vectors[start : start + len(ids)] = vectors
        self._table.append(ids, metadata)
        self._changed = True
        if self._table.dead > len(self._table):
            self._compact()

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        for name, vector in zip(ids, vectors, strict=True):
            for at in self._table.places([name]):
                self._vectors[at] = vector
                self._table.metadata[at].update(fields)
        self._changed = True

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        rows = self._table.alive(allowed)
        return [
            self._hits(rows[places], found)
            for places, found in nearest(vectors, self._vectors[rows], self.metric, k)
        ]

    def _stored(self, places: Any) -> Vectors:
        return np.array(self._vectors[places]).reshape(len(places), self.dim or 0)

    def _compact(self) -> None:
        self._vectors = self._vectors[self._table.alive()]
        self._table.compact()

    def flush(self) -> None:
        """Save to the folder, in one step."""
        if self.path is None or not self._changed:
            return
        self._compact()
        tensors: dict[str, Any] = {"vectors": self._vectors, "rows": self._table.to_bytes()}
        artifacts.save(self.path, KIND, {"metric": self.metric}, tensors)
        self._changed = False

    def close(self) -> None:
        """Save to the folder, if there is one."""
        self.flush()
