"""The probe behind `plan --protector`: a sample that is like the file, and times that add up."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.scale import probe as module
from sfumato.scale.probe import probe
from tests.scale.folders import DIM, plain, unit_vectors

ROWS = 600


class Clock:
    """Time that passes only while texts are embedded."""

    now = 0.0

    def monotonic(self):
        return self.now


class Clocked(Fake):
    """Takes a time that follows from the length of each text, and a second to be loaded."""

    def __init__(self, clock):
        super().__init__(dim=DIM)
        self.clock, self.loaded = clock, False

    def embed(self, texts, *, on_batch=None):
        self.clock.now += (not self.loaded) + sum(len(text) for text in texts) * 1e-4
        self.loaded = True
        return super().embed(texts, on_batch=on_batch)


@pytest.fixture
def notes(tmp_path):
    """Sorted by length, the longest fifty times as long as the shortest: the first rows mislead."""
    rows = [{"text": "note " * (1 + row // 12)} for row in range(ROWS)]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "in.jsonl"


def test_the_estimate_is_what_the_texts_take(notes, monkeypatch):
    monkeypatch.setattr(module, "time", clock := Clock())
    found = probe(notes, Protector(Laplace(epsilon=50.0), Clocked(clock)), seconds=2.0)
    assert found.rows == ROWS and 64 <= found.probed < ROWS and found.passes == 1.0
    assert found.starting == pytest.approx(1.0) and found.stages["embed"] == pytest.approx(found.row_seconds)
    assert found.seconds == pytest.approx(1.0 + ROWS * found.characters * 1e-4, rel=0.05)
    assert clock.now < 5.0  # loading, two rounds to begin with, and about what was asked for


def test_every_round_is_like_the_file(notes):
    sample, rows = module._sampled(notes)
    assert rows == len(sample) == ROWS
    for first, last in ((0, 32), (32, 96), (96, 224)):
        lengths = [len(text) for text in sample.some(first, last).texts]
        assert np.mean(lengths) == pytest.approx(sample.mean_length, rel=0.1)
    assert sorted(module._spread(13)) == list(range(13))


def test_nothing_is_charged_and_no_noise_of_the_secret_is_drawn(notes, tmp_path):
    secret = Secret.generate()
    ledger = Ledger(tmp_path / "ledger", secret=secret, ceiling=None)
    place = Concept.from_terms("place", ["note"])
    protector = Protector(Laplace(epsilon=50.0), Fake(dim=DIM), (place,), secret=secret, ledger=ledger)
    found = probe(notes, protector, rows=10**6, seconds=0.1)
    assert found.rows == 10**6 and found.matched == 1.0 and not ledger.summary()["accounts"]
    assert protector.secret is secret and protector.ledger is ledger


def test_vectors_are_timed_too(tmp_path):
    np.save(tmp_path / "in.npy", unit_vectors(50))
    found = probe(tmp_path / "in.npy", plain(), seconds=0.1)
    assert set(found.stages) == {"release"} and found.matched is None and found.characters is None
    with pytest.raises(InputError, match="no embedder"):
        (tmp_path / "in.txt").write_text("one\ntwo\n")
        probe(tmp_path / "in.txt", plain(), seconds=0.1)
