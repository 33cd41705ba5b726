"""Two clients of one collection: each finds what the other made and wrote after it was opened."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import SfumatoError
from sfumato.stores import open_store
from tests.contracts.store_cases import addresses

ROWS = np.eye(4, dtype=np.float32)


@pytest.mark.parametrize(
    "case", ["pgvector", "lancedb", "chroma", "chroma-server", "sqlite", "milvus", "redis", "elasticsearch"]
)
def test_a_client_that_came_first_finds_what_another_made(case, tmp_path):
    with addresses(case, tmp_path) as address:
        url = address.format(name="notes", options="")
        with open_store(url) as first, open_store(url) as second:
            assert len(first) == len(second) == 0 and first.get(["a"]).ids == []
            second.add(["a"], ROWS[:1], [{"n": 1}])
            assert len(first) == 1 and first.dim == 4
            assert first.get(["a"]).metadata == [{"n": 1}]
            first.add(["b"], ROWS[1:2], [{"n": 2}])
            second.add(["c"], ROWS[2:3], [{"n": 3}])
            assert first.get(["c", "a"]).ids == ["c", "a"] and second.get(["b"]).ids == ["b"]
            assert [hit.id for hit in first.search(ROWS[2:3], 1)[0]] == ["c"]
            second.delete(["a"])
            assert first.get(["a", "b"]).ids == ["b"] and len(first) == 2


@pytest.mark.parametrize("case", ["pgvector", "lancedb", "chroma", "sqlite", "milvus", "redis", "opensearch"])
def test_a_first_row_of_another_dimension_than_the_others_is_refused(case, tmp_path):
    with addresses(case, tmp_path) as address:
        url = address.format(name="notes", options="")
        with open_store(url) as first, open_store(url) as second:
            second.add(["a"], ROWS[:1])
            with pytest.raises(SfumatoError, match="dimension"):
                first.add(["b"], np.ones((1, 3), np.float32))
            assert len(first) == 1
