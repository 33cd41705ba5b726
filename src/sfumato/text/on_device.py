"""Nearest word on a GPU: every cosine in float64, where that is as quick as float32 on a processor."""

from __future__ import annotations

import numpy as np

from sfumato.devices import chosen_device
from sfumato.text.prefixes import Ids
from sfumato.types import FloatArray, Vectors

_NUMBERS = 1 << 27
"""Cosines held at a time: a gigabyte."""


class OnDevice:
    """The true nearest word by a plain product in float64, on a GPU where there is one.

    Args:
        vectors: `[V, d]` unit vectors of the words.
        device: as torch names it; a GPU where there is one, if left out.
    """

    def __init__(self, vectors: Vectors, device: str | None = None) -> None:
        import torch

        self.device = chosen_device(device)
        self._words = torch.from_numpy(np.array(vectors, np.float64)).to(self.device)

    def nearest(self, released: FloatArray, *, threads: int | None = None, hints: Ids | None = None) -> Ids:
        """Return `[n]` word numbers, the first of equal ones; threads and hints change nothing."""
        import torch

        rows = np.asarray(released, np.float64)
        out = np.zeros(len(rows), np.int64)
        step = max(1, _NUMBERS // len(self._words))
        for low in range(0, len(rows), step):
            part = torch.from_numpy(np.ascontiguousarray(rows[low : low + step])).to(self.device)
            out[low : low + step] = (part @ self._words.T).argmax(dim=1).cpu().numpy()
        return out
