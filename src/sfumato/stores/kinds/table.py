"""Ids and metadata of a store that lives in this process, beside vectors that are only ever appended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArtifactError
from sfumato.stores.rows import Metadata, Scalar, matches


class RowTable:
    """Which row stands at which place; a replaced or deleted row leaves its place dead until `compact`."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.metadata: list[Metadata] = []
        self._places: dict[str, int] = {}
        self._alive: list[bool] = []

    def __len__(self) -> int:
        return len(self._places)

    @property
    def dead(self) -> int:
        """How many places hold a row that is gone."""
        return len(self.ids) - len(self)

    def append(self, ids: Sequence[str], metadata: Sequence[Metadata]) -> None:
        """Put rows at the next places; those with the same ids are gone."""
        self.kill(ids)
        for name, fields in zip(ids, metadata, strict=True):
            self._places[name] = len(self.ids)
            self.ids.append(name)
            self.metadata.append(dict(fields))
            self._alive.append(True)

    def kill(self, ids: Sequence[str]) -> None:
        """Let rows be gone, with what they held."""
        for name in ids:
            place = self._places.pop(name, None)
            if place is not None:
                self._alive[place] = False
                self.metadata[place] = {}

    def places(self, ids: Sequence[str]) -> list[int]:
        """Where the rows that are there stand, in the order of `ids`."""
        return [self._places[name] for name in ids if name in self._places]

    def alive(self, allowed: Mapping[str, Sequence[Scalar]] | None = None) -> NDArray[np.intp]:
        """The places of all rows that are there, and pass a filter."""
        places = np.flatnonzero(np.array(self._alive, bool))
        if allowed:
            places = np.array([at for at in places if matches(self.metadata[at], allowed)], np.intp)
        return places

    def compact(self) -> None:
        """Close the gaps: afterwards row i is the i-th of what `alive` gave before."""
        kept = self.alive()
        self.ids = [self.ids[at] for at in kept]
        self.metadata = [self.metadata[at] for at in kept]
        self._alive = [True] * len(kept)
        self._places = {name: at for at, name in enumerate(self.ids)}

    def to_bytes(self) -> NDArray[np.uint8]:
        """The rows as JSON, for a saved artifact; compact it first."""
        text = json.dumps({"ids": self.ids, "metadata": self.metadata}, allow_nan=False)
        return np.frombuffer(text.encode(), np.uint8)

    @classmethod
    def from_bytes(cls, data: NDArray[Any], count: int) -> RowTable:
        """Read rows again, or refuse them."""
        table = cls()
        try:
            found = json.loads(data.tobytes())
            ids, metadata = found["ids"], found["metadata"]
            whole = len(set(ids)) == len(ids) == len(metadata) == count
            whole = whole and all(type(name) is str for name in ids)
            whole = whole and all(type(fields) is dict for fields in metadata)
        except (ValueError, KeyError, TypeError, RecursionError):
            whole = False
        if not whole:
            raise ArtifactError("The saved rows are refused: they do not fit the saved vectors.")
        table.append(ids, metadata)
        return table
