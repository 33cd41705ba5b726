"""An encoder that embeds every distinct text once, however many attacks ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import Embedder, OnBatch
from sfumato.embedders.texts import checked_texts

MOST = 200_000
"""Texts that are kept, 300 MB at 384 dimensions; later ones are embedded whenever they are asked for."""


class RememberingEmbedder:
    """Keeps what it has embedded in memory for as long as the audit runs."""

    def __init__(self, embedder: Embedder, on_batch: OnBatch | None = None) -> None:
        self.embedder, self.on_batch = embedder, on_batch
        self.name, self.model_id, self.dim = embedder.name, embedder.model_id, embedder.dim
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` vectors in the order of the texts."""
        found = checked_texts(texts)
        new = [text for text in dict.fromkeys(found) if text not in self._known]
        fresh: dict[str, NDArray[np.float32]] = {}
        if new:
            fresh.update(zip(new, self.embedder.embed(new, on_batch=self._told(on_batch)), strict=True))
            self._known.update(islice(fresh.items(), max(0, MOST - len(self._known))))
        if not found:
            return np.empty((0, self.dim), np.float32)
        return np.stack([fresh[text] if text in fresh else self._known[text] for text in found])

    def __len__(self) -> int:
        """How many different texts are kept."""
        return len(self._known)

    def _told(self, on_batch: OnBatch | None) -> OnBatch:
        def tell(count: int) -> None:
            for listener in (self.on_batch, on_batch):
                if listener is not None:
                    listener(count)

        return tell
