"""The product's k-means with every row compared with every centroid, by torch where it is fast.

The product compares a row with a share of many cells; up to 16,384 cells both give the same (a test looks).
"""

from __future__ import annotations

import numpy as np

from sfumato.sealing.cells import kmeans
from sfumato.sealing.cells.codebook import ROWS_A_CELL, Codebook, unit
from sfumato.sealing.cells.filing import Filed, Place
from sfumato.types import Rows, Vectors

_SCORES = 1 << 31
"""Figures held on the device at a time."""


def learned(vectors: Vectors, tables: int, rng: np.random.Generator, device: str) -> Codebook:
    """What `Codebook.learn` makes, each round on a device."""
    rows = unit(vectors)
    cells = max(1, len(rows) // ROWS_A_CELL)
    return Codebook([_many_cells(rows, cells, rng, device) for _ in range(tables)])


def _many_cells(vectors: Vectors, cells: int, rng: np.random.Generator, device: str) -> Vectors:
    centroids = kmeans.drawn_rows(vectors, cells, rng)
    held = np.arange(len(centroids))
    for left in reversed(range(kmeans.ROUNDS)):
        own, scores = closest(vectors, centroids, device)
        centroids, held = kmeans.moved(vectors, own, scores, centroids, refill=left > 0)
    return centroids[held]


def closest(vectors: Vectors, centroids: Vectors, device: str) -> tuple[Rows, Vectors]:
    """`[n]` the nearest of all centroids to each vector, and how near it is."""
    import torch

    points = torch.from_numpy(np.ascontiguousarray(centroids)).to(device)
    biases = (points * points).sum(dim=1) / 4
    step = max(1, (_SCORES if device != "cpu" else 1 << 23) // len(points))
    own, best = np.empty(len(vectors), np.intp), np.empty(len(vectors), np.float32)
    for first in range(0, len(vectors), step):
        part = torch.from_numpy(np.ascontiguousarray(vectors[first : first + step])).to(device)
        top = torch.addmm(-biases, part, points.T).max(dim=1)
        own[first : first + step], best[first : first + step] = top.indices.cpu(), top.values.cpu()
    return own, best


def places(filed: Filed, codebook: Codebook, device: str) -> list[set[Place]]:
    """The cells of each row, as `Filed.places` says them, in every table."""
    found: list[set[Place]] = [set() for _ in range(filed.count)]
    for table, centroids in enumerate(codebook.centroids):
        own, _ = closest(filed.vectors, centroids, device)
        for row, cell in zip(filed.rows.tolist(), own.tolist(), strict=True):
            found[row].add((table, cell))
    return found
