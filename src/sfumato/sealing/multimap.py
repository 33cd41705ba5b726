"""The encrypted multimap: each row in each of its cells is a record of its own, at an address used once.

The address of a posting is a pseudo-random function of epoch, table, cell, writer and slot (Cash et al., NDSS
2014), so at rest no two records share anything. A slot is used once: what was deleted leaves a gap, what is
updated moves on to the next slot. So a record found at an address is the one that was sealed for it, or none.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from numpy.typing import NDArray

from sfumato.accounting.keys import KeyHolder
from sfumato.errors import ArtifactError
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.prf import Prf

PostingPlace = tuple[int, int, int]
"""Table, cell and slot of one posting."""
FIRST_OWN_TABLE = 1 << 32
"""From here on tables are no ways to cut the space: postings of found values and of filters."""

_LAYOUTS = [struct.Struct(f"<{count}Q") for count in range(6)]
_HEAD = struct.Struct("<QQ")
_ENTRY = np.dtype([("slot", "<u8"), ("row", "<u8")])
_ROW = struct.Struct("<HHIQ")
_ROW_MARK = 0x5366
_LEAST = 128
"""Bytes of the smallest list: lists of few rows all look alike."""


class RecordIds(KeyHolder):
    """Where the records of one collection stand, in one epoch: ids that tell nothing without the key.

    They are written as UUIDs, which every product takes as they are.
    """

    __slots__ = ("_cells", "_postings", "_rows", "_tags", "_texts", "epoch", "lane")

    def __init__(self, key: SealingKey, tenant: str, collection: str, *, epoch: int, lane: int = 0) -> None:
        self.epoch, self.lane = epoch, lane
        self._postings = Prf(key.derive("address", tenant, collection, "posting"))
        self._cells = Prf(key.derive("address", tenant, collection, "cell"))
        self._texts = Prf(key.derive("id", tenant, collection, "text"))
        self._tags = Prf(key.derive("address", tenant, collection, "tag"))
        self._rows = Cipher(AES(key.derive("id", tenant, collection, "record")), ECB())

    def posting(self, table: int, cell: int, slot: int) -> str:
        """The id of one row's record in one cell."""
        return _id(self._postings, self.epoch, table, cell, self.lane, slot)

    def text(self, row: int) -> str:
        """The id of the record that holds a row's text and metadata."""
        return (
            _id(self._texts, self.epoch, self.lane, row, 0)
            if self.lane
            else _id(self._texts, self.epoch, row)
        )

    def row(self, number: int) -> str:
        """The id of a row's only record, where a handle has one a row: a permutation, so it reads back."""
        block = self._rows.encryptor().update(_ROW.pack(_ROW_MARK, self.lane, self.epoch, number))
        return _as_id(block.hex())

    def number(self, name: str) -> int | None:
        """The number of the row whose only record has this id; None for any other id."""
        try:
            block = bytes.fromhex(name.replace("-", ""))
        except ValueError:
            return None
        if len(block) != _ROW.size or _as_id(block.hex()) != name:
            return None
        mark, lane, epoch, number = _ROW.unpack(self._rows.decryptor().update(block))
        own = (mark, lane, epoch) == (_ROW_MARK, self.lane, self.epoch)
        return int(number) if own else None

    def tag(self, table: int, cell: int) -> bytes:
        """What rows of one cell share in the store, where a handle has it filter by cells."""
        return self._tags(_LAYOUTS[3].pack(self.epoch, table, cell))[:16]

    def generation(self) -> str:
        """The id of the record that counts this writer's changes; it stays when the epoch does not."""
        return _id(self._texts, self.lane, 0, 0)

    def cell(self, table: int, cell: int) -> bytes:
        """The name of a cell in the client's own state."""
        return self._cells(_LAYOUTS[4].pack(self.epoch, table, cell, self.lane))[:16]

    def __repr__(self) -> str:
        """Show nothing of the keys."""
        return f"RecordIds(epoch={self.epoch}, lane={self.lane})"


@dataclass(slots=True)
class PostingList:
    """Which rows a cell holds, by slot, and the slot that comes next; the client alone has it."""

    next_slot: int = 0
    rows: dict[int, int] = field(default_factory=dict)
    """The row at each slot that is taken."""

    def __len__(self) -> int:
        return len(self.rows)

    def append(self, row: int) -> int:
        """File a row under the next slot."""
        slot, self.next_slot = self.next_slot, self.next_slot + 1
        self.rows[slot] = row
        return slot

    def remove(self, slots: Iterable[int]) -> None:
        """Leave slots empty for good."""
        for slot in slots:
            self.rows.pop(slot, None)

    def to_bytes(self) -> bytes:
        """The list as it is sealed; short ones have one size, longer ones powers of two."""
        entries: NDArray[np.void] = np.empty(len(self.rows), _ENTRY)
        entries["slot"] = list(self.rows)
        entries["row"] = list(self.rows.values())
        plain = _HEAD.pack(self.next_slot, len(entries)) + entries.tobytes()
        return plain.ljust(max(_LEAST, 1 << (len(plain) - 1).bit_length()), b"\0")

    @classmethod
    def from_bytes(cls, data: bytes) -> PostingList:
        """Read a list again."""
        try:
            next_slot, count = _HEAD.unpack_from(data)
            entries = np.frombuffer(data, _ENTRY, count, _HEAD.size)
        except (struct.error, ValueError):
            raise ArtifactError(
                "A list of postings is refused: it is cut. Restore the state from a copy."
            ) from None
        return cls(next_slot, dict(zip(entries["slot"].tolist(), entries["row"].tolist(), strict=True)))


def _id(prf: Prf, *numbers: int) -> str:
    """A function of numbers of a fixed width, so that no two lists of them give the same bytes."""
    return _as_id(prf(_LAYOUTS[len(numbers)].pack(*numbers)).hex())


def _as_id(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"
