"""Memory that is used again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Workspace:
    """Buffers that one worker uses again for every block: fresh memory costs more than the arithmetic."""

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[Any]] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        """Return an uninitialised array; taking the same name again gives the same memory."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)
