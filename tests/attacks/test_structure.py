"""The attack on tags alone, on planted graphs: topics are named by cells, not by tags drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.known_texts.structure import Structure, StructureReader, as_graph, bipartite, spectrum
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator

ROWS, CELLS, TABLES = 1500, 60, 10
TEXTS = [f"public text {row}" for row in range(ROWS)]


def planted(seed=0):
    """Two disjoint draws of rows under uneven topics, and the topic of each."""
    rng = generator(seed)
    centres = rng.standard_normal((8, 12))
    shares = np.array([30, 22, 16, 12, 8, 6, 4, 2]) / 100
    widths = np.linspace(0.5, 0.9, 8)
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


def test_shared_tags_name_topics_as_well_as_vectors_would():
    """On most graphs: a start that matches the wrong axes is not always told from the right one."""
    gaps, lifts, controls = [], [], []
    for seed in range(5):
        (stolen, truth), (public, topics) = planted(seed)
        made = Structure().fit(TEXTS, tagged(public, 11))
        assert made.control is not None and made.control.metric == "shares a tag"
        controls.append(made.control.value)
        found = (named(made, tagged(stolen, 12), topics) == truth).mean()
        optimum = (topics[(stolen @ public.T).argmax(axis=1)] == truth).mean()
        gaps.append(optimum - found)
        lifts.append(found - np.bincount(truth).max() / ROWS)
    assert np.median(gaps) < 0.05 and np.mean(lifts) > 0.35 and np.median(controls) > 0.35


def test_tags_that_are_drawn_name_nothing_and_names_of_tags_do_not_matter():
    (stolen, truth), (public, topics) = planted()
    made = Structure().fit(TEXTS, tagged(public, 11))
    prior, rng = np.bincount(truth).max() / ROWS, generator(0)
    drawn = bipartite(rng.integers(CELLS, size=(ROWS, TABLES))).toarray()
    assert (named(made, drawn, topics) == truth).mean() < prior + 0.1
    without = Structure().fit(TEXTS, drawn).control
    assert without is not None and without.value < 0.25
    incidence = tagged(stolen, 12)
    rows, tags = rng.permutation(ROWS), rng.permutation(incidence.shape[1])
    assert (named(made, incidence[rows][:, tags], topics) == truth[rows]).mean() > prior + 0.4


def test_same_seed_same_result_also_after_saving(tmp_path):
    (stolen, _), (public, _) = planted()
    incidence = tagged(stolen, 12)
    made = Structure(seed=3).fit(TEXTS, tagged(public, 11))
    first = made.recover(incidence)
    assert Structure(seed=3).fit(TEXTS, tagged(public, 11)).recover(incidence).rows == first.rows
    made.save(tmp_path / "kept")
    again = StructureReader.load(tmp_path / "kept")
    assert type(again) is StructureReader and again.control == made.control
    found = again.recover(incidence)
    assert found.rows == first.rows and np.allclose(found.scores, first.scores, atol=1e-6)


def test_places_are_those_of_the_normalised_graph():
    incidence = tagged(planted()[0][0], 12)
    dense = incidence / np.sqrt(incidence.sum(axis=1, keepdims=True)) / np.sqrt(incidence.sum(axis=0))
    left, values, _ = np.linalg.svd(dense, full_matrices=False)
    wanted = unit_rows(left[:, 1:33] * values[1:33] ** 2)
    found = spectrum(as_graph(incidence))
    assert np.allclose(found @ found.T, wanted @ wanted.T, atol=1e-5)


def test_what_is_no_graph_is_refused():
    (stolen, _), _ = planted()
    with pytest.raises(InputError, match="0 or more. Row"):
        Structure().fit(TEXTS, stolen)
    incidence = tagged(stolen, 12)
    with pytest.raises(InputError, match="rows and tags"):
        Structure().fit(TEXTS, incidence[:, :8] + 1)
    with pytest.raises(InputError, match="no mechanism"):
        Structure().fit(TEXTS, incidence, Laplace(epsilon=1.0))
    with pytest.raises(InputError, match="one text a vector"):
        Structure().fit(TEXTS[:-1], incidence)
