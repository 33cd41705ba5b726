"""The files every command reads: texts, labelled spans and vectors, streamed in batches of rows."""

from sfumato.inputs.base import Need, RowBatch
from sfumato.inputs.names import ColumnNames
from sfumato.inputs.reading import count, read, read_terms, read_texts

__all__ = ["ColumnNames", "RowBatch", "Need", "count", "read", "read_terms", "read_texts"]
