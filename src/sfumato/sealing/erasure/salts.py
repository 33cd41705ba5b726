"""The salt of each row, in memory: 48 bytes a row, found by the thousand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.types import Flags, Rows

ID_BYTES = 16
SALT_BYTES = 32


class SaltedRows(NamedTuple):
    """Rows as they lie in a file: `ids` of type S16, `salts` of shape `(n, 32)`."""

    ids: NDArray[np.bytes_]
    salts: NDArray[np.uint8]


class SaltTable:
    """The salt of each id, sorted by id; what was added lately stands apart until it is worth a merge."""

    __slots__ = ("_recent", "_rows")

    def __init__(self) -> None:
        self._rows = SaltedRows(np.empty(0, f"S{ID_BYTES}"), np.empty((0, SALT_BYTES), np.uint8))
        self._recent: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._rows.ids) + len(self._recent)

    def find(self, ids: Sequence[bytes]) -> list[bytes | None]:
        """The salt of each id, None where there is none."""
        places, there = self._places(ids)
        whole = self._rows.salts[places].tobytes() if len(self._rows.ids) else b""
        return [
            whole[row * SALT_BYTES : (row + 1) * SALT_BYTES] if there[row] else self._recent.get(each)
            for row, each in enumerate(ids)
        ]

    def add(self, salts: Mapping[bytes, bytes]) -> None:
        """Take in ids that are not there yet."""
        self._recent.update(salts)
        if len(self._recent) > max(1024, len(self._rows.ids) // 8):
            self._merge()

    def rows(self) -> SaltedRows:
        """All rows, sorted by id."""
        self._merge()
        return self._rows

    def without(self, ids: Sequence[bytes]) -> SaltTable:
        """A table of all rows but these."""
        self._merge()
        places, there = self._places(ids)
        kept = np.ones(len(self._rows.ids), bool)
        kept[places[there]] = False
        table = SaltTable()
        table._rows = SaltedRows(self._rows.ids[kept], self._rows.salts[kept])
        return table

    def extend(self, rows: SaltedRows) -> None:
        """Take in rows of a file; of an id that is there twice the first salt stays: it was used first."""
        if not len(rows.ids):
            return
        self._merge()
        ids = np.concatenate([self._rows.ids, rows.ids])
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        first = np.ones(len(ids), bool)
        first[1:] = ids[1:] != ids[:-1]
        salts = np.concatenate([self._rows.salts, rows.salts])[order[first]]
        self._rows = SaltedRows(ids[first], salts)

    def _merge(self) -> None:
        if self._recent:
            recent, self._recent = self._recent, {}
            self.extend(as_rows(recent))

    def _places(self, ids: Sequence[bytes]) -> tuple[Rows, Flags]:
        asked = np.frombuffer(b"".join(ids), f"S{ID_BYTES}")
        if not len(self._rows.ids):
            return np.zeros(len(ids), np.intp), np.zeros(len(ids), bool)
        places = np.minimum(np.searchsorted(self._rows.ids, asked), len(self._rows.ids) - 1)
        return places, self._rows.ids[places] == asked


def as_rows(salts: Mapping[bytes, bytes]) -> SaltedRows:
    """Salts by id as rows of a file."""
    return SaltedRows(
        np.frombuffer(b"".join(salts), f"S{ID_BYTES}"),
        np.frombuffer(b"".join(salts.values()), np.uint8).reshape(-1, SALT_BYTES),
    )
