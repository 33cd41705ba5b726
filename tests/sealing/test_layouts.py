"""Where records stand in a store that ranks: rows first, whatever is asked, and no two far groups."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import ArtifactError
from sfumato.randomness import generator
from sfumato.sealing.records import LAYOUT, NEWEST_LAYOUT, Layout
from sfumato.stores import Memory
from sfumato.stores.distances import distances
from tests.sealing.collections import names, notes, sealed

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")

IDS = [f"id {row}" for row in range(2000)]
FOUND_WHILE_BUILDING = 64
"""Neighbours that a graph chooses a new record's links from; pgvector's default, the fewest of all."""


@pytest.mark.parametrize("version", [1, NEWEST_LAYOUT])
@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
@pytest.mark.parametrize("dim", [2, 3, 64])
def test_no_other_record_is_as_near_to_a_query_as_any_row(version, metric, dim):
    layout = Layout(dim, version)
    asked = generator(1).standard_normal((300, dim)).astype(np.float32)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    # The rows opposite to queries are the farthest; with few dimensions others stand right behind queries.
    queries, rows, others = (
        layout.rows(asked),
        layout.rows(np.concatenate([asked, -asked])),
        layout.others(IDS),
    )
    for made in (queries, others):
        assert made.shape[1] == dim + 1 and made.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)
    assert distances(queries, rows, metric).max() + 0.005 < distances(queries, others, metric).min()


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_rows_are_ranked_by_their_cosines(metric):
    made = generator(2).standard_normal((200, 24)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    rows = Layout(24).rows(made)
    order = distances(rows[:20], rows, metric).argsort(axis=1)
    assert (order[:, :50] == (-made[:20].astype(np.float64) @ made.T).argsort(axis=1)[:, :50]).all()


def test_where_another_record_stands_is_a_function_of_its_id_alone():
    for dim in (2, 64):
        layout = Layout(dim)
        many = layout.others(IDS)
        assert (layout.others(IDS[700:703]) == many[700:703]).all()
        assert len(np.unique(many, axis=0)) == len(IDS)
        assert np.abs(many[:, :-1].mean(axis=0)).max() < 0.1 and np.ptp(many[:, -1]) < 1e-6


@pytest.mark.parametrize(("version", "share"), [(1, 0.0), (NEWEST_LAYOUT, 1.0)])
@pytest.mark.parametrize("dim", [16, 64])
def test_a_graph_has_ways_from_other_records_to_rows(version, share, dim):
    """A graph over two far groups has none, so a search that begins in the one finds nothing of the other."""
    layout = Layout(dim, version)
    shown = np.sign(generator(3).standard_normal((2000, dim))).astype(np.float32) / np.sqrt(dim)
    records = np.concatenate([layout.rows(shown), layout.others(IDS)])
    near = distances(records[2000:], records, "cosine").argsort(axis=1)[:, 1 : FOUND_WHILE_BUILDING + 1]
    assert (near < 2000).any(axis=1).mean() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("handle", ["codes", "noise"])
def test_a_collection_of_before_goes_on_and_is_laid_out_anew_when_it_is_learned_anew(handle, tmp_path):
    ids, texts = names(120), notes(120)
    place = tmp_path / "rows"

    def axis_of(store):
        rows = [each for part in store._client.state.walk(500) for each in part]
        found = store.store.get([store._client.handle.records(each)[0] for each in rows])
        (axis,) = np.unique(np.round(found.vectors[:, -1], 4))
        return axis

    with sealed(tmp_path, Memory(place), handle=handle) as store:
        state = store._client.state
        with state.file.changing():
            state.change(options={k: v for k, v in state.settings.options.items() if k != LAYOUT})
        store.add(ids[:80], texts[:80])
    with sealed(tmp_path, Memory(place), buffer=1000) as store:
        store.add(ids[80:], texts[80:])
        assert axis_of(store) == pytest.approx(np.sqrt(0.5), abs=1e-3)
        for row in (3, 79, 80, 119):
            result = store.search(texts[row], 5)
            assert result.complete and result.hits[0].id == ids[row]
        store.relearn()
        # While the new records wait, and when they have come.
        assert store.waiting and store.search(texts[3], 1).hits[0].id == ids[3]
        store.flush()
        assert store.settings.options[LAYOUT] == NEWEST_LAYOUT
        assert axis_of(store) == pytest.approx(np.cos(np.radians(20)), abs=1e-3)
        result = store.search(texts[3], 5)
        assert result.complete and result.hits[0].id == ids[3]


def test_a_layout_of_a_later_version_is_refused(tmp_path):
    with sealed(tmp_path, Memory(tmp_path / "rows"), handle="codes") as store:
        store.add(names(5), notes(5))
        state = store._client.state
        with state.file.changing():
            state.change(options={**state.settings.options, LAYOUT: NEWEST_LAYOUT + 1})
    with pytest.raises(ArtifactError, match="later version"):
        sealed(tmp_path, Memory(tmp_path / "rows"))
