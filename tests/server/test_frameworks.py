"""LangChain and LlamaIndex search through the gateway by changing one address.

They are imported where they are used: all workers read this file, and one of them runs it.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.offline import loopback_only
from tests.server.running import gateway, save_fake

NOTES = [
    f"{who} {what}" for who in ("the baker", "my aunt", "a clerk") for what in ("sings", "skis", "reads")
]


@pytest.fixture(scope="module", autouse=True)
def offline():
    with loopback_only() as tried:
        yield
    assert not tried


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frameworks")
    protector = save_fake(folder / "plain", ratio=0.05)
    with gateway(folder / "gateway", protector) as found:
        found.expected = found.python_path(protector).embed(NOTES)
        yield found


def test_langchain_retrieves(running):
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_openai import OpenAIEmbeddings

    embeddings = OpenAIEmbeddings(
        base_url=f"{running.url}/v1",
        api_key="unused",
        model="any",
        check_embedding_ctx_length=False,  # else it sends tokens of another encoder
    )
    assert np.array(embeddings.embed_documents(NOTES), np.float32).tobytes() == running.expected.tobytes()
    store = InMemoryVectorStore(embeddings)
    store.add_texts(NOTES, ids=[str(row) for row in range(len(NOTES))])
    assert [store.similarity_search(note, k=1)[0].page_content for note in NOTES] == NOTES


def test_llama_index_retrieves(running):
    from llama_index.core import Settings, VectorStoreIndex
    from llama_index.core.schema import TextNode
    from llama_index.embeddings.openai import OpenAIEmbedding

    embedding = OpenAIEmbedding(
        api_base=f"{running.url}/v1", api_key="unused", model_name="any", embed_batch_size=100
    )
    got = np.array(embedding.get_text_embedding_batch(NOTES), np.float32)
    assert got.tobytes() == running.expected.tobytes()
    Settings.llm = None
    nodes = [TextNode(text=note, id_=str(row)) for row, note in enumerate(NOTES)]
    found = VectorStoreIndex(nodes, embed_model=embedding).as_retriever(similarity_top_k=1)
    assert [found.retrieve(note)[0].text for note in NOTES] == NOTES
