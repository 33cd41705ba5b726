"""The files every command reads: texts, labelled spans and vectors, streamed in batches of rows."""

from sfumato.inputs.base import Batch, Need
from sfumato.inputs.reading import count, read, read_terms, read_texts

__all__ = ["Batch", "Need", "count", "read", "read_terms", "read_texts"]
