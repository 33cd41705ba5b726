"""An attack that writes texts and takes no time: it says what the nearest text it knows says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.attacks.base import Attack, Inverter, Recovered, fresh_releases


@dataclass(frozen=True, kw_only=True)
class Parrot(Attack):
    embedder: Any = None
    seed: int = 0

    name = "parrot"
    paper = "none"
    summary = "says what the nearest text says"
    reads = "text"

    def fit(self, texts, vectors, mechanism=None, *, on_step=None):
        return Echo(list(texts), fresh_releases(mechanism, self.seed)(vectors))


class Echo(Inverter):
    kind = "parrot"

    def __init__(self, texts, vectors):
        self.texts, self.vectors = texts, vectors

    def recover(self, vectors):
        cosines = vectors @ self.vectors.T
        return Recovered([self.texts[row] for row in cosines.argmax(axis=1)], np.asarray(cosines.max(axis=1)))

    def save(self, path):
        raise NotImplementedError

    @classmethod
    def load(cls, path):
        raise NotImplementedError
