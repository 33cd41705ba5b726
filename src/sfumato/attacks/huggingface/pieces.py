"""Texts to the pieces a Hugging Face model reads and writes, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sfumato.errors import ArtifactError


class Pieces:
    """A fast tokenizer's pieces, without templates, padding or truncation of its own.

    Args:
        backend: a `tokenizers.Tokenizer`.
        end: the piece that ends a text.
        pad: the piece that fills up rows; any one where the model has none.
    """

    def __init__(self, backend: Any, end: int, pad: int) -> None:
        self._backend = backend
        self._backend.no_padding()
        self._backend.no_truncation()
        self.end, self.pad = end, pad

    @classmethod
    def of(cls, tokenizer: Any) -> Pieces:
        """Those of a fast transformers tokenizer."""
        from tokenizers import Tokenizer

        if tokenizer.eos_token_id is None:
            raise ArtifactError(
                "The model's tokenizer must have an end-of-text token. Found none. Give it one."
            )
        end = int(tokenizer.eos_token_id)
        pad = end if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        return cls(Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()), end, pad)

    @classmethod
    def from_json(cls, text: str, end: int, pad: int) -> Pieces:
        """Read what `to_json` gave."""
        from tokenizers import Tokenizer

        return cls(Tokenizer.from_str(text), end, pad)

    def to_json(self) -> str:
        """The tokenizer, as text."""
        return str(self._backend.to_str())

    def rows(self, texts: Sequence[str], longest: int) -> list[list[int]]:
        """At most `longest` pieces of each text, and the end."""
        encoded = self._backend.encode_batch(list(texts), add_special_tokens=False)
        return [[*row.ids[:longest], self.end] for row in encoded]

    def decode(self, rows: Iterable[Iterable[int]]) -> list[str]:
        """The text of each row, up to its end."""
        cut = []
        for row in rows:
            numbers = [int(number) for number in row]
            stop = numbers.index(self.end) if self.end in numbers else len(numbers)
            cut.append([number for number in numbers[:stop] if number != self.pad])
        texts: list[str] = self._backend.decode_batch(cut, skip_special_tokens=True)
        return [text.strip() for text in texts]


def padded(rows: Sequence[Sequence[int]], fill: int) -> Any:
    """`(n, longest)` tensor of the rows, filled up on the right."""
    import torch

    width = max((len(row) for row in rows), default=0)
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], dtype=torch.long).reshape(
        len(rows), width
    )
