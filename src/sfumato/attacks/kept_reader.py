"""What reads an aligned vector, kept inside the attack that aligned it: only Sfumato's own classes."""

from __future__ import annotations

import importlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sfumato import artifacts
from sfumato.attacks.base import Inverter
from sfumato.attacks.kept_release import Tensors
from sfumato.errors import ArtifactError

_PREFIX = "reader."
READERS = {
    "Library": "sfumato.attacks.huggingface.library",
    "LanguageModelReader": "sfumato.attacks.huggingface.causal",
    "T5Reader": "sfumato.attacks.huggingface.reader",
    "ZeroShotReader": "sfumato.attacks.huggingface.zeroshot",
    "Linker": "sfumato.attacks.known_texts.linkage",
    "NeighbourReader": "sfumato.attacks.known_texts.neighbours",
    "BitReader": "sfumato.attacks.known_texts.bits",
    "TokenReader": "sfumato.attacks.terms.reader",
    "AttributeReader": "sfumato.attacks.terms.attributes",
    "InformedReader": "sfumato.attacks.terms.informed",
    "TextReader": "sfumato.attacks.writers.textreader",
}
"""What may have been saved, by its name: a file names no module that is imported for it."""


def pack_reader(reader: Inverter) -> tuple[dict[str, Any], Tensors]:
    """What has to be saved to make a reader again."""
    kind = type(reader)
    if READERS.get(kind.__qualname__) != kind.__module__:
        raise ArtifactError(f"A reader that is saved must be one of Sfumato's. Found {kind.__name__}.")
    with TemporaryDirectory() as folder:
        reader.save(Path(folder) / "reader")
        inner = artifacts.load(Path(folder) / "reader", reader.kind)
    tensors = {_PREFIX + name: np.array(values) for name, values in inner.tensors.items()}
    return {"class": f"{kind.__module__}:{kind.__qualname__}", "config": inner.config}, tensors


def unpack_reader(config: dict[str, Any], tensors: Tensors) -> Inverter:
    """Make a packed reader again; only Sfumato's own classes are ever imported."""
    name = str(config["class"]).rpartition(":")[2]
    if name not in READERS:
        raise ArtifactError(f"The saved reader must be one of Sfumato's. Found {config['class']!r:.80}.")
    kind: type[Inverter] = getattr(importlib.import_module(READERS[name]), name)
    own = {
        key.removeprefix(_PREFIX): np.array(rows) for key, rows in tensors.items() if key.startswith(_PREFIX)
    }
    with TemporaryDirectory() as folder:
        artifacts.save(Path(folder) / "reader", kind.kind, config["config"], own)
        return kind.load(Path(folder) / "reader")
