"""A protector in front of a store: only released vectors reach the store, never a text or a raw vector."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sfumato.errors import InputError
from sfumato.preparing import RowSpans
from sfumato.queries import Queries as Queries
from sfumato.queries import checked_queries, embed_queries, query_by
from sfumato.reference import Protected, open_protector
from sfumato.stores.base import Closable, Store
from sfumato.stores.metadata import refuse_sensitive
from sfumato.stores.provenance import PROVENANCE, provenance_of, without_provenance
from sfumato.stores.rows import Hit, Where, checked_ids, checked_metadata, checked_name, checked_vectors
from sfumato.types import Vectors

_LONG = 16


class ProtectedStore(Closable):
    """Puts a protector in front of a store.

    Args:
        store: where released vectors go.
        protector: what releases them, or where it is (`sfumato.reference`); with a secret the same text gives
            the same vector again.
        queries: "protected" releases searches with fresh noise, "clean" sends their own vectors, which finds
            more, shows the store what was searched for, and costs infinity on a ledger.
        keep_text: a metadata field to keep each text in; None, the default, keeps no text.
        allow_fields: metadata fields that are sent though a concept of the protector may stand in them.
    """

    def __init__(
        self,
        store: Store,
        protector: Protected,
        *,
        queries: Queries = "protected",
        keep_text: str | None = None,
        allow_fields: Collection[str] = (),
    ) -> None:
        self.store, self.queries = store, checked_queries(queries)
        self.protector = open_protector(protector).protector
        self.keep_text = None if keep_text is None else checked_name(keep_text)
        self.allow_fields = frozenset(checked_name(name) for name in allow_fields)

    def add(
        self,
        ids: Iterable[str],
        texts: Sequence[str] | None = None,
        *,
        vectors: Any = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
        spans: RowSpans | None = None,
    ) -> None:
        """Release texts, or vectors, and put them into the store in the place of rows with the same ids.

        Args:
            ids: one a row.
            texts: embedded by the protector, or, where vectors are given, the accounts the ledger charges.
            vectors: clean vectors of the rows.
            metadata: sent as it is; the row's text in it, or a concept of the protector, is refused.
            spans: labelled spans of the texts, for a concept defined by a label.
        """
        names = checked_ids(ids)
        rows = checked_metadata(metadata, len(names))
        if texts is None and vectors is None:
            raise InputError("Give texts or vectors to add. Found neither.")
        if texts is not None:
            self._refuse_texts(texts, rows, len(names))
        refuse_sensitive(self.protector, rows, self.allow_fields)
        if not names:
            return
        released = self._release(names, texts, vectors, spans)
        mark = {PROVENANCE: provenance_of(self.protector)}
        kept = [
            {} if self.keep_text is None or texts is None else {self.keep_text: text}
            for text in texts or names
        ]
        self.store.add(
            names, released, [fields | text | mark for fields, text in zip(rows, kept, strict=True)]
        )

    def _release(
        self, ids: list[str], texts: Sequence[str] | None, vectors: Any, spans: RowSpans | None
    ) -> Vectors:
        if vectors is None:
            return self.protector.embed(texts or [], spans=spans)
        array = checked_vectors(vectors, self.protector.dim)
        if len(array) != len(ids):
            raise InputError(f"There must be one vector an id. Found {len(array)} for {len(ids)} ids.")
        return self.protector.protect(array, texts=ids if texts is None else texts)

    def _refuse_texts(self, texts: Sequence[str], rows: list[dict[str, Any]], count: int) -> None:
        if isinstance(texts, str) or len(texts) != count:
            found = "a single text" if isinstance(texts, str) else f"{len(texts)} for {count} ids"
            raise InputError(f"There must be one text an id. Found {found}.")
        for row, (text, fields) in enumerate(zip(texts, rows, strict=True)):
            for name, value in fields.items():
                if _holds(value, text):
                    raise InputError(
                        f"Row {row} has its text in the metadata field `{name}`, which would be sent as it "
                        "is. Leave it out, or name a field in keep_text."
                    )

    def search(
        self,
        texts: Sequence[str] | None = None,
        k: int = 10,
        *,
        vectors: Any = None,
        where: Where | None = None,
    ) -> list[list[Hit]]:
        """Return the k nearest rows of each text, or each vector, the nearest first."""
        if (texts is None) == (vectors is None):
            raise InputError("Give texts or vectors to search by, and not both.")
        return self.nearest(self.query_vectors(texts, vectors=vectors), k, where)

    def nearest(self, released: Vectors, k: int, where: Where | None = None) -> list[list[Hit]]:
        """Return the k nearest rows of vectors that `query_vectors` gave, which are sent as they are."""
        found = self.store.search(released, k, where)
        return [
            [Hit(hit.id, hit.distance, without_provenance(hit.metadata)) for hit in hits] for hits in found
        ]

    def query_vectors(self, texts: Sequence[str] | None = None, *, vectors: Any = None) -> Vectors:
        """What the store is sent to search by: released with fresh noise, or as `queries` says."""
        if texts is not None:
            return embed_queries(self.protector, texts, self.queries)
        return query_by(self.protector, checked_vectors(vectors, self.protector.dim), self.queries)

    def delete(self, ids: Iterable[str]) -> None:
        """Take rows out of the store; ids that are not there are passed over."""
        self.store.delete(ids)

    def __len__(self) -> int:
        return len(self.store)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __repr__(self) -> str:
        """The parts, and nothing secret."""
        return f"ProtectedStore({self.store!r}, {self.protector!r}, queries={self.queries!r})"


def _holds(value: Any, text: Any) -> bool:
    """Whether a field is the text, or holds all of it; a text of a word or two may do so by chance."""
    if not isinstance(value, str) or not isinstance(text, str) or not text:
        return False
    return value == text or (len(text) >= _LONG and text in value)
