"""Universal Sentence Encoder Lite: a small transformer of another family, from a folder the user names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import OnBatch
from sfumato.embedders.texts import checked_texts, unit_rows
from sfumato.embedders.use_lite.files import DIGEST, model_folder, published_files
from sfumato.embedders.use_lite.network import UseLiteNetwork
from sfumato.embedders.use_lite.pieces import ScoredPieces
from sfumato.files import PathLike

_BATCH = 64


class UseLite:
    """English sentences: 512 dimensions, unit length; reads the first 128 pieces.

    Args:
        folder: The npm package's folder; the one in SFUMATO_USE_LITE when None.
    """

    dim = 512
    model_id = f"universal-sentence-encoder-lite@sha256:{DIGEST}"

    def __init__(self, folder: PathLike | None = None) -> None:
        found = published_files(model_folder(folder))
        self.name = "use-lite" if folder is None else f"use-lite:{folder}"
        self._pieces, self._network = ScoredPieces(found.vocabulary), UseLiteNetwork(found.weights)

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, 512)` unit vectors in the order of the texts."""
        found = checked_texts(texts)
        vectors = np.empty((len(found), self.dim), np.float32)
        for start in range(0, len(found), _BATCH):
            part = [self._network.vector(self._read(text)) for text in found[start : start + _BATCH]]
            vectors[start : start + len(part)] = unit_rows(np.stack(part), start)
            if on_batch is not None:
                on_batch(len(part))
        return vectors

    def seen(self, texts: Sequence[str]) -> list[bytes]:
        """Return the pieces it computes a vector from, for each text."""
        return [np.array(self._read(text), "<i4").tobytes() for text in checked_texts(texts)]

    def _read(self, text: str) -> list[int]:
        return self._pieces.read(text, self._network.longest)
