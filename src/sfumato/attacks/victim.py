"""What an attacker knows of his victim, kept beside a fitted attack: everything but the secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import artifacts
from sfumato.attacks.likelihood import Victim
from sfumato.errors import ArtifactError
from sfumato.mechanisms import Mechanism
from sfumato.protector import Protector
from sfumato.saving import KIND, load_protector, save_protector

Tensors = dict[str, NDArray[Any]]
_PREFIX = "victim."


def pack_victim(victim: Victim) -> tuple[dict[str, Any] | None, Tensors]:
    """What has to be saved to make the victim again: settings for `config.json`, and arrays."""
    if victim is None:
        return None, {}
    bare = isinstance(victim, Mechanism)
    whole = Protector(victim, normalise=False, neutral=0) if isinstance(victim, Mechanism) else victim
    with TemporaryDirectory() as folder:
        save_protector(replace(whole, secret=None, ledger=None), Path(folder) / "victim")
        artifact = artifacts.load(Path(folder) / "victim", KIND)
    arrays = {_PREFIX + name: np.array(values) for name, values in artifact.tensors.items()}
    return {"bare": bare, "protector": artifact.config}, arrays


def unpack_victim(config: dict[str, Any] | None, tensors: Tensors) -> Victim:
    """Make a packed victim again, with every check that loading a protector has."""
    if config is None:
        return None
    arrays = {
        name.removeprefix(_PREFIX): np.array(values)
        for name, values in tensors.items()
        if name.startswith(_PREFIX)
    }
    with TemporaryDirectory() as folder:
        artifacts.save(Path(folder) / "victim", KIND, config["protector"], arrays)
        whole = load_protector(Path(folder) / "victim")
    return whole.mechanism if config["bare"] else whole


def pack_texts(texts: Sequence[str]) -> Tensors:
    """Texts as bytes and where each ends."""
    data = [text.encode() for text in texts]
    ends = np.cumsum([len(each) for each in data], dtype=np.int64)
    return {"texts": np.frombuffer(b"".join(data), np.uint8).copy(), "text_ends": ends}


def unpack_texts(tensors: Tensors) -> list[str]:
    """Texts from bytes, or refuse them."""
    try:
        ends, data = tensors["text_ends"].tolist(), tensors["texts"].tobytes()
        cuts = [0, *ends]
        if sorted(cuts) != cuts or cuts[-1] != len(data):
            raise ValueError
        return [data[low:high].decode() for low, high in zip(cuts[:-1], cuts[1:], strict=True)]
    except (KeyError, ValueError):
        raise ArtifactError(
            "The texts of a saved attack must be whole. Found them damaged. Fit it again."
        ) from None
