"""What a stolen store holds could be made from counts and sizes alone; what erasing leaves of cells."""

from __future__ import annotations

import base64
import zlib
from collections import Counter

import numpy as np
import pytest

from tests.sealing.collections import ENCODER, contents, metadata, names, notes, sealed

ROWS = 400


def view(store):
    """All that a snapshot shows beside bits that look random: how many records there are of which size."""
    return Counter(len(content) for content in contents(store).values())


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """The records of three collections of equal lengths: notes, one letter, and random letters."""
    texts = notes(ROWS)
    rng = np.random.default_rng(0)
    letters = ["".join(rng.choice(list("abcdefgh "), len(text))) for text in texts]
    made = {}
    for kind, given in (
        ("notes", texts),
        ("same", [f"{'x' * len(text)}" for text in texts]),
        ("letters", letters),
    ):
        with sealed(tmp_path_factory.mktemp(kind)) as store:
            store.add(names(ROWS), given, metadata(ROWS))
            made[kind] = (view(store.store), contents(store.store))
    return made


def test_other_texts_of_the_same_lengths_look_the_same(held):
    assert held["notes"][0] == held["same"][0] == held["letters"][0]
    assert len(held["notes"][0]) <= 5 and sum(held["notes"][0].values()) == 2 * ROWS + 1


@pytest.mark.parametrize("kind", ["notes", "same", "letters"])
def test_contents_are_as_even_as_random_bits(held, kind):
    """A byte that says the format, then bits that no compression shortens and no position gives away."""
    raw = [base64.b64decode(content) for content in held[kind][1].values()]
    assert {each[0] for each in raw} == {1}
    whole = b"".join(each[1:] for each in raw)
    assert len(zlib.compress(whole, 9)) > len(whole)
    # Each of the first 73 bytes takes about as many values as random ones do: 801 draws of 256.
    for place in range(1, 73):
        assert len({each[place] for each in raw}) > 225
    # Chi-squared of 255 degrees: eight standard deviations over its mean.
    counts, expected = np.bincount(np.frombuffer(whole, np.uint8), minlength=256), len(whole) / 256
    assert ((counts - expected) ** 2 / expected).sum() < 255 + 8 * np.sqrt(2 * 255)


def test_ids_are_spread_evenly_and_say_nothing_of_kind_or_order(held):
    _, records = held["same"]
    first = np.array([int(name[:8], 16) for name in records]) / 2**32
    sizes = np.array([len(content) for content in records.values()])
    assert abs(first.mean() - 0.5) < 0.06 and np.histogram(first, 8, (0, 1))[0].min() > 50
    small, large = first[sizes == sizes.min()], first[sizes > sizes.min()]
    assert abs(small.mean() - large.mean()) < 0.13


def test_rows_in_one_cell_share_nothing_in_the_store(tmp_path):
    """The control is the client, who knows that all of them are in one cell."""
    with sealed(tmp_path) as store:
        store.add(names(ROWS), ["the very same text"] * ROWS)
        lists = store._client.state.lists(
            [(0, cell) for cell in range(max(store._client.state.codebook().cells))]
        )
        assert max(len(each) for each in lists.values()) == ROWS
        held = list(contents(store.store).values())
        pieces = Counter(content[at : at + 12] for content in held for at in range(0, len(content) - 12, 12))
        assert max(pieces.values()) == 1


def test_no_cell_is_an_erased_rows_vector(tmp_path):
    texts = notes(ROWS)
    with sealed(tmp_path) as store:
        store.add(names(ROWS), texts, metadata(ROWS))
        state = store._client.state
        codebook = state.codebook()
        vectors = ENCODER.embed(texts)
        # Rows that are alone in their cell: its centroid is their vector.
        cells = codebook.assign(vectors)[:, 0]
        alone = [row for row in range(ROWS) if (cells == cells[row]).sum() == 1][:5]
        shared = [row for row in range(ROWS) if (cells == cells[row]).sum() > 2][:5]
        assert alone and near(codebook, vectors[alone]).min() > 0.999
        assert store.erase([names(ROWS)[row] for row in (*alone, *shared)]) is not None
        after = state.codebook()
        assert near(after, vectors[alone]).max() < 0.95
        kept = [row for row in range(ROWS) if row not in (*alone, *shared)]
        for row in shared:
            rest = [other for other in kept if cells[other] == cells[row]]
            mean = vectors[rest].mean(axis=0)
            assert near(after, mean[None])[0] > 0.99
        found = store.search([texts[row] for row in kept[::20]], 1)
        assert [each.hits[0].text for each in found] == [texts[row] for row in kept[::20]]


def test_erasing_takes_rows_that_were_deleted_before_out_of_the_cells(tmp_path):
    texts = notes(ROWS)
    vectors = ENCODER.embed(texts)
    with sealed(tmp_path) as store:
        store.add(names(ROWS), texts)
        state = store._client.state
        cells = state.codebook().assign(vectors)[:, 0]
        alone = [row for row in range(ROWS) if (cells == cells[row]).sum() == 1][:2]
        other = next(row for row in range(ROWS) if (cells == cells[row]).sum() > 2)
        assert alone
        store.delete([names(ROWS)[row] for row in alone[:1]])
        store.update([names(ROWS)[row] for row in alone[1:]], ["another text"] * len(alone[1:]))
        assert near(state.codebook(), vectors[alone]).min() > 0.999 and len(state.cells_left()) == len(alone)
        store.erase([names(ROWS)[other]])
        assert near(state.codebook(), vectors[alone]).max() < 0.95 and state.cells_left() == set()
        store.delete(names(ROWS)[:3])
        store.relearn()
        assert state.cells_left() == set()


def near(codebook, vectors):
    """The cosine of each vector with the centroid nearest to it."""
    centroids = codebook.centroids[0]
    unit = centroids / np.maximum(np.linalg.norm(centroids, axis=1, keepdims=True), 1e-9)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) @ unit.T).max(axis=1)
