"""What an attacker knows of his victim, kept beside a fitted attack: everything but the secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Embeds
from sfumato.concepts.concept import Concept
from sfumato.concepts.texts.neutral import MOST_COPIES, neutral_way
from sfumato.errors import ArtifactError
from sfumato.mechanisms import MECHANISMS
from sfumato.numbers import whole_number
from sfumato.preparing import Entrance
from sfumato.release import Release
from sfumato.saving import pack_release, unpack_release

Tensors = dict[str, NDArray[Any]]
_PREFIX = "victim."


def pack_victim(release: Release | None, embedder: Any = None) -> tuple[dict[str, Any] | None, Tensors]:
    """What has to be saved to make the release again, and what becomes of texts before it.

    The encoder itself is kept by whoever needs it.
    """
    if release is None:
        return None, {}
    if release.mechanism.name not in MECHANISMS.names():
        raise ArtifactError(
            "An attack that makes releases itself cannot be saved with a release that is a plain function. "
            f"Found {release.mechanism.name}. Fit it again where it is needed."
        )
    config, tensors = pack_release(release)
    texts = Entrance.of(embedder)
    config |= {
        "concepts": [concept.to_dict() for concept in texts.concepts],
        "neutral": texts.neutral,
        "neutral_by": texts.neutral_by,
        "learned": {"source": release.mechanism.learned_from or "unknown"},
    }
    return config, {_PREFIX + name: np.array(values) for name, values in tensors.items()}


def unpack_victim(
    config: dict[str, Any] | None, tensors: Tensors, embedder: Embeds | None = None
) -> tuple[Release | None, Embeds | None]:
    """Make a packed release again with every check that loading a protector has, and its entrance."""
    if config is None:
        return None, embedder
    kept = config.get("protector", config)  # version 0.1 kept a whole protector
    arrays = {
        name.removeprefix(_PREFIX): np.array(values)
        for name, values in tensors.items()
        if name.startswith(_PREFIX)
    }
    release = unpack_release(kept, arrays, str(kept["learned"].get("source", "unknown")))
    concepts = tuple(Concept.from_dict(each) for each in kept["concepts"])
    neutral = whole_number(kept["neutral"], "neutral", 0, MOST_COPIES)
    entrance = Entrance(embedder, concepts, neutral, neutral_way(kept.get("neutral_by", "copies")))
    return release, entrance if embedder is not None and entrance.hides else embedder


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
