"""What every framework's adapter does with a sealed collection: in turn, and never silent about losses."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.accounting.keys import KeyHolder
from sfumato.errors import ParameterError, StoreError
from sfumato.numbers import whole_number
from sfumato.sealing.cells.codebook import unit
from sfumato.sealing.client.contents import SealedHit, SealedResult, SealedRow
from sfumato.sealing.client.searching import FILTERED_TEXTS
from sfumato.sealing.store import SealedStore
from sfumato.stores.rows import Where, checked_vectors

_MOST_HITS = 1000
_TURNS: WeakKeyDictionary[SealedStore, threading.RLock] = WeakKeyDictionary()
"""One lock a collection, however many adapters it has."""
_LOOKING = threading.Lock()


class IncompleteResultWarning(UserWarning):
    """The store did not give all that it was asked for; what it gave was opened, and is right."""


class SealedFront(KeyHolder):
    """A sealed collection behind a framework.

    Args:
        sealed: the collection.
        strict: whether a store that lost or changed something is an error; otherwise it is a warning, and
            what is left of the result is used.
    """

    def __init__(self, sealed: SealedStore, strict: bool = False) -> None:
        if not isinstance(sealed, SealedStore):
            raise ParameterError(f"`sealed` must be a SealedStore. Found {type(sealed).__name__}.")
        self._sealed, self.strict = sealed, strict
        with _LOOKING:
            self._turn = _TURNS.setdefault(sealed, threading.RLock())

    @contextmanager
    def turn(self) -> Iterator[SealedStore]:
        """The collection for one thread: frameworks call from several, and not every store bears that."""
        with self._turn:
            yield self._sealed

    def search(
        self,
        asked: str | Sequence[float],
        k: int,
        *,
        where: Where | None = None,
        keep: Callable[[SealedHit], bool] | None = None,
    ) -> list[SealedHit]:
        """The k nearest rows of a text or a vector; with `keep` out of as many as a filter looks at."""
        k = whole_number(k, "k", 1, _MOST_HITS)
        wanted = k if keep is None else max(k, FILTERED_TEXTS)
        with self.turn() as sealed:
            if isinstance(asked, str):
                result = sealed.search(asked, wanted, where)
            else:
                (result,) = sealed.search(k=wanted, where=where, vectors=[asked])
        self._tell(result)
        return [hit for hit in result.hits if keep is None or keep(hit)][:k]

    def among(self, ids: Sequence[str], vector: Any) -> list[SealedHit]:
        """All of some rows, the nearest to a vector first; the store sees which rows were asked for."""
        with self.turn() as sealed:
            rows = sealed.get(dict.fromkeys(ids))
            vectors = sealed.vectors(row.id for row in rows)
            asked = unit(checked_vectors([vector], sealed.settings.dim or None))[0]
        rows = [row for row in rows if row.id in vectors]
        if not rows:
            return []
        scores = unit(np.stack([vectors[row.id] for row in rows])) @ asked
        hits = [
            SealedHit(row.id, float(score), row.text, row.metadata)
            for row, score in zip(rows, scores, strict=True)
        ]
        return sorted(hits, key=lambda hit: -hit.score)

    def delete(self, ids: Iterable[str], erase: bool = False) -> int:
        """Take rows out, or destroy them with `erase`; return how many were there."""
        with self.turn() as sealed:
            names = sealed.known(dict.fromkeys(ids))
            _ = sealed.erase(names) if erase else sealed.delete(names)
            return len(names)

    def clear(self, erase: bool = False) -> None:
        """Take every row out, or destroy them all with `erase`."""
        with self.turn() as sealed:
            self.delete(sealed.ids(), erase)

    def rows(self) -> Iterator[SealedRow]:
        """Every row, in the order they came."""
        parts = self._sealed.iterate()
        while True:
            # A turn for each part: whoever stops in the middle must not keep the others waiting.
            with self.turn():
                part = next(parts, None)
            if part is None:
                return
            yield from part

    def _tell(self, result: SealedResult) -> None:
        if result.complete:
            return
        line = f"The store did not give all that it was asked for: {result.faults[0]}"
        line += f" (and {len(result.faults) - 1} more faults)." if len(result.faults) > 1 else "."
        if self.strict:
            raise StoreError(line)
        warnings.warn(line, IncompleteResultWarning, stacklevel=4)

    def close(self) -> None:
        """Send what waits, and let go of the state and the store."""
        with self.turn() as sealed:
            sealed.close()

    def __repr__(self) -> str:
        """Where it is, and nothing secret."""
        return repr(self._sealed)
