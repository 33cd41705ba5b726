"""Haystack: protected embedders for queries and for documents, as components of a pipeline.

    pipeline.add_component("embedder", ProtectedDocumentEmbedder("places", with_text=False))

Importing this module lets Haystack load pipelines that name these two components.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from sfumato.adapters.packages import needs
from sfumato.errors import InputError
from sfumato.queries import Queries, checked_queries, embed_queries
from sfumato.reference import Protected, open_protector

with needs("haystack-ai", "haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.core.serialization import allow_deserialization_module

allow_deserialization_module(__name__)


@component
class ProtectedTextEmbedder:
    """Embeds one text, a query, with fresh noise every time, or by its own vector (`queries="clean"`)."""

    def __init__(self, protector: Protected, queries: Queries = "protected") -> None:
        self.queries = checked_queries(queries)
        self._opened = open_protector(protector)
        self.protector = self._opened.protector

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """Release the vector of a query."""
        asked = embed_queries(self.protector, [text], self.queries)
        return {"embedding": cast("list[float]", asked[0].tolist())}

    def to_dict(self) -> dict[str, Any]:
        """Write down where the protector is kept, and what searches are made by."""
        written = default_to_dict(self, protector=self._opened.config(), queries=self.queries)
        return cast("dict[str, Any]", written)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ProtectedTextEmbedder:
        """Make it again from what was written down."""
        return cast("ProtectedTextEmbedder", default_from_dict(cls, data))


@component
class ProtectedDocumentEmbedder:
    """Embeds documents and puts the protected vectors on copies of them.

    Args:
        protector: what protects.
        with_text: whether the documents that go on still hold their text and metadata; False for a hosted
            store, which then gets ids and vectors alone.
        meta_fields_to_embed: metadata that is embedded in front of the text.
        embedding_separator: what stands between them.
    """

    def __init__(
        self,
        protector: Protected,
        with_text: bool = True,
        meta_fields_to_embed: list[str] | None = None,
        embedding_separator: str = "\n",
    ) -> None:
        self._opened = open_protector(protector)
        self.protector = self._opened.protector
        self.with_text = with_text
        self.meta_fields_to_embed = meta_fields_to_embed or []
        self.embedding_separator = embedding_separator

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Release the vectors of documents: sticky where the protector has a secret."""
        if not isinstance(documents, list) or any(not isinstance(each, Document) for each in documents):
            raise InputError("`documents` must be a list of Haystack documents. Found something else.")
        texts = [self._text(document, row) for row, document in enumerate(documents)]
        if not self.with_text:
            _refuse_hashed_ids(documents)
        released = self.protector.embed(texts).tolist()
        pairs = zip(documents, released, strict=True)
        if self.with_text:
            return {"documents": [replace(document, embedding=vector) for document, vector in pairs]}
        return {"documents": [Document(id=document.id, embedding=vector) for document, vector in pairs]}

    def _text(self, document: Any, row: int) -> str:
        if not isinstance(document.content, str):
            raise InputError(f"Document {row} must have a text. Found none.")
        fields = [document.meta.get(name) for name in self.meta_fields_to_embed]
        parts = [*(str(value) for value in fields if value is not None), document.content]
        return self.embedding_separator.join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Write down where the protector is kept, and the settings."""
        settings = {
            "protector": self._opened.config(),
            "with_text": self.with_text,
            "meta_fields_to_embed": self.meta_fields_to_embed,
            "embedding_separator": self.embedding_separator,
        }
        return cast("dict[str, Any]", default_to_dict(self, **settings))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ProtectedDocumentEmbedder:
        """Make it again from what was written down."""
        return cast("ProtectedDocumentEmbedder", default_from_dict(cls, data))


def _refuse_hashed_ids(documents: list[Any]) -> None:
    """Haystack's own ids are a plain hash of the document: whoever guesses a text can check it."""
    for row, document in enumerate(documents):
        if document.id in (replace(document, id="").id, replace(document, id="", embedding=None).id):
            raise InputError(
                f"Document {row} must have an id of its own to go out without its text. "
                "Found one that Haystack computed from the text."
            )
