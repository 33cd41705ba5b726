"""Contextual token vectors of the packaged MiniLM: what it knows of each word where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import OnBatch
from sfumato.embedders.digests import require_published
from sfumato.embedders.minilm import PACKAGE, PUBLISHED, model_folder
from sfumato.types import Vectors

_BATCH, _LONGEST, _OVERLAP = 32, 256, 32
LAYERS = (4, 5, 6)
"""The hidden states that are averaged: chosen on one planted problem, measured on another."""


class TokenVectors(NamedTuple):
    """The tokens of one text: where they stand, and their vectors."""

    bounds: NDArray[np.int64]
    """`[tokens, 2]` start and end in characters."""
    vectors: Vectors


class MiniLMTokens:
    """Gives the tokens of texts with vectors that depend on what stands around them."""

    def __init__(self, *, device: str | None = None, layers: Sequence[int] = LAYERS) -> None:
        from sfumato.embedders.sentence_transformer import load_model

        folder = model_folder()
        require_published(folder, PUBLISHED, PACKAGE)
        loaded = load_model(folder, device).eval()
        self._model, self._tokenizer = loaded[0].auto_model, loaded.tokenizer
        self._layers = tuple(layers)

    def read(self, texts: Sequence[str], on_batch: OnBatch | None = None) -> Iterator[TokenVectors]:
        """Yield the tokens of each text in order; a long text is read in windows that overlap."""
        for start in range(0, len(texts), _BATCH):
            part = list(texts[start : start + _BATCH])
            yield from self._batch(part)
            if on_batch is not None:
                on_batch(len(part))

    def _batch(self, texts: list[str]) -> Iterator[TokenVectors]:
        read = self._tokenizer(
            texts, truncation=True, max_length=_LONGEST, stride=_OVERLAP, return_overflowing_tokens=True,
            return_offsets_mapping=True, padding=True, return_tensors="pt",
        )  # fmt: skip
        owner = read["overflow_to_sample_mapping"].numpy()
        bounds, mask = read["offset_mapping"].numpy(), read["attention_mask"].numpy() != 0
        vectors = np.concatenate([self._hidden(read, first) for first in range(0, len(owner), _BATCH)])
        for text in range(len(texts)):
            yield _joined(
                [(bounds[row][mask[row]], vectors[row][mask[row]]) for row in np.flatnonzero(owner == text)]
            )

    def _hidden(self, read: Any, first: int) -> Vectors:
        import torch

        names = ("input_ids", "attention_mask", "token_type_ids")
        given = {
            name: read[name][first : first + _BATCH].to(self._model.device) for name in names if name in read
        }
        with torch.inference_mode():
            states = self._model(**given, output_hidden_states=True).hidden_states
            mean = torch.stack([states[layer] for layer in self._layers]).mean(dim=0)
        found: Vectors = mean.float().cpu().numpy()
        return found


def _joined(windows: list[tuple[NDArray[np.int64], Vectors]]) -> TokenVectors:
    """The tokens of a text's windows, each once, without those that mark beginning and end."""
    bounds, vectors, reached = [], [], 0
    for places, states in windows:
        kept = (places[:, 1] > places[:, 0]) & (places[:, 0] >= reached)
        bounds.append(places[kept])
        vectors.append(states[kept])
        reached = max(reached, int(places[:, 1].max(initial=0)))
    return TokenVectors(np.concatenate(bounds), np.concatenate(vectors))
