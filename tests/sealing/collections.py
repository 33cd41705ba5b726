"""Sealed collections that tests open: made-up notes, the hashing encoder, a key and a state in a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.embedders import Fake
from sfumato.randomness import generator
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.records import CONTENT_FIELD
from sfumato.sealing.store import SealedStore
from sfumato.stores import Memory

DIM = 48
ENCODER = Fake(dim=DIM)
_WORDS = (
    "asthma gout mumps fever cough visit Tuesday clinic letter daughter garden harbour violin bicycle "
    "kitchen mountain ticket river window doctor engine paper lantern market"
).split()


def notes(count: int, seed: int = 0) -> list[str]:
    """Texts of some words, each with its number."""
    rng = generator(seed)
    return [f"Note {row}: {' '.join(rng.choice(_WORDS, 7))}." for row in range(count)]


def names(count: int) -> list[str]:
    """Ids of rows."""
    return [f"patient-{row}/ü" for row in range(count)]


def metadata(count: int) -> list[dict[str, object]]:
    """Fields of rows."""
    return [{"ward": f"ward {row % 3}", "row": row} for row in range(count)]


def key_in(folder: Path) -> SealingKey:
    """The key of a folder."""
    return SealingKey.open(folder / "key")


def sealed(folder: Path, store=None, **options) -> SealedStore:
    """A sealed collection with its state in a folder, over a store in memory unless another is given."""
    options = {"key": key_in(folder), "embedder": ENCODER, **options}
    return SealedStore(Memory() if store is None else store, folder=folder / "state", **options)


def brute_force(texts, queries, k):
    """The rows nearest to each query, by the encoder's own vectors."""
    return np.argsort(-(ENCODER.embed(queries) @ ENCODER.embed(texts).T), axis=1, kind="stable")[:, :k]


def contents(store) -> dict[str, str]:
    """What a store in memory holds, by id."""
    return {
        name: fields[CONTENT_FIELD]
        for rows in store.batches()
        for name, fields in zip(rows.ids, rows.metadata, strict=True)
    }


def overwrite(store, name: str, content: str) -> None:
    """Change a record behind the client's back."""
    store.add([name], store.get([name]).vectors, [{CONTENT_FIELD: content}])


class Failing(Memory):
    """A store that does only so many things more; `late` does the next one, too, and loses the answer."""

    left = 10**9
    late = False

    def _spend(self, act):
        self.left -= 1
        if self.left >= 0:
            return act()
        if self.late and self.left == -1:
            act()
        raise ConnectionError("hunter2")

    def _add(self, ids, vectors, metadata):
        for row in range(0, len(ids), 25):
            part = slice(row, row + 25)
            self._spend(lambda part=part: super(Failing, self)._add(ids[part], vectors[part], metadata[part]))

    def _delete(self, ids):
        self._spend(lambda: super(Failing, self)._delete(ids))

    def _get(self, ids):
        return self._spend(lambda: super(Failing, self)._get(ids))
