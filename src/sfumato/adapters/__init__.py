"""Adapters: protected embeddings where other frameworks expect an encoder of their own.

Each framework has its module, imported when it is asked for; `ADAPTERS` names them all.
"""

from sfumato.adapters.encoder import FunctionEmbedder
from sfumato.reference import Opened, Protected, ProtectorReference, open_protector
from sfumato.registry import Entry, Registry

Kept = ProtectorReference
"""What a reference was called up to version 0.2."""

_HERE = "sfumato.adapters"

ADAPTERS: Registry[object] = Registry(
    "adapter",
    [
        Entry(
            "langchain",
            f"{_HERE}.langchain:ProtectedEmbeddings",
            "LangChain embeddings",
            ("langchain_core",),
            "langchain",
        ),
        Entry(
            "llama-index",
            f"{_HERE}.llama_index:ProtectedEmbedding",
            "LlamaIndex embedding model, also a step of an ingestion pipeline",
            ("llama_index",),
            "llama-index",
        ),
        Entry(
            "haystack-text",
            f"{_HERE}.haystack:ProtectedTextEmbedder",
            "Haystack component for queries",
            ("haystack",),
            "haystack",
        ),
        Entry(
            "haystack-documents",
            f"{_HERE}.haystack:ProtectedDocumentEmbedder",
            "Haystack component for documents",
            ("haystack",),
            "haystack",
        ),
        Entry(
            "chroma",
            f"{_HERE}.chroma:ProtectedEmbeddingFunction",
            "Chroma embedding function, kept with its collection",
            ("chromadb",),
            "chroma",
        ),
        Entry(
            "sentence-transformers",
            f"{_HERE}.sentence_transformers:Protect",
            "last module of a SentenceTransformer",
            ("torch", "sentence_transformers"),
            "learn",
        ),
        Entry(
            "sklearn-vectors",
            f"{_HERE}.sklearn:ProtectVectors",
            "scikit-learn transformer of vectors",
            ("sklearn",),
            "sklearn",
        ),
        Entry(
            "sklearn-texts",
            f"{_HERE}.sklearn:ProtectTexts",
            "scikit-learn transformer of texts",
            ("sklearn",),
            "sklearn",
        ),
    ],
)

__all__ = [
    "ADAPTERS",
    "FunctionEmbedder",
    "Kept",
    "Opened",
    "Protected",
    "ProtectorReference",
    "open_protector",
]
