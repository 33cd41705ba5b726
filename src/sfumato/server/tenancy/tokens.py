"""Lists of tokens: counted for a client's bill, and decoded with the encoder's own tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from sfumato.embedders.base import Embedder

_LARGEST_TOKEN = 1 << 31


class Tokens:
    """A tokenizer of its own, so that it never meets the encoder's in another thread."""

    def __init__(self, description: str) -> None:
        tokenizers: Any = import_module("tokenizers")
        self._tokenizer = tokenizers.Tokenizer.from_str(description)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    @classmethod
    def of(cls, embedder: Embedder) -> Tokens | None:
        """The tokenizer of an encoder, if it has one in the form that is read here."""
        inner: Any = getattr(embedder, "embedder", embedder)
        # A sentence-transformers model keeps its tokenizer inside a steady one; others keep it themselves.
        steady = getattr(inner, "_model", None)
        loaded = getattr(getattr(steady, "_model", None), "tokenizer", None)
        backend = getattr(loaded, "backend_tokenizer", None) or getattr(inner, "_tokenizer", None)
        describe = getattr(backend, "to_str", None)
        return None if describe is None else cls(describe())

    def count(self, texts: Sequence[str]) -> int:
        """How many tokens the texts have."""
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return sum(len(each.ids) for each in found)

    def decode(self, tokens: Sequence[int]) -> str | None:
        """The text of these tokens; None unless that text gives these very tokens again.

        Tokens of another tokenizer would otherwise quietly become other words.
        """
        if not all(0 <= token < _LARGEST_TOKEN for token in tokens):
            return None
        known = [token for token in tokens if self._tokenizer.id_to_token(token) is not None]
        if len(known) != len(tokens):
            return None
        text = str(self._tokenizer.decode(known, skip_special_tokens=True))
        again = self._tokenizer.encode(text, add_special_tokens=False).ids
        whole = self._tokenizer.encode(text, add_special_tokens=True).ids
        return text if list(tokens) in (again, whole) else None
