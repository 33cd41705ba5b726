"""The cache: private, shared, whole, and one vector a text for good."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sfumato.embedders import CachedEmbedder, Fake
from sfumato.errors import ArtifactError, InputError

SECRET = "Zanzibar"


class Counting:
    """Counts what it embeds, and never gives the same vector twice."""

    name, model_id, dim = "counting", "counting-1", 4

    def __init__(self):
        self.texts = []

    def embed(self, texts, *, on_batch=None):
        self.texts += texts
        if on_batch is not None:
            on_batch(len(texts))
        rows = np.arange(len(texts) * 4, dtype=np.float32).reshape(-1, 4) + len(self.texts)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)


def test_each_text_is_embedded_once(tmp_path):
    inner, counts = Counting(), []
    cached = CachedEmbedder(inner, tmp_path / "deep" / "cache.db")
    first = cached.embed(["a", "b", "a"], on_batch=counts.append)
    assert inner.texts == ["a", "b"] and sum(counts) == 3 and np.array_equal(first[0], first[2])
    again = cached.embed(["b", "c", "a"], on_batch=counts.append)
    assert inner.texts == ["a", "b", "c"] and sum(counts) == 6
    assert np.array_equal(again[0], first[1]) and np.array_equal(again[2], first[0])
    assert np.array_equal(CachedEmbedder(inner, cached.path).embed(["a"])[0], first[0]) and len(cached) == 3
    cached.clear()
    assert len(cached) == 0 and cached.embed([]).shape == (0, 4)


def test_other_models_share_the_file_and_nothing_else(tmp_path):
    one, two = Fake(dim=8), Fake(dim=16)
    for inner in (one, two):
        found = CachedEmbedder(inner, tmp_path / "cache.db").embed(["a"])
        assert np.array_equal(found, inner.embed(["a"]))


def test_only_the_owner_may_read_it_and_it_holds_no_text(tmp_path):
    path = tmp_path / "cache.db"
    before = os.umask(0)
    try:
        cached = CachedEmbedder(Fake(dim=8), path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    cached.embed([f"{SECRET} is here"])
    assert SECRET.encode() not in path.read_bytes() and list(tmp_path.iterdir()) == [path]
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        CachedEmbedder(Fake(dim=8), path)


def test_the_first_vector_stays(tmp_path):
    # Two processes embed the same text at once: whoever is second gets the first one's vector.
    one = CachedEmbedder(Counting(), tmp_path / "cache.db")

    class Slower(Counting):
        def embed(self, texts, *, on_batch=None):
            self.first = one.embed(texts)
            return super().embed(texts) * -1

    slower = Slower()
    found = CachedEmbedder(slower, tmp_path / "cache.db").embed(["a"])
    assert np.array_equal(found, slower.first)


def fill(path, start):
    texts = [f"text {i}" for i in range(start, start + 300)]
    for i in range(0, 300, 50):
        CachedEmbedder(Fake(dim=8), path).embed(texts[i : i + 50])


def test_threads_and_processes_share_it(tmp_path):
    path = tmp_path / "cache.db"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=fill, args=(path, start)) for start in (0, 150)]
    for worker in workers:
        worker.start()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda start: fill(path, start), (0, 100, 300)))
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    cached = CachedEmbedder(Fake(dim=8), path)
    assert len(cached) == 600
    texts = [f"text {i}" for i in range(600)]
    assert np.array_equal(cached.embed(texts), Fake(dim=8).embed(texts))


def test_a_failed_run_keeps_what_it_has(tmp_path):
    class Failing(Counting):
        def embed(self, texts, *, on_batch=None):
            if self.texts:
                raise RuntimeError("stopped")
            return super().embed(texts, on_batch=on_batch)

    cached = CachedEmbedder(Failing(), tmp_path / "cache.db")
    with pytest.raises(RuntimeError, match="stopped"):
        cached.embed([f"text {i}" for i in range(1000)])
    assert len(cached) == 64


def test_other_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "cache.db"
    path.write_bytes(b"not a database" * 100)
    path.chmod(0o600)
    with pytest.raises(ArtifactError, match="not a cache"):
        CachedEmbedder(Fake(dim=8), path)
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (x)")
    db.close()
    path.chmod(0o600)
    with pytest.raises(ArtifactError, match="not a cache"):
        CachedEmbedder(Fake(dim=8), path)
    path.unlink()
    cached = CachedEmbedder(Fake(dim=8), path)
    cached.embed(["a"])
    for vector in (b"short", np.full(8, np.nan, np.float32).tobytes()):
        with sqlite3.connect(path) as db:
            db.execute("UPDATE vectors SET vector = ?", (vector,))
        db.close()
        with pytest.raises(ArtifactError, match="does not fit"):
            cached.embed(["a"])
    path.unlink()
    with pytest.raises(InputError, match="cannot be used"):
        cached.embed(["a"])
    with pytest.raises(InputError, match="cannot be created"):
        CachedEmbedder(Fake(dim=8), "/dev/null/cache.db")
