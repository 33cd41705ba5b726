"""What every embedder is: texts in, one vector a text out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

OnBatch = Callable[[int], object]
"""Called with how many texts were just embedded, to move a progress bar."""


class Embedder(Protocol):
    """Turns texts into vectors; the same text gives the same vector whatever is embedded beside it.

    One that knows its own normalisation says by `seen(texts)` what it sees of each text (`embedders.seen`).
    One that takes soft texts (`concepts.texts.soft`) says so by `soft = True`.
    """

    name: str
    """The registered name, or the model's path or hub name."""
    model_id: str
    """Names the weights, revision, pooling and prompt exactly: sticky noise depends on it."""
    dim: int

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` vectors in the order of the texts."""


def takes_soft(encoder: Any) -> bool:
    """Whether `encoder`, or the one inside it that does the work, knows soft texts."""
    while not hasattr(encoder, "soft") and hasattr(encoder, "embedder"):
        encoder = encoder.embedder
    return bool(getattr(encoder, "soft", False))
