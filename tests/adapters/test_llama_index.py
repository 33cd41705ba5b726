"""LlamaIndex: an index, an ingestion pipeline and its cache."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.records import make_records
from sfumato.saving import save_protector

TEXTS = list(dict.fromkeys(record.text for record in make_records(40, seed=4)))


def protector(ratio=0.3):
    return Protector(Laplace.from_noise_ratio(ratio, dim=128), embedder=Fake(dim=128))


def embedding(protected=None, **options):
    from sfumato.adapters.llama_index import ProtectedEmbedding

    return ProtectedEmbedding(protected or protector(), **options)


def nodes():
    from llama_index.core.schema import TextNode

    return [TextNode(text=text, id_=f"row-{row}") for row, text in enumerate(TEXTS)]


def test_an_index_finds_what_it_was_given():
    from llama_index.core import VectorStoreIndex

    index = VectorStoreIndex(nodes(), embed_model=embedding())
    retriever = index.as_retriever(similarity_top_k=1)
    found = [retriever.retrieve(text)[0].text for text in TEXTS]
    assert np.mean([one == other for one, other in zip(found, TEXTS, strict=True)]) > 0.9


def test_a_pipelines_cache_tells_protectors_apart():
    from llama_index.core.ingestion import IngestionCache, IngestionPipeline

    cache = IngestionCache()
    weak, strong = protector(0.3), protector(3.0)

    def run(protected):
        pipeline = IngestionPipeline(transformations=[embedding(protected)], cache=cache)
        return np.array([node.embedding for node in pipeline.run(nodes=nodes())])

    clean = Fake(dim=128).embed(TEXTS)
    first, other = run(weak), run(strong)
    assert np.array_equal(first, run(weak))  # from the cache
    assert np.vecdot(first, clean).mean() > 0.9 > 0.6 > np.vecdot(other, clean).mean()


def test_async_is_the_same():
    made = embedding()

    async def both():
        return await made.aget_text_embedding_batch(TEXTS), await made.aget_query_embedding("one")

    documents, query = asyncio.run(both())
    assert len(documents) == len(TEXTS) and len(query) == 128


def test_a_cache_of_vectors_by_text_is_refused():
    from llama_index.core.storage.kvstore import SimpleKVStore

    with pytest.raises(InputError, match="unprotected"):
        embedding(embeddings_cache=SimpleKVStore())


def test_settings_pass_and_events_say_nothing_of_the_protector(tmp_path):
    save_protector(protector(), tmp_path / "protector")
    made = embedding(tmp_path / "protector", embed_batch_size=7, num_workers=2)
    again = type(made).from_json(made.to_json())
    assert (again.embed_batch_size, again.num_workers) == (7, 2)
    assert again.kept == made.kept and json.loads(made.to_json())["kept"]["folder"]
    assert "protector" not in json.dumps(made.to_payload())
    assert made.model_name == "sfumato fake:128"
