"""How far into a text an encoder reads, so that nobody searches what is never embedded."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

SPARE = 32
"""Tokens looked at beyond what is read: what replaces a term may be shorter, and what follows moves up."""
_WORD, _SPACE = re.compile(r"\S+"), re.compile(r"\s")


class Reach:
    """The start of a text that holds its first tokens, by the encoder's own tokenizer."""

    def __init__(self, tokenizer: Path, tokens: int) -> None:
        tokenizers: Any = importlib.import_module("tokenizers")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokens = tokens + SPARE

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Each text up to the word that holds its last token within reach; a shorter one as it is."""
        starts = [self._words(text) for text in texts]
        long = [row for row, start in enumerate(starts) if len(start) >= self._tokens]
        read = self._tokenizer.encode_batch([starts[row] for row in long], add_special_tokens=False)
        for row, tokens in zip(long, read, strict=True):
            if len(tokens.ids) > self._tokens:
                end = tokens.offsets[self._tokens - 1][1]
                space = _SPACE.search(starts[row], end)
                starts[row] = starts[row] if space is None else starts[row][: space.start()]
        return starts

    def _words(self, text: str) -> str:
        """As many words, and so at least as many tokens: a long text is not read to its end."""
        if len(text) < self._tokens:
            return text
        last = next(islice(_WORD.finditer(text), self._tokens - 1, None), None)
        return text if last is None else text[: last.end()]


def within_reach(encoder: Any, texts: Sequence[str]) -> list[str]:
    """Each text up to where an encoder that reads only the first tokens can get; whole where it reads on.

    What is cut away is in no vector, whatever is put in a term's place: all that is embedded is searched.
    """
    while not hasattr(encoder, "reach") and hasattr(encoder, "embedder"):
        encoder = encoder.embedder
    reach = getattr(encoder, "reach", None)
    return list(texts) if reach is None else reach(texts)
