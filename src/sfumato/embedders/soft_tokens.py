"""Soft tokens of a transformer: tokens of our own whose input embedding is the mean of several terms'."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.concepts.texts.soft import SoftText
from sfumato.embedders.softening import TermTokens, mean_embedding, soft_positions, spelled
from sfumato.errors import ParameterError

Tokens = dict[str, NDArray[np.int64]]
_STEP, _MOST = 64, 65536


class SoftTokens:
    """The soft tokens of one model, made when they are first asked for; they depend on their terms alone."""

    def __init__(self, model: Any, prompt: str | None) -> None:
        self._tokenizer, self._longest, self._prompt = model.tokenizer, model.max_seq_length, prompt or ""
        self._embeddings = model[0].auto_model.get_input_embeddings()
        self._first = int(self._embeddings.weight.shape[0])
        self._known: dict[TermTokens, int] = {}
        self._terms: list[TermTokens] = []
        self._asked: dict[tuple[str, ...], int] = {}
        self._lock = threading.Lock()

    @staticmethod
    def fit(model: Any) -> bool:
        """Whether a model reads tokens from a table of embeddings, and says where in a text they are."""
        inner: Any = getattr(model[0], "auto_model", None)
        table = inner.get_input_embeddings() if hasattr(inner, "get_input_embeddings") else None
        return isinstance(table, torch.nn.Embedding) and bool(getattr(model.tokenizer, "is_fast", False))

    def put(self, texts: Sequence[SoftText], rows: Sequence[Tokens]) -> list[Tokens]:
        """Put one soft token in each soft place of texts whose tokens are `rows`."""
        read = self._tokenizer(
            [self._prompt + text for text in texts],
            truncation=True,
            max_length=self._longest,
            return_offsets_mapping=True,
        )
        parts = zip(texts, rows, read["input_ids"], read["offset_mapping"], strict=True)
        return [self._row(text, row, ids, np.array(offsets)) for text, row, ids, offsets in parts]

    def seen(self, ids: NDArray[np.int64]) -> bytes:
        """The tokens of one text as bytes, whatever numbers its soft ones have here."""
        soft = ids >= self._first
        return spelled(ids, soft, (self._terms[number] for number in ids[soft] - self._first))

    def _row(self, text: SoftText, row: Tokens, ids: Sequence[int], offsets: NDArray[np.int64]) -> Tokens:
        if row["input_ids"].tolist() != list(ids):
            raise ParameterError("This encoder reads its texts in its own way, and takes no soft tokens.")
        kept, found = soft_positions(offsets - len(self._prompt), text.places)
        soft = row["input_ids"].copy()
        for position, place in found:
            soft[position] = self._token(place.terms)
        return {name: (soft if name == "input_ids" else values)[kept] for name, values in row.items()}

    def _token(self, terms: tuple[str, ...]) -> int:
        """The soft token of these terms."""
        if terms not in self._asked:
            self._asked[terms] = self._made(terms)
        return self._asked[terms]

    def _made(self, terms: tuple[str, ...]) -> int:
        read = self._tokenizer(
            list(terms), add_special_tokens=False, truncation=True, max_length=self._longest
        )["input_ids"]
        key = tuple(tuple(ids) for ids in read if len(ids))
        if not key:
            raise ParameterError("At least one term of a soft place must have tokens. Found none.")
        with self._lock:
            if key not in self._known:
                self._add(key)
            return self._first + self._known[key]

    def _add(self, terms: TermTokens) -> None:
        number = len(self._terms)
        if number == _MOST:
            raise ParameterError(f"An encoder may hold at most {_MOST:,} soft tokens. Load it again.")
        table = self._embeddings.weight.detach()
        if self._first + number == len(table):
            table = torch.cat([table, table.new_zeros(_STEP, table.shape[1])])
        mean = mean_embedding([table[list(ids)].cpu().numpy() for ids in terms])
        table[self._first + number] = torch.from_numpy(mean).to(table)
        # A forward pass that runs meanwhile keeps the table it began with, which has all of its tokens.
        self._embeddings.weight = torch.nn.Parameter(table, requires_grad=False)
        self._embeddings.num_embeddings = len(table)
        self._terms.append(terms)
        self._known[terms] = number
