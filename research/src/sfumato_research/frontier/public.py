"""Public sentences that an attacker embeds and releases himself, beside the texts he learned from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.concepts import Concept
from sfumato.randomness import generator
from sfumato_research.studies.data import rows

NEEDS = ("sentences",)
_LONGEST = 40


def public_sentences(data: Path, most: int, seed: int = 0) -> list[str]:
    """So many of them, in an order of their own."""
    every = [row["text"] for row in rows(data, "sentences", "sentences")]
    chosen = generator(seed).permutation(len(every))
    some = (every[row] for row in chosen)
    return [text for text in some if 4 <= len(text.split()) <= _LONGEST][:most]


def that_name(texts: list[str], vocabulary: Concept, most: int) -> list[str]:
    """Those in which a dictionary finds one of the terms."""
    found: list[str] = []
    for text, spans in zip(texts, vocabulary.find_all(texts), strict=True):
        if spans:
            found.append(text)
        if len(found) == most:
            break
    return found


def joined(own: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Vectors one after the other."""
    return np.concatenate([np.asarray(own, np.float32), np.asarray(more, np.float32)])
