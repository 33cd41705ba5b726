"""Chroma: a protector as an embedding function, which Chroma keeps with the collection and opens again.

    collection = client.create_collection("notes", embedding_function=ProtectedEmbeddingFunction("places"))

Import this module before reopening such a collection. Chroma also stores the documents it is given: to keep
texts from a hosted one, add ids and embeddings only (docs/frameworks.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adapters.packages import needs
from sfumato.errors import InputError
from sfumato.queries import Queries, checked_queries, embed_queries
from sfumato.reference import Protected, open_protector

with needs("chromadb", "chroma"):
    from chromadb.api.types import Documents, EmbeddingFunction
    from chromadb.utils.embedding_functions import register_embedding_function


@register_embedding_function
class ProtectedEmbeddingFunction(EmbeddingFunction[Documents]):
    """Embeds documents and queries of a collection, protected by a protector that is kept in a folder.

    Args:
        protector: what protects, or where it is.
        queries: "clean" sends the own vectors of searches. It is never written down with the collection, nor
            read from there, because whoever runs the server could then ask for it: say it again on opening.
    """

    def __init__(self, protector: Protected, *, queries: Queries = "protected") -> None:
        self.queries = checked_queries(queries)
        opened = open_protector(protector)
        # Asked for now: Chroma takes an error later for a function without a configuration, and would open
        # the collection again with its own default function, which protects nothing.
        self._config = opened.config()
        self.protector = opened.protector

    def __call__(self, input: Any) -> list[NDArray[np.float32]]:
        """Release the vectors of documents: sticky where the protector has a secret."""
        return list(self.protector.embed(input))

    def embed_query(self, input: Any) -> list[NDArray[np.float32]]:
        """Release the vectors of queries, with fresh noise every time, or as `queries` says."""
        return list(embed_queries(self.protector, input, self.queries))

    @staticmethod
    def name() -> str:
        """The name by which a collection finds it again."""
        return "sfumato"

    def default_space(self) -> str:
        """Protected vectors are compared by cosine."""
        return "cosine"

    def get_config(self) -> dict[str, Any]:
        """Where the protector is kept; this is what Chroma stores."""
        return {"protector": dict(self._config)}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> ProtectedEmbeddingFunction:
        """Open the protector of a stored collection; another one in its folder is refused."""
        return ProtectedEmbeddingFunction(config["protector"])

    def validate_config_update(self, old_config: dict[str, Any], new_config: dict[str, Any]) -> None:
        """Refuse another protector for vectors that are there already."""
        if old_config["protector"]["digest"] != new_config["protector"]["digest"]:
            raise InputError(
                "A collection must keep the protector it was filled with. Found another one: "
                "fill a new collection."
            )
