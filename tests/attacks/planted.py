"""A language and an encoder so simple that a perfect attack exists."""

from __future__ import annotations

import numpy as np

from sfumato.randomness import generator

SLOTS = (
    ("anna", "boris", "clara", "dmitri", "elena", "felix", "greta", "hugo"),
    ("visited", "left", "loved", "sold", "painted", "saw"),
    ("paris", "rome", "oslo", "lima", "cairo", "delhi", "tokyo", "quito"),
    ("today", "yesterday", "often", "never"),
)


class Planted:
    """Every word in every place has a direction of its own; a text is the sum, at unit length."""

    name = model_id = "planted"
    dim = 32

    def __init__(self) -> None:
        words = [(place, word) for place, slot in enumerate(SLOTS) for word in slot]
        self._known = dict(zip(words, generator(7).standard_normal((len(words), self.dim)), strict=True))

    def embed(self, texts, *, on_batch=None):
        """Vectors of texts; a word that is out of place adds next to nothing."""
        rows = [
            sum((self._known.get(found, 0.01) for found in enumerate(text.split())), np.full(self.dim, 1e-3))
            for text in texts
        ]
        found = np.array(rows).reshape(-1, self.dim)
        return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def sentences(count: int, seed: int) -> list[str]:
    """Sentences of the language."""
    random = generator(seed)
    return [" ".join(slot[random.integers(len(slot))] for slot in SLOTS) for _ in range(count)]
