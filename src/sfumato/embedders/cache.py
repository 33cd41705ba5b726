"""An embedder that remembers: each text is embedded once, whatever process asks for it again.

The file holds the raw vectors of your texts, from which the texts can be rebuilt, and digests of the texts,
which can be guessed. It is therefore as private as the texts themselves: only its owner may read it (mode
0600), it is never part of a protector, and it should be deleted when it is no longer needed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.keys import Secret, place_new, require_private
from sfumato.concepts.texts.soft import content
from sfumato.embedders.base import Embedder, OnBatch
from sfumato.embedders.texts import checked_texts
from sfumato.errors import ArtifactError, InputError
from sfumato.files import PathLike

_APPLICATION, _VERSION = 0x53664361, 1
_BUSY_SECONDS = 60.0
_CHUNK = 512
_FIRST, _MOST, _SECONDS = 64, 4096, 3.0
"""Texts that are embedded before they are stored, at first and at most, and about how long that may take."""
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""


class CachedEmbedder:
    """Any embedder with its vectors kept in a private SQLite file that threads and processes may share.

    The first vector of a text that is stored is the one that everybody gets from then on.

    Args:
        embedder: what embeds.
        path: the file.
        key: makes the digests of texts such that nobody without it can guess at them.
    """

    def __init__(self, embedder: Embedder, path: PathLike, *, key: bytes | None = None) -> None:
        self.embedder, self.path, self._secret = embedder, Path(path), key
        self._size = _FIRST
        self.name, self.model_id, self.dim = embedder.name, embedder.model_id, embedder.dim
        if not self.path.exists():
            self._create()
        require_private(self.path.stat(), self.path)
        with self._open() as db:
            kind = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            if kind != [_APPLICATION, _VERSION]:
                raise ArtifactError(f"`{self.path}` is not a cache of this version. Choose another file.")

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` vectors in the order of the texts, embedding only those that are not stored."""
        found = checked_texts(texts)
        keys = [self._key(text) for text in found]
        known = self._stored(keys)
        missing = {key: text for key, text in zip(keys, found, strict=True) if key not in known}
        if on_batch is not None and len(found) > len(missing):
            on_batch(len(found) - len(missing))
        todo = list(missing)
        while todo:
            # A few seconds' work at a time, so that a killed run keeps what it has paid for.
            part, todo = todo[: self._size], todo[self._size :]
            begun = time.monotonic()
            vectors = self.embedder.embed([missing[key] for key in part], on_batch=on_batch)
            wanted = len(part) * _SECONDS / max(time.monotonic() - begun, 1e-3)
            self._size = int(max(1, min(wanted, 4 * self._size, _MOST)))
            self._store(part, vectors)
            known |= self._stored(part)
        if not found:
            return np.empty((0, self.dim), np.float32)
        return np.stack([known[key] for key in keys])

    def __len__(self) -> int:
        with self._open() as db:
            return int(db.execute("SELECT COUNT(*) FROM vectors").fetchone()[0])

    def clear(self) -> None:
        """Forget every vector; the pages that held them are overwritten."""
        with self._open() as db:
            db.execute("DELETE FROM vectors")

    def _key(self, text: str) -> bytes:
        model = self.model_id.encode()
        whole = len(model).to_bytes(8, "big") + model + content(text)
        if self._secret is not None:
            return hmac.digest(self._secret, whole, "sha256")
        return hashlib.sha256(whole).digest()

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}
        with self._open() as db:
            for start in range(0, len(keys), _CHUNK):
                part = list(dict.fromkeys(keys[start : start + _CHUNK]))
                marks = ", ".join("?" * len(part))
                for key, stored in db.execute(
                    f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part
                ):
                    found[key] = self._checked(stored)
        return found

    def _checked(self, stored: bytes) -> NDArray[np.float32]:
        vector = np.frombuffer(stored, "<f4").astype(np.float32) if len(stored) == 4 * self.dim else None
        if vector is None or not np.isfinite(vector).all():
            raise ArtifactError(
                f"`{self.path}` is damaged: a vector does not fit the model. Delete the file."
            )
        return vector

    def _store(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self._open() as db:
            db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def _create(self) -> None:
        """Make an empty cache beside its final name, then give it that name: no half cache can be seen."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".cache-")  # mode 0600
            os.close(handle)
            with closing(sqlite3.connect(name)) as db:
                db.executescript(_SCHEMA)
            place_new(Path(name), self.path)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"The cache `{self.path}` cannot be created: {error}.") from error

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction on a connection of its own, which no thread or forked process can share."""
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        try:
            with closing(sqlite3.connect(address, _BUSY_SECONDS, uri=True)) as db, db:
                # What is deleted is overwritten, so that no vector stays behind in a free page.
                db.execute("PRAGMA secure_delete = ON")
                yield db
        except sqlite3.OperationalError as error:
            raise InputError(
                f"The cache `{self.path}` cannot be used ({error}). Try again, or delete it."
            ) from error
        except sqlite3.DatabaseError as error:
            raise ArtifactError(f"`{self.path}` is damaged or not a cache. Delete it.") from error


class CacheFolder:
    """A folder that only its owner may enter, with a cache and the key of its digests."""

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)

    def remembering(self, embedder: Embedder) -> CachedEmbedder:
        """The embedder with its vectors kept here."""
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            mode = stat.S_IMODE(self.path.stat().st_mode)
        except OSError as error:
            raise InputError(f"The folder `{self.path}` cannot be made: {error.strerror}.") from None
        if mode & 0o077:
            raise InputError(
                f"The folder `{self.path}` must be closed to others: it holds vectors of your texts. "
                f"Found mode {mode:03o}. Use: chmod 700 {self.path}"
            )
        key = Secret.from_file(self.path / "key", create=True).derive(b"sfumato cache of vectors")
        return CachedEmbedder(embedder, self.path / "vectors.sqlite", key=key)

    def remove(self) -> None:
        """Delete what is in it, and itself if nothing else is there."""
        for name in ("vectors.sqlite", "vectors.sqlite-journal", "key"):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()
