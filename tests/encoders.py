"""A quick encoder in the default one's place, for tests of what is done with vectors, whoever made them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from sfumato.embedders import load_embedder
from sfumato.embedders.minilm import MiniLM


@contextlib.contextmanager
def stand_in_for_minilm() -> Iterator[None]:
    """Whoever makes a MiniLM here gets one by its name whose vectors are wordllama's, with zeros behind them.

    Loading the encoder and embedding some hundred texts with it take longer than all that is done with the
    vectors. For what the encoder itself promises, use the encoder.
    """
    quick = load_embedder("wordllama")

    def made(self: MiniLM, *, device: str | None = None, threads: int | None = None) -> None:
        pass

    def embed(self: MiniLM, texts: Sequence[str], *, on_batch: object = None) -> np.ndarray:
        rows = quick.embed(texts, on_batch=on_batch)
        return np.pad(rows, ((0, 0), (0, MiniLM.dim - quick.dim)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MiniLM, "__init__", made)
        patch.setattr(MiniLM, "embed", embed)
        yield
