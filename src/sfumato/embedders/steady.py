"""What encoders share that run on torch in batches whose rows do not depend on their company."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import OnBatch
from sfumato.embedders.texts import checked_texts, unit_rows, unit_tensor

if TYPE_CHECKING:
    from sfumato.embedders.batches import SteadyModel


class SteadyEncoder:
    """Unit vectors of a steady model; who inherits it says which model, and what it is called."""

    _model: SteadyModel

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` unit vectors in the order of the texts."""
        return unit_rows(self._model.vectors(checked_texts(texts), on_batch))

    def seen(self, texts: Sequence[str]) -> list[bytes]:
        """Return the tokens it computes a vector from, for each text."""
        return self._model.seen(checked_texts(texts))

    def embed_tensor(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> Any:
        """Return the vectors of `embed`, bit for bit, as a torch tensor on the encoder's device."""
        return unit_tensor(self._model.tensor(checked_texts(texts), on_batch))
