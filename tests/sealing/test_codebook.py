"""Cells that only the client knows: learned, assigned, asked for, written and read."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from sfumato.errors import ArtifactError, InputError, ParameterError, VectorError
from sfumato.randomness import generator
from sfumato.sealing.cells import nearest
from sfumato.sealing.cells.codebook import Codebook, unit


def planted(centres: int, rows: int, dim: int = 16, spread: float = 0.05, seed: int = 0) -> np.ndarray:
    """`rows` unit vectors around each of `centres` directions, one centre after the other."""
    rng = generator(seed)
    middles = unit(rng.normal(size=(centres, dim)))
    return unit(np.repeat(middles, rows, axis=0) + spread * rng.normal(size=(centres * rows, dim)))


def nearness(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """`[n, k]` x·c - |c|²/4 in float64, the plain way."""
    wide, middles = unit(vectors).astype(np.float64), centroids.astype(np.float64)
    return wide @ middles.T - (middles**2).sum(axis=1) / 4


def test_cells_are_the_nearest_ones_by_brute_force():
    vectors = planted(40, 5)
    book = Codebook.learn(vectors, cells=50, tables=2, rng=generator(1))
    asked = generator(2).normal(size=(60, 16))
    routed = book.route(asked, 7)
    assert (book.assign(asked) == routed[:, :, 0]).all()
    for table, centroids in enumerate(book.centroids):
        near = nearness(asked, centroids)
        chosen = np.take_along_axis(near, routed[:, table], axis=1)
        np.testing.assert_allclose(chosen, -np.sort(-near, axis=1)[:, :7], atol=1e-6)


def test_queries_are_exact_and_filing_nearly_so_where_there_are_many_cells(monkeypatch):
    monkeypatch.setattr(nearest, "ALL", 64)
    monkeypatch.setattr(nearest, "_BLOCK", 50)
    monkeypatch.setattr(nearest, "_SCORES", 5000)
    vectors = planted(300, 8, dim=24, spread=0.1)
    book = Codebook.learn(vectors, rng=generator(1))
    assert len(book._for_rows[0].centres) > nearest._FEWEST_VISITS
    near = nearness(vectors[:400], book.centroids[0])
    routed = book.route(vectors[:400], 5)[:, 0]
    chosen = np.take_along_axis(near, routed, axis=1)
    np.testing.assert_allclose(chosen, -np.sort(-near, axis=1)[:, :5], atol=1e-6)
    assert np.mean(book.assign(vectors[:400])[:, 0] == near.argmax(axis=1)) > 0.98
    # Looking into all groups is exact.
    every, scores = book._for_rows[0].closest(unit(vectors[:400]), 1.0)
    np.testing.assert_allclose(near[np.arange(400), every], near.max(axis=1), atol=1e-6)
    np.testing.assert_allclose(scores, near.max(axis=1), atol=1e-6)


def test_groups_cost_little_of_the_cells_quality(monkeypatch):
    vectors = planted(200, 10, dim=24, spread=0.15)

    def quality() -> float:
        book = Codebook.learn(vectors, rng=generator(3))
        return float(np.vecdot(unit(vectors), book.centroids[0][book.assign(vectors)[:, 0]]).mean())

    flat = quality()
    monkeypatch.setattr(nearest, "ALL", 32)
    assert flat - 0.01 < quality() <= flat + 0.01 and flat > 0.7


@pytest.mark.parametrize("probes", [1, 3, 9, 40])
def test_a_query_always_asks_for_as_many_cells(probes):
    book = Codebook.learn(planted(9, 4), cells=9, tables=3, rng=generator(0))
    routed = book.route(planted(2, 3, seed=5), probes)
    assert routed.shape == (6, 3, probes)
    assert all(len(set(cells)) == probes for row in routed for cells in row)


def test_cells_that_are_not_there_hold_nothing():
    book = Codebook.learn(planted(3, 2), cells=2, rng=generator(0))
    assert sorted(book.route(planted(1, 1), 6)[0, 0][:2]) == [0, 1]
    assert book.route(planted(1, 1), 6)[0, 0][2:].tolist() == [2, 3, 4, 5]
    assert book.assign(planted(30, 5, seed=4)).max() < 2


def test_planted_clusters_are_found():
    vectors = planted(25, 8, dim=32)
    cells = Codebook.learn(vectors, cells=60, rng=generator(4)).assign(vectors)[:, 0]
    homes = {}
    for row, cell in enumerate(cells):
        homes.setdefault(cell, set()).add(row // 8)
    assert np.mean([len(each) == 1 for each in homes.values()]) > 0.9


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5])
def test_few_rows(rows):
    vectors = planted(5, 1)[:rows]
    book = Codebook.learn(vectors, tables=2, rng=generator(0))
    assert book.cells == [1, 1]
    assert book.assign(vectors).shape == (rows, 2)
    assert (book.assign(planted(4, 1, seed=9)) == 0).all()


@pytest.mark.parametrize("limit", [4096, 8])
def test_duplicates_share_a_cell_and_leave_no_empty_ones(monkeypatch, limit):
    monkeypatch.setattr(nearest, "ALL", limit)
    vectors = np.repeat(planted(6, 1), 30, axis=0)
    book = Codebook.learn(vectors, cells=60, rng=generator(0))
    cells = book.assign(vectors)[:, 0].reshape(6, 30)
    assert (cells == cells[:, :1]).all()
    assert book.cells == [6] and len(set(cells[:, 0])) == 6


def test_every_cell_holds_a_row_of_those_it_was_learned_from():
    vectors = planted(100, 6, spread=0.3)
    book = Codebook.learn(vectors, rng=generator(7))
    assert len(set(book.assign(vectors)[:, 0])) > 0.97 * book.cells[0]
    assert 0.97 * 150 < book.cells[0] <= 150


def test_length_does_not_count_and_zero_is_a_vector():
    vectors = planted(20, 4)
    book = Codebook.learn(1e-30 * vectors.astype(np.float64), rng=generator(1))
    again = Codebook.learn(vectors, rng=generator(1))
    assert (book.assign(vectors * 1e6) == again.assign(vectors)).mean() > 0.95
    assert book.assign(np.zeros((2, 16))).shape == (2, 1)


def test_a_seed_repeats_and_the_system_does_not():
    vectors = planted(30, 6, spread=0.3)
    first, second = (Codebook.learn(vectors, tables=2, rng=generator(5)).to_bytes() for _ in range(2))
    assert first == second
    tables = Codebook.learn(vectors, tables=2, rng=generator(5)).centroids
    assert tables[0].shape != tables[1].shape or not np.allclose(*tables)
    assert Codebook.learn(vectors).to_bytes() != Codebook.learn(vectors).to_bytes()


def test_round_trip():
    vectors = planted(30, 6, spread=0.3)
    book = Codebook.learn(vectors, tables=3, rng=generator(5))
    again = Codebook.from_bytes(book.to_bytes())
    assert again.to_bytes() == book.to_bytes()
    assert again.cells == book.cells and again.dim == 16
    assert (again.route(vectors, 4) == book.route(vectors, 4)).all()


def test_rounding_moves_a_centroid_by_less_than_a_hundredth():
    centroids = planted(200, 1, dim=384)
    rounded = Codebook([centroids]).centroids[0]
    assert np.linalg.norm(rounded - centroids, axis=1).max() < 0.02
    assert np.abs(rounded - centroids).max() <= np.abs(centroids).max() / 254 * 1.001


def damaged() -> dict[str, bytes]:
    good = Codebook.learn(planted(8, 4), rng=generator(0)).to_bytes()
    header = good[:14]
    return {
        "empty": b"",
        "short": good[:9],
        "cut": good[:-1],
        "longer": good + b"\0",
        "other magic": b"sfcells2" + good[8:],
        "no tables": good[:8] + struct.pack("<H", 0) + good[10:],
        "many tables": good[:8] + struct.pack("<H", 60000) + good[10:],
        "no dimension": good[:10] + struct.pack("<I", 0) + good[14:],
        "huge dimension": good[:10] + struct.pack("<I", 1 << 31) + good[14:],
        "no cells": header + struct.pack("<I", 0),
        "huge cells": header + struct.pack("<I", 2**32 - 1) + good[18:],
        "not a number": good[:18] + struct.pack("<f", float("nan")) + good[22:],
        "negative": good[:18] + struct.pack("<f", -0.1) + good[22:],
        "large": good[:18] + struct.pack("<f", 1e30) + good[22:],
    }


@pytest.mark.parametrize("kind", damaged())
def test_what_is_no_codebook_is_refused(kind):
    with pytest.raises(ArtifactError):
        Codebook.from_bytes(damaged()[kind])


def test_what_cannot_be_learned_or_asked_is_refused():
    vectors = planted(4, 4)
    for wrong in ({"cells": 0}, {"tables": 0}, {"tables": 17}, {"cells": True}, {"cells": 2.5}):
        with pytest.raises(ParameterError):
            Codebook.learn(vectors, **wrong)
    book = Codebook.learn(vectors, rng=generator(0))
    for probes in (0, -1, 1.5, 1 << 40):
        with pytest.raises(ParameterError):
            book.route(vectors, probes)
    with pytest.raises(VectorError, match="dimension 16"):
        book.assign(np.ones((2, 15)))
    broken = vectors.copy()
    broken[5, 3] = np.nan
    with pytest.raises(VectorError, match="Row 5"):
        book.assign(broken)
    with pytest.raises(VectorError, match="Row 5"):
        Codebook.learn(broken)
    with pytest.raises(InputError):
        Codebook([np.ones((2, 4)) / 2, np.ones((2, 5)) / 2])
    with pytest.raises(InputError):
        Codebook([2 * np.ones((2, 4))])
    with pytest.raises(InputError):
        Codebook([])


def test_its_words_hold_no_centroid():
    assert repr(Codebook.learn(planted(9, 4), rng=generator(0))) == "Codebook(cells=[9], dim=16)"


@pytest.mark.parametrize("limit", [4096, 8])
def test_progress_ends_where_it_said(monkeypatch, limit):
    monkeypatch.setattr(nearest, "ALL", limit)
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        seen.append((done, total))

    Codebook.learn(planted(40, 4), tables=2, rng=generator(0), on_step=note)
    assert seen == [(done, len(seen)) for done in range(1, len(seen) + 1)] and seen
