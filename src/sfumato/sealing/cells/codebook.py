"""The cells that rows are filed under and queries ask for: k-means centroids that only the client knows.

A centroid of about four rows is nearly a vector: a codebook is as secret as the vectors it was learned from.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors, row_blocks
from sfumato.errors import ArtifactError, VectorError
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.sealing.cells import kmeans
from sfumato.sealing.cells.nearest import Centroids, group_count, in_groups, in_one_group
from sfumato.types import Rows, Vectors

ROWS_A_CELL = 4
"""Rows that a cell holds on average, unless `cells` says otherwise: larger ones cost more records a query."""
FILING_SHARE = 0.25
"""Share of the groups of cells that a row looks into when it is filed, where there are groups."""
MOST_TABLES, MOST_CELLS, MOST_DIM = 16, 1 << 24, 1 << 16

OnStep = Callable[[int, int], object]
"""Called with how many steps are done, and of how many."""

_HEADER = struct.Struct("<8sHI")
_MAGIC = b"sfcells1"
_UNIT = 1e-4
_BLOCK = 1 << 22


class Codebook:
    """Centroids of one or more tables; each table cuts the space in its own way.

    Args:
        centroids: one `[cells, d]` array a table; kept as int8 with a scale a row, as `to_bytes` writes them.
    """

    def __init__(self, centroids: Sequence[Any]) -> None:
        whole_number(len(centroids), "tables", 1, MOST_TABLES)
        rounded = [_rounded(checked(table)) for table in centroids]
        dims = {codes.shape[1] for codes, _ in rounded}
        if len(dims) > 1 or max(dims) > MOST_DIM:
            raise VectorError(f"Tables must have one dimension, at most {MOST_DIM}. Found {sorted(dims)}.")
        for codes, _ in rounded:
            whole_number(len(codes), "cells", 1, MOST_CELLS)
        self._rounded = rounded
        self.dim = dims.pop()

    @classmethod
    def learn(
        cls,
        vectors: Any,
        cells: int | None = None,
        tables: int = 1,
        rng: np.random.Generator | None = None,
        on_step: OnStep | None = None,
    ) -> Codebook:
        """Cut the space of `vectors` into cells, independently in each table.

        Args:
            vectors: `[n, d]` rows like those to be filed; only their direction counts.
            cells: how many a table has at most; one for four rows if None. Cells that stay empty are dropped.
            tables: how many ways to cut; more tables need fewer records a query and more records a row.
            rng: None draws a secret seed from the operating system; a seeded one is for experiments.
            on_step: moves a progress bar.
        """
        rows = unit(vectors)
        tables = whole_number(tables, "tables", 1, MOST_TABLES)
        wanted = max(1, len(rows) // ROWS_A_CELL) if cells is None else cells
        wanted = min(whole_number(wanted, "cells", 1, MOST_CELLS), max(1, len(rows)))
        chosen = generator() if rng is None else rng
        if not len(rows):
            return cls([np.zeros((1, rows.shape[1]), np.float32)] * tables)
        done, total = 0, tables * kmeans.ROUNDS

        def step() -> None:
            nonlocal done
            done += 1
            if on_step is not None:
                on_step(done, total)

        return cls([kmeans.many_cells(rows, wanted, chosen, step) for _ in range(tables)])

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return len(self._rounded)

    @property
    def cells(self) -> list[int]:
        """How many cells each table has."""
        return [len(codes) for codes, _ in self._rounded]

    @property
    def centroids(self) -> list[Vectors]:
        """One `[cells, d]` array a table, as rounded."""
        return [codes * scales[:, None] for codes, scales in self._rounded]

    @cached_property
    def _for_queries(self) -> list[Centroids]:
        return [in_one_group(codes, scales) for codes, scales in self._rounded]

    @cached_property
    def _for_rows(self) -> list[Centroids]:
        return [_in_groups(table) for table in self._for_queries]

    def assign(self, vectors: Any) -> Rows:
        """`[n, tables]` the cell each vector is filed under: the nearest, or nearly so of many."""
        rows = unit(vectors, dim=self.dim)
        return np.stack([table.closest(rows, FILING_SHARE)[0] for table in self._for_rows], axis=1)

    def route(self, query_vectors: Any, probes: int) -> Rows:
        """`[n, tables, probes]` the cells nearest to each vector, the nearest first.

        There are always `probes` of them: where a table has fewer cells, the numbers after its last cell
        follow, under which nothing is filed.
        """
        asked = unit(query_vectors, dim=self.dim)
        probes = whole_number(probes, "probes", 1, MOST_CELLS)
        out = np.empty((len(asked), self.tables, probes), np.intp)
        for number, table in enumerate(self._for_queries):
            real = min(probes, len(table))
            out[:, number, :real] = table.nearest(asked, real)
            out[:, number, real:] = np.arange(len(table), len(table) + probes - real)
        return out

    def to_bytes(self) -> bytes:
        """The whole codebook; seal it before it is written anywhere."""
        parts = [_HEADER.pack(_MAGIC, self.tables, self.dim), struct.pack(f"<{self.tables}I", *self.cells)]
        for codes, scales in self._rounded:
            parts += [scales.astype("<f4").tobytes(), codes.tobytes()]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Codebook:
        """Read what `to_bytes` wrote; anything else is refused."""
        sizes, dim = _sizes(data)
        made, place = cls.__new__(cls), _HEADER.size + 4 * len(sizes)
        made._rounded, made.dim = [], dim
        for cells in sizes:
            scales = np.frombuffer(data, "<f4", cells, place).astype(np.float32)
            codes = np.frombuffer(data, np.int8, cells * dim, place + 4 * cells).reshape(cells, dim)
            if not (np.isfinite(scales).all() and (scales >= 0).all() and (scales <= 1).all()):
                raise ArtifactError("A codebook's scales must be in [0, 1]. Found others: it is damaged.")
            made._rounded.append((codes, scales))
            place += cells * (4 + dim)
        return made

    def __repr__(self) -> str:
        """Show sizes and never a centroid."""
        return f"Codebook(cells={self.cells}, dim={self.dim})"


def checked(vectors: Any, *, dim: int | None = None) -> Vectors:
    """The vectors as `(n, d)` float32, all of them finite, or refuse them by row."""
    array = as_vectors(vectors, dim=dim)
    with np.errstate(over="ignore"):
        small = array.astype(np.float32, copy=False)
    for first, block in row_blocks(small, _BLOCK):
        good = np.isfinite(block).all(axis=1)
        if not good.all():
            row = first + int(np.argmin(good))
            raise VectorError(f"Row {row} holds NaN or infinity. Every number must be finite.", row)
    return small


def unit(vectors: Any, *, dim: int | None = None) -> Vectors:
    """The vectors at length 1, as the cosine sees them; a zero row stays zero. Unit rows are not copied."""
    array = checked(vectors, dim=dim)
    # Scaled by the largest number first, so that squares neither overflow nor vanish.
    peaks = _peaks(array)[:, None]
    if len(array) and 0.0 < peaks.min() and peaks.max() <= 2.0:
        lengths = np.sqrt(np.vecdot(array, array))
        if (np.abs(lengths - 1.0) <= _UNIT).all():
            return array
    scaled = array / np.where(peaks > 0, peaks, 1.0)
    lengths = np.sqrt(np.vecdot(scaled, scaled))[:, None]
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1.0), np.float32)


def _peaks(array: Vectors) -> NDArray[np.float32]:
    """The largest absolute number of each row."""
    peaks = np.maximum(array.max(axis=1, initial=0.0), -array.min(axis=1, initial=0.0))
    return np.asarray(peaks, np.float32)


def _rounded(centroids: Vectors) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each row as int8 and a scale."""
    peaks = _peaks(centroids)
    if len(peaks) and peaks.max() > 1.0 + _UNIT:
        raise VectorError("Centroids of unit vectors have no number above 1. Found a larger one.")
    scales = (peaks / np.float32(127)).astype(np.float32)
    codes = np.rint(centroids / np.where(scales > 0, scales, 1.0)[:, None])
    return np.clip(codes, -127, 127).astype(np.int8), scales


