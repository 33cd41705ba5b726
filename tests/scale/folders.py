"""Folders of Parquet files for the tests, and how to compare what was released."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.accounting import Secret
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.scale.rows import as_table

DIM = 32


def unit_vectors(rows, seed=0):
    found = generator(seed).standard_normal((rows, DIM)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def make_folder(path, *, files=3, rows=700, group=200):
    """Files with an `id` and an `embedding` column in several row groups; one of them in a folder below."""
    for number in range(files):
        ids = pa.array([f"{number}-{row}" for row in range(rows)])
        table = as_table(unit_vectors(rows, number), {"id": ids})
        place = path / ("below" if number == 1 else ".") / f"v{number}.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place, row_group_size=group)
    return path


def plain():
    return Protector(Laplace(epsilon=float(DIM)), normalise=False)


def key_file(path):
    Secret.from_file(path, create=True)
    return str(path)


def contents(path):
    """The bytes of every released part, by name."""
    return {
        part.relative_to(path).as_posix(): part.read_bytes()
        for part in sorted(path.rglob("*.parquet"))
        if "_sfumato" not in part.parts
    }


def manifest(path):
    return json.loads((path / "_manifest.json").read_text())


def released_ids(path):
    return pq.read_table(path, columns=["id"]).column("id").to_pylist()
