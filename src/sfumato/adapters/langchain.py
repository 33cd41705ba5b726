"""LangChain: a protector as `Embeddings`, for any vector store of LangChain.

    store = InMemoryVectorStore(ProtectedEmbeddings("places"))

A store keeps the texts it is given beside the vectors: give a hosted one no texts (docs/frameworks.md).
"""

from __future__ import annotations

from typing import cast

from sfumato.adapters.packages import needs
from sfumato.queries import Queries, checked_queries, embed_queries
from sfumato.reference import Protected, open_protector

with needs("langchain-core", "langchain"):
    from langchain_core.embeddings import Embeddings


class ProtectedEmbeddings(Embeddings):
    """Embeds documents and queries and releases their vectors protected; async comes with the base class.

    Args:
        protector: what protects, or where it is.
        queries: "clean" gives searches by their own vectors: see `sfumato.queries`.
    """

    def __init__(self, protector: Protected, *, queries: Queries = "protected") -> None:
        self.queries = checked_queries(queries)
        self.protector = open_protector(protector).protector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Release the vectors of documents: sticky where the protector has a secret."""
        return cast("list[list[float]]", self.protector.embed(texts).tolist())

    def embed_query(self, text: str) -> list[float]:
        """Release the vector of a query, with fresh noise every time, or as `queries` says."""
        return cast("list[float]", embed_queries(self.protector, [text], self.queries)[0].tolist())
