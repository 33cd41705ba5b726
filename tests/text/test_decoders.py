"""Decoders against brute force: exact means exact."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import MissingPackageError
from sfumato.mechanisms import Polar
from sfumato.randomness import generator
from sfumato.text import Channel, decoders
from sfumato.text.decoders import DECODERS, Exact
from sfumato.text.prefixes import Prefixes, margin_of
from tests.text.small import vocabulary


def unit(count, dim, seed=0, tilt=0.0):
    rows = generator(seed).standard_normal((count, dim)) * np.linspace(1, 1 - tilt, dim)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def brute(released, words):
    return (released.astype(np.float64) @ words.astype(np.float64).T).argmax(axis=1)


@pytest.mark.parametrize("epsilon", [3.0, 40.0, 400.0])
@pytest.mark.parametrize("tilt", [0.0, 0.9])
def test_exact_is_brute_force_whatever_the_hints(epsilon, tilt, monkeypatch):
    monkeypatch.setattr(decoders, "_MANY", 500)
    words = unit(5000, 64, tilt=tilt)
    numbers = generator(1).integers(0, 5000, 700)
    released = Polar(epsilon=epsilon).privatize(words[numbers])
    wanted = brute(released, words)
    decoder = Exact(words)
    wrong = generator(2).integers(-1, 5000, 700)
    for hints in (None, numbers, wrong):
        assert np.array_equal(decoder.nearest(released, hints=hints), wanted)


def test_prefixes_leave_words_out_where_noise_is_weak():
    words = unit(5000, 64, tilt=0.9)
    released = Polar(epsilon=2000.0).privatize(words[:200])
    least = np.vecdot(released.astype(np.float64), words[:200]) / np.linalg.norm(released, axis=1)
    from sfumato.workspace import Workspace

    found = Prefixes(words).candidates(released, least, Workspace())
    assert found is not None and len(found[0]) < 0.01 * 200 * 5000
    assert {(row, row) for row in range(200)} <= set(zip(*(part.tolist() for part in found), strict=True))
    # Without a cosine that is reached for certain nothing can be left out.
    assert Prefixes(words).candidates(released, np.full(200, -np.inf), Workspace()) is None


def test_blocks_and_threads_do_not_change_the_answer(monkeypatch):
    words = unit(3000, 32)
    released = Polar(epsilon=20.0).privatize(words[:300])
    wanted = Exact(words).nearest(released, threads=1)
    monkeypatch.setattr(decoders, "_ROWS", 7)
    monkeypatch.setattr(decoders, "_WORDS", 501)
    assert np.array_equal(Exact(words).nearest(released, threads=3), wanted)


def test_equal_words_give_the_first_and_close_calls_are_decided_in_float64():
    words = unit(50, 8)
    doubled = np.concatenate([words, words])
    assert np.array_equal(Exact(doubled).nearest(words), np.arange(50))
    # Two words closer to each other than float32 products can tell, a thousand rows between them.
    near = np.repeat(unit(1, 300), 2, axis=0)
    near[1, 0] = np.nextafter(near[1, 0], np.float32(2))
    rows = unit(1000, 300, seed=5)
    assert np.abs((rows @ near.T) @ [1, -1]).max() < margin_of(rows).max()
    assert np.array_equal(Exact(near).nearest(rows), brute(rows, near))


def test_rows_of_zeros_and_no_rows_are_taken():
    words = unit(40, 4)
    assert Exact(words).nearest(np.zeros((3, 4), np.float32)).tolist() == [0, 0, 0]
    assert Exact(words).nearest(np.zeros((0, 4), np.float32)).shape == (0,)
    assert Exact(words).nearest(words * np.float32(1e-6)).tolist() == list(range(40))


def test_a_device_finds_what_brute_force_finds(monkeypatch):
    from sfumato.text import on_device

    monkeypatch.setattr(on_device, "_NUMBERS", 3000 * 40)  # blocks of 40 rows
    words = unit(3000, 32)
    released = Polar(epsilon=8.0).privatize(words[:300])
    decoder = on_device.OnDevice(words, "cpu")
    assert np.array_equal(decoder.nearest(released, threads=2, hints=np.arange(300)), brute(released, words))
    doubled = on_device.OnDevice(np.concatenate([words, words]), "cpu")
    assert np.array_equal(doubled.nearest(words[:50]), np.arange(50)), "the first of equal ones"
    near = np.repeat(unit(1, 300), 2, axis=0)
    near[1, 0] = np.nextafter(near[1, 0], np.float32(2))
    rows = unit(1000, 300, seed=5)
    assert np.array_equal(on_device.OnDevice(near, "cpu").nearest(rows), brute(rows, near))
    assert decoder.nearest(np.zeros((0, 32), np.float32)).shape == (0,)
    assert Channel(vocabulary(), decoder="torch").sample([0, 1], 1000.0).tolist() == [0, 1]


@pytest.mark.skipif(not DECODERS.installed("hnsw"), reason=DECODERS.install_line("hnsw"))
def test_the_graph_mostly_agrees_and_less_where_noise_is_strong():
    from sfumato.text.hnsw import Hnsw

    words = unit(3000, 24)
    exact, graph = Exact(words), Hnsw(words, search=128)
    agreement = {}
    for epsilon in (2.0, 200.0):
        released = Polar(epsilon=epsilon).privatize(words[:500])
        agreement[epsilon] = (exact.nearest(released) == graph.nearest(released, threads=1)).mean()
    assert agreement[200.0] > 0.98 and agreement[2.0] > 0.5
    assert Channel(vocabulary(), decoder="hnsw").sample([0, 1], 1000.0).tolist() == [0, 1]


def test_a_missing_graph_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("sfumato.registry._importable", lambda module: module != "faiss")
    with pytest.raises(MissingPackageError, match=r"sfumato\[faiss\]"):
        Channel(vocabulary(), decoder="hnsw")
