"""Erasure by forgetting: a row's salt is part of its records' keys, and all salts lie under one root.

A folder holds `shred-root-N`, 32 random bytes, and `salts-N`, sealed under that root and the sealing key
together. To erase rows, all other salts are written anew under a new root, which is then put beside the old
one: from that moment the rows are gone. The old root is overwritten and removed, and with it goes what any
copy of the old salts was good for, and any copy of the rows' records.

Copies of the *root* undo this: leave `shred-root-*` out of backups that outlive an erasure. A disk that
writes elsewhere than it reads (flash, snapshots, a journal of data) may keep an overwritten root until it
uses the place again; the old salts are then still sealed under the sealing key.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sfumato.accounting.keys import KEY_BYTES, KeyHolder
from sfumato.errors import ArtifactError, ParameterError
from sfumato.files import PathLike
from sfumato.sealing.crypto.envelope import Envelope
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.erasure.roots import RootFolder, fingerprint
from sfumato.sealing.erasure.salt_file import SaltFile, header_alone
from sfumato.sealing.erasure.salts import ID_BYTES, SALT_BYTES, SaltTable, as_rows

_REMEMBERED = 10_000
"""Erasures that are remembered; the caller of each has its record too."""


@dataclass(frozen=True, slots=True)
class ErasureRecord:
    """That rows were erased: when, how many, and the roots before and after; never which."""

    time: str
    count: int
    old_root: str
    new_root: str


class Shredder(KeyHolder):
    """The salts of rows, and their end; for threads and processes that share the folder."""

    __slots__ = ("_file", "_folder", "_generation", "_id_key", "_mutex", "_root", "_state_key", "_table")

    def __init__(self, folder: RootFolder, state_key: bytes) -> None:
        self._folder = folder
        self._state_key = state_key
        self._id_key = hmac.digest(state_key, b"sfumato row ids", "sha256")
        self._mutex = threading.Lock()
        self._generation = 0
        self._root: bytes
        self._file: SaltFile
        self._table: SaltTable
        with self._mutex, self._folder.alone():
            if self._folder.newest() is None:
                self._begin()
            self._load()
            self._folder.sweep(self._generation)

    @classmethod
    def open(cls, folder: PathLike, key: SealingKey, *context: str) -> Shredder:
        """Open the salts in a folder, made where there are none; a killed erasure is ended or undone."""
        return cls(RootFolder(folder), key.derive("state", "shredding", *context))

    def salts(self, row_ids: Sequence[str]) -> list[bytes]:
        """The salt of each row, made where there is none; what is returned is on the disk."""
        ids = self._ids(row_ids)
        with self._mutex:
            self._catch_up()
            found = self._table.find(ids)
            if None in found:
                with self._folder.alone():
                    self._catch_up(locked=True)
                    self._make(
                        {each for each, salt in zip(ids, self._table.find(ids), strict=True) if not salt}
                    )
                found = self._table.find(ids)
        return [salt for salt in found if salt is not None]

    def find(self, row_ids: Sequence[str]) -> list[bytes | None]:
        """The salt of each row; None for one that never had one, or was erased."""
        ids = self._ids(row_ids)
        with self._mutex:
            self._catch_up()
            return self._table.find(ids)

    def shred(self, row_ids: Sequence[str]) -> ErasureRecord:
        """Destroy the salts of these rows for good; rows without one are none of the count."""
        ids = self._ids(row_ids)
        with self._mutex, self._folder.alone():
            self._catch_up(locked=True)
            # What an erasure that failed half-way has left.
            self._folder.sweep(self._generation)
            kept = self._table.without(ids)
            time = datetime.now(timezone.utc).isoformat(timespec="seconds")
            old = fingerprint(self._root)
            if len(kept) == len(self._table):
                return ErasureRecord(time, 0, old, old)
            root = secrets.token_bytes(KEY_BYTES)
            record = ErasureRecord(time, len(self._table) - len(kept), old, fingerprint(root))
            self._turn_to(root, kept, record)
            self._folder.sweep(self._generation)
            return record

    def every_salt(self) -> list[bytes]:
        """Every salt that is left, of rows that are there and of those that were deleted and not erased."""
        with self._mutex:
            self._catch_up()
            return [each.tobytes() for each in self._table.rows().salts]

    @property
    def erasures(self) -> list[ErasureRecord]:
        """Every erasure that took place, the oldest first, also those whose caller was killed."""
        with self._mutex:
            self._catch_up()
            return [ErasureRecord(**each) for each in self._file.notes["erasures"]]

    def __len__(self) -> int:
        """How many rows have a salt."""
        with self._mutex:
            self._catch_up()
            return len(self._table)

    def __repr__(self) -> str:
        """Show where the salts lie and nothing of them."""
        return f"Shredder({str(self._folder.path)!r})"

    def _ids(self, row_ids: Sequence[str]) -> list[bytes]:
        if isinstance(row_ids, str):
            raise ParameterError("Row ids must be a list. Found one text: put it into a list.")
        return [
            hashlib.blake2b(
                each.encode("utf-8", "surrogatepass"), key=self._id_key, digest_size=ID_BYTES
            ).digest()
            for each in row_ids
        ]

    def _make(self, ids: set[bytes]) -> None:
        if not ids:
            return
        noise = secrets.token_bytes(SALT_BYTES * len(ids))
        made = {each: noise[row * SALT_BYTES : (row + 1) * SALT_BYTES] for row, each in enumerate(ids)}
        self._file.append(as_rows(made))
        self._table.add(made)
        if self._file.sparse(len(self._table)):
            # Where there is no room for it, the long file does as well.
            with contextlib.suppress(ArtifactError):
                self._file = self._file.rewritten(self._table.rows())

    def _begin(self) -> None:
        """Make an empty file of salts, then its root: a file without a root was never used."""
        for path in self._folder.all_salts():
            if not header_alone(path):
                raise ArtifactError(
                    f"The folder {self._folder.path} must hold the root of its salts, a file shred-root-*. "
                    "It is missing, and without it no row opens: put it back."
                )
        self._turn_to(secrets.token_bytes(KEY_BYTES), SaltTable(), None)

    def _turn_to(self, root: bytes, table: SaltTable, record: ErasureRecord | None) -> None:
        """Write `table` under a new root, then the root: once that has its name, it has happened."""
        generation = self._generation + 1
        erasures = [*self._file.notes["erasures"], asdict(record)] if record else []
        file = SaltFile.write(
            self._folder.salts(generation),
            self._envelope(root),
            generation,
            {"erasures": erasures[-_REMEMBERED:]},
            table.rows(),
        )
        self._folder.write(root, generation)
        self._root, self._generation, self._file, self._table = root, generation, file, table

    def _load(self) -> None:
        """Read the newest generation whole."""
        newest = self._folder.newest()
        if newest is None:
            raise ArtifactError(
                f"The folder {self._folder.path} must hold the root of its salts. It was removed."
            )
        root = self._folder.read(newest)
        file = SaltFile(self._folder.salts(newest), self._envelope(root), newest)
        table = SaltTable()
        table.extend(file.read_on())
        self._root, self._generation, self._file, self._table = root, newest, file, table

    def _catch_up(self, locked: bool = False) -> None:
        """Take in what other processes wrote; where they wrote nothing, two looks at the folder are all."""
        # A killed erasure may have left the old salts, which must not be added to any more.
        turned = self._folder.root(self._generation + 1).exists()
        if self._file.unchanged() and not turned:
            return
        with contextlib.nullcontext() if locked else self._folder.alone():
            if self._folder.newest() == self._generation and self._file.same():
                self._table.extend(self._file.read_on())
            else:
                self._load()
                self._folder.sweep(self._generation)

    def _envelope(self, root: bytes) -> Envelope:
        """What salts are sealed with: neither the root nor the sealing key opens them alone."""
        derived = HKDF(SHA512(), KEY_BYTES, salt=root, info=b"sfumato salts").derive(self._state_key)
        return Envelope(derived)
