"""The encoder that embeds every distinct text once: what it keeps, and how much."""

from __future__ import annotations

import numpy as np

from sfumato.embedders import Fake, remembering
from sfumato.embedders.remembering import RememberingEmbedder


def test_every_distinct_text_is_embedded_once():
    told = []
    encoder = RememberingEmbedder(Fake(dim=8), told.append)
    rows = encoder.embed(["a", "b", "a"])
    assert np.array_equal(rows, Fake(dim=8).embed(["a", "b", "a"]))
    assert np.array_equal(encoder.embed(["b", "c"]), Fake(dim=8).embed(["b", "c"]))
    assert sum(told) == 3 and len(encoder) == 3 and encoder.embed([]).shape == (0, 8)


def test_what_it_keeps_is_bounded(monkeypatch):
    monkeypatch.setattr(remembering, "MOST", 3)
    told = []
    encoder = RememberingEmbedder(Fake(dim=8), told.append)
    texts = [str(number) for number in range(10)]
    for _ in range(2):
        assert np.array_equal(encoder.embed(texts), Fake(dim=8).embed(texts))
    assert len(encoder) == 3 and sum(told) == 10 + 7
