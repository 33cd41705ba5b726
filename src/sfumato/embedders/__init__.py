"""Embedders: texts in, one vector a text out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.embedders.base import Embedder, OnBatch
    from sfumato.embedders.cache import CachedEmbedder
    from sfumato.embedders.endpoint import EndpointError
    from sfumato.embedders.fake import Fake
    from sfumato.embedders.loader import EMBEDDERS, load_embedder
    from sfumato.embedders.openai import OpenAIEndpoint
    from sfumato.embedders.vectors import VectorFile
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "base": "Embedder OnBatch",
            "cache": "CachedEmbedder",
            "endpoint": "EndpointError",
            "fake": "Fake",
            "loader": "EMBEDDERS load_embedder",
            "openai": "OpenAIEndpoint",
            "vectors": "VectorFile",
        },
    )

__all__ = [
    "EMBEDDERS",
    "CachedEmbedder",
    "Embedder",
    "EndpointError",
    "Fake",
    "OnBatch",
    "OpenAIEndpoint",
    "VectorFile",
    "load_embedder",
]
