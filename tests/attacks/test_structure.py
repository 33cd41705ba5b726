"""The attack on tags alone, on a planted graph: topics are named where tags are cells, and not where they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.known_texts.structure import Structure, StructureReader, as_graph, bipartite, spectrum
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator

ROWS, CELLS, TABLES = 1500, 60, 4


def planted(seed=0):
    """Two disjoint draws of rows under uneven topics, and the topic of each."""
    rng = generator(seed)
    centres = rng.standard_normal((8, 12))
    shares = np.array([30, 22, 16, 12, 8, 6, 4, 2]) / 100
    widths = np.linspace(0.15, 0.7, 8)
    topics = rng.choice(8, 2 * ROWS, p=shares)
    rows = unit_rows(centres[topics] + widths[topics, None] * rng.standard_normal((2 * ROWS, 12)))
    return (rows[:ROWS], topics[:ROWS]), (rows[ROWS:], topics[ROWS:])


def tagged(rows, seed):
    """Every row under the nearest of some centres in each table: a codebook that nobody else has."""
    rng = generator(seed)
    tables = [rows[rng.permutation(len(rows))[:CELLS]] for _ in range(TABLES)]
    return bipartite(np.stack([(rows @ table.T).argmax(axis=1) for table in tables], axis=1)).toarray()


def named(made, incidence, public_topics):
    return public_topics[made.recover(incidence).details["index"]]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_shared_tags_name_topics_and_drawn_ones_do_not(seed):
    (stolen, truth), (public, topics) = planted(seed)
    texts = [f"public text {row}" for row in range(ROWS)]
    made = Structure().fit(texts, tagged(public, 11))
    assert made.control is not None and made.control.metric == "top-1" and made.control.value > 0.9
    prior = np.bincount(truth).max() / ROWS
    incidence = tagged(stolen, 12)
    assert (named(made, incidence, topics) == truth).mean() > prior + 0.35
    rng = generator(seed)
    drawn = bipartite(rng.integers(CELLS, size=(ROWS, TABLES))).toarray()
    assert (named(made, drawn, topics) == truth).mean() < prior + 0.1
    # The names of rows and tags say nothing: shuffled, the same rows are named.
    rows, tags = rng.permutation(ROWS), rng.permutation(incidence.shape[1])
    shuffled = named(made, incidence[rows][:, tags], topics)
    assert (shuffled == truth[rows]).mean() > prior + 0.35


def test_same_seed_same_result_also_after_saving(tmp_path):
    (stolen, _), (public, _) = planted()
    texts, incidence = [f"public text {row}" for row in range(ROWS)], tagged(stolen, 12)
    made = Structure(seed=3).fit(texts, tagged(public, 11))
    first = made.recover(incidence)
    assert Structure(seed=3).fit(texts, tagged(public, 11)).recover(incidence).rows == first.rows
    made.save(tmp_path / "kept")
    again = StructureReader.load(tmp_path / "kept")
    assert type(again) is StructureReader and again.control == made.control
    found = again.recover(incidence)
    assert found.rows == first.rows and np.array_equal(found.scores, first.scores)


def test_places_are_those_of_the_normalised_graph():
    incidence = tagged(planted()[0][0], 12)
    dense = incidence / np.sqrt(incidence.sum(axis=1, keepdims=True)) / np.sqrt(incidence.sum(axis=0))
    left, values, _ = np.linalg.svd(dense, full_matrices=False)
    wanted = unit_rows(left[:, 1:33] * values[1:33] ** 2)
    found = spectrum(as_graph(incidence))
    assert np.allclose(found @ found.T, wanted @ wanted.T, atol=1e-5)


def test_what_is_no_graph_is_refused():
    (stolen, _), _ = planted()
    texts = [f"public text {row}" for row in range(ROWS)]
    with pytest.raises(InputError, match="0 or more. Row"):
        Structure().fit(texts, stolen)
    incidence = tagged(stolen, 12)
    with pytest.raises(InputError, match="rows and tags"):
        Structure().fit(texts, incidence[:, :8] + 1)
    with pytest.raises(InputError, match="no mechanism"):
        Structure().fit(texts, incidence, Laplace(epsilon=1.0))
    with pytest.raises(InputError, match="one text a vector"):
        Structure().fit(texts[:-1], incidence)
