"""Vectors that somebody else made: served from a file, never embedded here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato import inputs
from sfumato.embedders.base import OnBatch
from sfumato.embedders.digests import file_digest
from sfumato.errors import InputError
from sfumato.files import PathLike


class VectorFile:
    """The vectors of a .npy or .parquet file, in its order and at the length they have there.

    Args:
        path: The file.
        model_id: The model that made the vectors, with its revision; the file's own SHA-256 when None.
    """

    def __init__(self, path: PathLike, *, model_id: str | None = None) -> None:
        self.path = Path(path)
        self.name = str(path)
        first = next(inputs.read(self.path, batch=1, need="embedding", columns=())).vectors
        assert first is not None
        self.dim = int(first.shape[1])
        self.model_id = model_id or f"vectors@sha256:{file_digest(self.path)}"

    def __len__(self) -> int:
        return inputs.count(self.path) or 0

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NoReturn:
        """Refuse: a file of vectors cannot embed anything."""
        raise InputError(
            f"`{self.path}` holds ready-made vectors and cannot embed texts. Name the model that made them."
        )

    def batches(self, *, batch: int = 1024, start: int = 0) -> Iterator[NDArray[np.float32]]:
        """Yield the rows from `start` on, a batch at a time."""
        for rows in inputs.read(self.path, batch=batch, start=start, need="embedding", columns=()):
            assert rows.vectors is not None
            yield rows.vectors.astype(np.float32)

    def rows(self) -> NDArray[np.float32]:
        """Return all rows at once."""
        return np.concatenate(list(self.batches()))
