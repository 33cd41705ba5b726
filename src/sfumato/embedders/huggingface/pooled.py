"""A decoder language model as a sentence encoder: a mean of one layer's states over a text's tokens."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sfumato.types import Floats


class PooledDecoder:
    """The first layers of a decoder, with what `SteadyModel` asks of a sentence-transformers model.

    A token is put before each text. The first token of a decoder holds nothing of the text, at hundreds of
    times the length of the others: it is read and not counted, except where nothing follows. Of the others
    each weighs as much as its place, since a later one has seen more of the text (Muennighoff 2022, SGPT).

    Args:
        network: Gives the states of the layer that is averaged, as `last_hidden_state`.
        tokenizer: The model's own.
        first: The number of the token that is put before each text.
        longest: Tokens it reads of a text, that one included.
        spread: `[d]` numbers that the mean is divided by: a decoder has a few dimensions that drown the rest.
        device: Where it computes.
    """

    def __init__(
        self, network: Any, tokenizer: Any, *, first: int, longest: int, spread: Floats, device: str
    ) -> None:
        self._network, self.tokenizer = network.to(device), tokenizer
        self._first, self.max_seq_length = first, longest
        self._scale = torch.from_numpy((1 / spread).astype(np.float32)).to(device)
        self.device = torch.device(device)
        # A tokenizer that two threads use at once refuses one of them.
        self._tokenizing = threading.Lock()

    def eval(self) -> PooledDecoder:
        """Itself: it is never trained."""
        return self

    def __getitem__(self, place: int) -> PooledDecoder:
        """Itself, where a sentence-transformers model would give one of its modules."""
        return self

    def get_embedding_dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self._network.config.hidden_size)

    def preprocess(self, texts: Sequence[str], *, prompt: str | None = None) -> dict[str, torch.Tensor]:
        """Return the numbers of each text's tokens, filled up to the longest, and which of them count."""
        with self._tokenizing:
            read = self.tokenizer(
                [(prompt or "") + text for text in texts],
                add_special_tokens=False,
                truncation=True,
                max_length=self.max_seq_length - 1,
            )
        rows = [[self._first, *ids] for ids in read["input_ids"]]
        width = max(map(len, rows), default=1)
        filled = [row + [self.tokenizer.pad_token_id or 0] * (width - len(row)) for row in rows]
        counted = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        return {"input_ids": torch.tensor(filled), "attention_mask": torch.tensor(counted)}

    def __call__(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return `[n, d]` weighted means of the states, over their spread, as "sentence_embedding"."""
        mask = features["attention_mask"]
        states = self._network(
            input_ids=features["input_ids"], attention_mask=mask, use_cache=False
        ).last_hidden_state
        weights = mask * torch.arange(mask.shape[1], device=mask.device)
        alone = mask.sum(dim=1, keepdim=True) == 1
        weights = torch.cat([alone.to(weights.dtype), weights[:, 1:]], dim=1).to(states.dtype)
        total = (states * weights.unsqueeze(2)).sum(dim=1)
        return {"sentence_embedding": total / weights.sum(dim=1, keepdim=True) * self._scale}
