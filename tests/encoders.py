"""The default encoder for tests of what is done with its vectors: every text is embedded once a process."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from sfumato.embedders.minilm import MiniLM
from sfumato.embedders.remembering import RememberingEmbedder


class _True:
    """The encoder as it is, whatever stands in its place meanwhile."""

    name, model_id, dim = MiniLM.name, MiniLM.model_id, MiniLM.dim
    embed = MiniLM.embed

    def __init__(self) -> None:
        self._model = MiniLM()._model


@functools.cache
def _once() -> RememberingEmbedder:
    return RememberingEmbedder(_True())


@contextlib.contextmanager
def remembered_minilm() -> Iterator[None]:
    """Whoever makes a MiniLM here gets the vectors it would compute, from memory where it did so before.

    A vector does not depend on the texts beside it (the contract of embedders holds it to that), so nothing
    else changes. For what the encoder itself promises, use the encoder.
    """
    once = _once()

    def made(self: MiniLM, *, device: str | None = None, threads: int | None = None) -> None:
        self._model = once.embedder._model

    def embed(self: MiniLM, texts: Sequence[str], *, on_batch: object = None) -> np.ndarray:
        return once.embed(texts, on_batch=on_batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MiniLM, "__init__", made)
        patch.setattr(MiniLM, "embed", embed)
        yield