def _in_groups(table: Centroids) -> Centroids:
    """The same centroids, in groups if they are many; the same groups wherever a codebook is opened."""
    groups = group_count(len(table))
    if groups == 1:
        return table
    centroids = table.points * table.scales[:, None]
    return in_groups(table.points, table.scales, kmeans.grouped(centroids, groups, generator(0)))


def _sizes(data: bytes) -> tuple[list[int], int]:
    """The cells of each table and the dimension, once the length of the whole is what they say."""
    damaged = "A codebook must be what `Codebook.to_bytes` wrote. Found {}."
    if len(data) < _HEADER.size or data[:8] != _MAGIC:
        raise ArtifactError(damaged.format("something else"))
    _, tables, dim = _HEADER.unpack_from(data)
    if not (1 <= tables <= MOST_TABLES and 1 <= dim <= MOST_DIM) or len(data) < _HEADER.size + 4 * tables:
        raise ArtifactError(damaged.format(f"{tables} tables of {dim} dimensions in {len(data)} bytes"))
    sizes = list(struct.unpack_from(f"<{tables}I", data, _HEADER.size))
    expected = _HEADER.size + 4 * tables + sum(sizes) * (4 + dim)
    if min(sizes) < 1 or max(sizes) > MOST_CELLS or len(data) != expected:
        raise ArtifactError(damaged.format(f"{len(data)} bytes where {expected} were announced"))
    return sizes, dim
