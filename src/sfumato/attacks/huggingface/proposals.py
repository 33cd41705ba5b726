"""A language model that proposes how texts go on: many beginnings side by side, one piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sfumato.attacks.huggingface.pieces import Pieces, padded
from sfumato.devices import autocast
from sfumato.types import Floats, Rows

_SCORED = 64
"""Texts whose likelihood is taken at a time."""
_LONGEST = 512
_ANY = "Sentence:"


class Proposer:
    """Any causal language model, asked for the next piece and for how likely a text is.

    Args:
        model: a Hugging Face causal model, in eval mode on its device.
        pieces: its tokenizer.
        start: the piece that comes before every text.
    """

    def __init__(self, model: Any, pieces: Pieces, start: int) -> None:
        self.model, self.pieces, self.start = model, pieces, start

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        found: torch.device = self.model.device
        return found

    def begin(self, prompt: str) -> Continuations:
        """Texts that stand behind a prompt; at first there is one, with nothing in it."""
        return Continuations(self, self.before(prompt))

    def before(self, prompt: str) -> list[int]:
        """The pieces of a prompt, after the start."""
        return [self.start, *self.pieces.rows([prompt], _LONGEST)[0][:-1]]

    def forward(self, tokens: torch.Tensor, past: Any = None) -> Any:
        """The model's outputs for `(n, length)` pieces, with all that it remembers."""
        with torch.no_grad(), autocast(self.device):
            return self.model(input_ids=tokens.to(self.device), past_key_values=past, use_cache=True)

    def likelihoods(self, texts: Sequence[str]) -> Floats:
        """`(n,)` log probability of each text, behind words that only say that a sentence comes."""
        before = self.before(_ANY)
        rows = [row[:-1] for row in self.pieces.rows([f" {text}" for text in texts], _LONGEST)]
        parts = []
        for first in range(0, len(rows), _SCORED):
            part = rows[first : first + _SCORED]
            tokens = padded([[*before, *row] for row in part], self.pieces.end).to(self.device)
            with torch.no_grad(), autocast(self.device):
                logs = self.model(input_ids=tokens[:, :-1], use_cache=False).logits[:, len(before) - 1 :]
            gains = logs.float().log_softmax(-1).gather(2, tokens[:, len(before) :, None])[:, :, 0]
            sizes = torch.tensor([len(row) for row in part], device=self.device)
            inside = torch.arange(gains.shape[1], device=self.device) < sizes[:, None]
            parts.append((gains * inside).sum(1).double().cpu().numpy())
        return np.concatenate(parts) if parts else np.zeros(0)


class Continuations:
    """Beginnings of texts behind one prompt, and what the model would write next."""

    def __init__(self, proposer: Proposer, prompt: list[int]) -> None:
        self._proposer = proposer
        self.rows: list[list[int]] = [[]]
        """The pieces of each text, without the prompt."""
        self._out = proposer.forward(torch.tensor([prompt]))

    @property
    def next(self) -> Floats:
        """`(n, pieces)` log probability of every piece that may come next."""
        logs = self._out.logits[:, -1].float().log_softmax(-1)
        return np.asarray(logs.double().cpu().numpy())

    def written(self, parents: Rows, pieces: Rows) -> list[str]:
        """The texts at `parents` with one more piece each."""
        rows = [[*self.rows[at], int(piece)] for at, piece in zip(parents, pieces, strict=True)]
        return self._proposer.pieces.decode(rows)

    def go_on(self, parents: Rows, pieces: Rows) -> None:
        """Keep the text at each of `parents`, with one more piece each."""
        past = self._out.past_key_values
        past.reorder_cache(torch.as_tensor(np.asarray(parents), device=self._proposer.device))
        self.rows = [[*self.rows[at], int(piece)] for at, piece in zip(parents, pieces, strict=True)]
        self._out = self._proposer.forward(torch.tensor(np.asarray(pieces)[:, None]), past)
