"""Another framework's encoder as an embedder of ours: to learn a protector for it, and protect it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.embedders.base import OnBatch
from sfumato.embedders.texts import checked_texts, unit_rows
from sfumato.errors import ParameterError, VectorError
from sfumato.numbers import whole_number

_BATCH = 64


class FunctionEmbedder:
    """Embeds with a function from texts to vectors, at unit length and in float32.

        FunctionEmbedder(OpenAIEmbeddings().embed_documents, model_id="text-embedding-3-small")

    Args:
        function: takes a list of texts and returns as many vectors.
        model_id: names the model and its revision exactly; sticky noise depends on it.
        dim: the dimension of the vectors; one text is embedded to find out when it is not given.
        batch: how many texts the function gets at a time.
    """

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        *,
        model_id: str,
        dim: int | None = None,
        batch: int = _BATCH,
    ) -> None:
        if not isinstance(model_id, str) or not model_id:
            raise ParameterError("`model_id` must name the model and its revision. Found no name.")
        self._function = function
        self._batch = whole_number(batch, "batch", 1, 1 << 20)
        self.model_id = f"function:{model_id}"
        self.name = self.model_id
        self.dim = (
            len(self._vectors(["dimension"], None)[0])
            if dim is None
            else whole_number(dim, "dim", 1, 1 << 16)
        )

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` unit vectors in the order of the texts."""
        found = checked_texts(texts)
        out = np.empty((len(found), self.dim), np.float32)
        for start in range(0, len(found), self._batch):
            part = found[start : start + self._batch]
            out[start : start + len(part)] = unit_rows(self._vectors(part, self.dim), start)
            if on_batch is not None:
                on_batch(len(part))
        return out

    def _vectors(self, texts: list[str], dim: int | None) -> NDArray[Any]:
        vectors = as_vectors(self._function(texts), dim=dim)
        if len(vectors) != len(texts):
            raise VectorError(
                f"The encoder must give one vector a text. Found {len(vectors)} for {len(texts)}."
            )
        return vectors
