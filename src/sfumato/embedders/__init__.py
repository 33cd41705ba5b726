"""Embedders: texts in, one vector a text out."""

from sfumato.embedders.base import Embedder, OnBatch
from sfumato.embedders.cache import CachedEmbedder
from sfumato.embedders.endpoint import EndpointError
from sfumato.embedders.fake import Fake
from sfumato.embedders.loader import EMBEDDERS, load_embedder
from sfumato.embedders.openai import OpenAIEndpoint
from sfumato.embedders.vectors import VectorFile

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
