"""LlamaIndex: a protector as an embedding model, which is also a step of an ingestion pipeline.

    index = VectorStoreIndex(nodes, embed_model=ProtectedEmbedding(protector="places"))

Nodes carry their text into the vector store: give a hosted one no texts (docs/frameworks.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from sfumato.adapters.packages import needs
from sfumato.errors import InputError
from sfumato.protector import Protector
from sfumato.queries import Queries, checked_queries, embed_queries
from sfumato.reference import Opened, Protected, identity, model_of, open_protector

with needs("llama-index-core", "llama-index"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import Field, PrivateAttr


class ProtectedEmbedding(BaseEmbedding):
    """Embeds texts and queries and releases their vectors protected; `queries` may be "clean"."""

    # Part of what LlamaIndex writes down and of the key of its ingestion cache, so it names the protector.
    kept: dict[str, Any] = Field(description="Where the protector is kept.")
    queries: str = Field(default="protected", description="What a search is made by: protected or clean.")
    _opened: Opened = PrivateAttr()

    def __init__(
        self, protector: Protected | None = None, *, queries: Queries = "protected", **options: Any
    ) -> None:
        if options.get("embeddings_cache") is not None:
            raise InputError(
                "embeddings_cache finds vectors by their text alone, so it may hold unprotected ones. "
                "Leave it out; sticky noise makes a second release free."
            )
        opened = open_protector(options.pop("kept", None) if protector is None else protector)
        found = {"digest": identity(opened.protector)} if opened.reference is None else opened.config()
        name = f"sfumato {model_of(opened.protector)}"
        super().__init__(
            **{"model_name": name, **options, "kept": found, "queries": checked_queries(queries)}
        )
        self._opened = opened

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex writes it down."""
        return "SfumatoProtectedEmbedding"

    @property
    def protector(self) -> Protector:
        """The protector behind it."""
        return self._opened.protector

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return cast("list[list[float]]", self.protector.embed(texts).tolist())

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._get_text_embeddings(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        asked = embed_queries(self.protector, [query], checked_queries(self.queries))
        return cast("list[float]", asked[0].tolist())

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Travel to a worker process as the place where the protector is kept."""
        self._opened.config()
        return type(self).from_dict, (self.to_dict(),)
