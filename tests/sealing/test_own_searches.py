"""Searches for a collection's own rows, where no sentence finds its own row by itself."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.cells.filing import Filed
from sfumato.sealing.cells.measuring import fewest
from sfumato.sealing.cells.own_searches import _without, fewest_own


def documents(rows: int = 500, sentences: int = 4, dim: int = 16, spread: float = 0.6, seed: int = 0):
    """Rows whose sentences lie around a topic of their own; the row's vector is their mean."""
    rng = generator(seed)
    topics = unit(rng.normal(size=(rows, dim)))
    parts = unit(np.repeat(topics, sentences, axis=0) + spread * rng.normal(size=(rows * sentences, dim)) / 4)
    own = unit(parts.reshape(rows, sentences, dim).mean(axis=1))
    every = Filed(
        np.vstack([own, parts]), np.r_[np.arange(rows), np.repeat(np.arange(rows), sentences)], rows
    )
    return own, every


def test_a_sentence_does_not_find_its_row_by_its_own_posting():
    # Each sentence is alone in its direction: without its posting nothing leads from it to its row.
    rows, dim = 60, 256
    parts = np.eye(dim, dtype=np.float32)[: 2 * rows]
    own = unit(parts.reshape(rows, 2, dim).sum(axis=1))
    every = Filed(parts, np.repeat(np.arange(rows), 2), rows)
    book = Codebook([parts])
    places = every.places(book)
    found = fewest_own(own, every, places, book, "ndcg@10=0.9", rng=generator(0), most_probes=1)
    assert found.chosen.kept == 0.0
    by_itself = fewest(
        own,
        places,
        book,
        parts,
        "ndcg@10=0.9",
        relevant=[{r: 1.0} for r in range(rows) for _ in "ab"],
        most_probes=1,
    )
    assert by_itself.chosen.kept == 1.0


def test_rows_are_found_through_their_other_sentences():
    own, every = documents()
    book = Codebook.learn(every.vectors, rng=generator(1))
    found = fewest_own(own, every, every.places(book), book, "ndcg@10=0.95", rng=generator(2))
    assert found.metric == "ndcg@10" and found.queries == 500
    assert found.holds and 0 < found.curve[0].kept < 1
    wide = fewest_own(own, every, every.places(book), book, "recall@10=0.95", rng=generator(2))
    assert found.candidates < wide.candidates


def test_a_short_row_looks_for_the_nearest_other():
    own, _ = documents()
    rows = Filed(own, np.arange(len(own)), len(own))
    book = Codebook.learn(own, rng=generator(1))
    places = rows.places(book)
    found = fewest_own(own, rows, places, book, "ndcg@1=0.9", rng=generator(3))
    same = fewest(own, places, book, own, "recall@1=0.9", own=np.arange(len(own)))
    assert [each.kept for each in found.curve] == pytest.approx([each.kept for each in same.curve])
    assert found.curve[0].kept < 0.9


def test_places_without_a_sentence():
    own, every = documents(rows=3, sentences=2)
    book = Codebook.learn(every.vectors, cells=9, tables=2, rng=generator(0))
    cells = book.assign(every.vectors)
    (got,) = _without(every, book, np.array([3 + 2]), np.array([1]))
    assert got == {(table, int(cells[number, table])) for number in (1, 3 + 3) for table in range(2)}
    lonely = Filed(own, np.arange(3), 3)
    assert _without(lonely, book, np.array([2]), np.array([2])) == [None]


@pytest.mark.parametrize("keep", ["recall@10=0.9", "ndcg@10=0.9"])
def test_two_rows(keep):
    own, every = documents(rows=2)
    book = Codebook.learn(own, rng=generator(0))
    for rows in (every, Filed(own, np.arange(2), 2)):
        found = fewest_own(own, rows, rows.places(book), book, keep)
        assert found.holds and found.chosen.kept == 1.0
