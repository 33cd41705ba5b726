"""The only file that makes random bits: OpenSSL AES-256-CTR or ChaCha20, keyed by the operating system.

A `Source` hands out numbered streams, so a release does not depend on how many threads made it, and no two
streams of a key ever overlap. A source is re-keyed after a fork, and its key leaves it by no road: not by
pickle, copy or repr. A seed is for experiments only; it warns, and `Source.seed` records it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import secrets
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from sfumato.errors import ParameterError, RandomnessError
from sfumato.workspace import Workspace

Words = NDArray[np.uint64]
CipherName = Literal["aes-256-ctr", "chacha20"]

NOISE_VERSION = 1
"""Raised whenever the same key would give other noise; part of every sticky-noise key."""

# One call a block, as far as it goes: each call may hand the interpreter to another thread.
_ZEROS = memoryview(bytes(1 << 21))
_LITTLE = np.dtype("<u8")


class InsecureSeedWarning(UserWarning):
    """A seed makes noise predictable: anyone who knows it can remove the noise."""


@functools.cache
def hardware_cipher() -> CipherName:
    """AES where the processor has instructions for it, else ChaCha20 (constant time in plain software)."""
    if platform.machine().lower() in {"arm64", "aarch64"} and platform.system() == "Darwin":
        return "aes-256-ctr"
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return "chacha20"
    listed = (line for line in flags.splitlines() if line.lower().startswith(("flags", "features")))
    return "aes-256-ctr" if any("aes" in line.split() for line in listed) else "chacha20"


def _keystream(cipher: CipherName, key: bytes, stream: int) -> CipherContext:
    """Open keystream number `stream` of `key` at its first block."""
    if cipher == "aes-256-ctr":
        # Upper half of the counter block numbers the stream, lower half counts its 16-byte blocks.
        nonce = stream.to_bytes(8, "big") + bytes(8)
        return Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
    # OpenSSL's ChaCha20 takes a 64-bit block counter first, then the 64-bit nonce.
    nonce = bytes(8) + stream.to_bytes(8, "little")
    return Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor()


def _fill(context: CipherContext, out: NDArray[np.uint8]) -> None:
    """Write the next keystream bytes into `out`."""
    for start in range(0, out.size, len(_ZEROS)):
        piece = out[start : start + len(_ZEROS)].data
        context.update_into(_ZEROS[: piece.nbytes], piece)


class Draws(Protocol):
    """Random words for the rows of one block; each call continues where the last one stopped."""

    rows: int
    space: Workspace
    flat: bool
    """Whether words may be handed to rows in any order (one stream) or belong to their row (one key each)."""

    def words(self, per_row: int, rows: Sequence[int] | None = None) -> Words:
        """Return `(rows, per_row)` fresh words for all rows or those listed, valid until the next call."""


class StreamDraws:
    """Words of one numbered stream, shared by the rows of a block."""

    flat = True

    def __init__(self, cipher: CipherName, key: bytes, stream: int, rows: int, space: Workspace) -> None:
        self.rows = rows
        self.space = space
        self._context = _keystream(cipher, key, stream)

    def words(self, per_row: int, rows: Sequence[int] | None = None) -> Words:
        """Return the next words of the stream as `(rows, per_row)`."""
        count = self.rows if rows is None else len(rows)
        out = self.space.take("words", (count, per_row), _LITTLE)
        _fill(self._context, out.reshape(-1).view(np.uint8))
        return out.astype(np.uint64, copy=False)


class KeyedDraws:
    """Words of one keystream per row: a row's noise depends on its own key and on nothing else."""

    flat = False

    def __init__(self, keys: NDArray[np.uint8], space: Workspace) -> None:
        self.rows = len(keys)
        self.space = space
        # One cipher for all machines, so that the same key gives the same noise everywhere.
        raw, counter = keys.tobytes(), modes.CTR(bytes(16))
        self._contexts = [
            Cipher(algorithms.AES(raw[start : start + 32]), counter).encryptor()
            for start in range(0, len(raw), 32)
        ]

    def words(self, per_row: int, rows: Sequence[int] | None = None) -> Words:
        """Return the next words of each row's own stream as `(rows, per_row)`."""
        chosen = range(self.rows) if rows is None else rows
        out = self.space.take("words", (len(chosen), per_row), _LITTLE)
        lines, width = out.reshape(-1).view(np.uint8).data, 8 * per_row
        zeros = _ZEROS[:width]
        for line, row in enumerate(chosen):
            self._contexts[row].update_into(zeros, lines[line * width : (line + 1) * width])
        return out.astype(np.uint64, copy=False)


OpenBlock = Callable[[int, Workspace], Draws]
"""Opens the draws of block i, using a worker's buffers."""


class Randomness(Protocol):
    """Anything `privatize` accepts as `rng`: it opens the draws of each block of rows."""

    def blocks(self, bounds: Sequence[tuple[int, int]]) -> OpenBlock:
        """Reserve randomness for the row ranges `bounds`; the result opens the draws of one of them."""


class Source:
    """Secure randomness; `Source.seeded(n)` repeats itself and is for experiments only."""

    def __init__(self) -> None:
        self._seed: int | None = None
        self._cipher: CipherName = hardware_cipher()
        self._rekey()
        _LIVE.add(self)

    @classmethod
    def seeded(cls, seed: int) -> Source:
        """Make a repeatable source; it warns, because whoever knows the seed can take the noise off again."""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ParameterError(f"`seed` must be a whole number of at least 0. Found {seed!r}.")
        warnings.warn(
            f"Seeded noise (seed {seed}) protects nobody: use it for experiments only.",
            InsecureSeedWarning,
            stacklevel=2,
        )
        source = cls()
        source._seed = int(seed)
        source._cipher = "aes-256-ctr"  # the same numbers on every machine
        source._key = hashlib.sha256(b"sfumato seeded source\0" + str(int(seed)).encode()).digest()
        return source

    @property
    def seed(self) -> int | None:
        """The seed of a repeatable source; None for a secure one."""
        return self._seed

    @property
    def cipher(self) -> CipherName:
        """Which keystream this source uses."""
        return self._cipher

    def blocks(self, bounds: Sequence[tuple[int, int]]) -> OpenBlock:
        """Reserve one stream per block of rows."""
        if self._pid != os.getpid():
            self._after_fork()
        with self._lock:
            if self._spent:
                raise RandomnessError(
                    "A seeded source must not be used after a fork: parent and child would share noise. "
                    "Make one per process with its own seed."
                )
            first = self._next
            self._next += len(bounds)
            cipher, key = self._cipher, self._key

        def draws(index: int, space: Workspace) -> Draws:
            low, high = bounds[index]
            return StreamDraws(cipher, key, first + index, high - low, space)

        return draws

    def _rekey(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._key = secrets.token_bytes(32)
        self._next = 0
        self._spent = False

    def _after_fork(self) -> None:
        seeded = self._seed is not None
        self._rekey()
        self._spent = seeded

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy make a newly keyed source: the key never travels."""
        if self._seed is not None:
            raise RandomnessError(
                "A seeded source cannot be copied or pickled. Carry the seed and make a new one."
            )
        return (Source, ())

    def __repr__(self) -> str:
        """Show the kind of source and never its key."""
        return f"Source(cipher={self._cipher!r}, seed={self._seed!r})"


class RowKeys:
    """One 32-byte key per row: the randomness of sticky noise."""

    def __init__(self, keys: NDArray[np.uint8]) -> None:
        keys = np.asarray(keys)
        if keys.dtype != np.uint8 or keys.ndim != 2 or keys.shape[1] != 32:
            raise ParameterError(
                f"`keys` must be an (n, 32) array of bytes. Found shape {keys.shape}, type {keys.dtype}."
            )
        self._keys = keys

    def __len__(self) -> int:
        """How many rows there are keys for."""
        return len(self._keys)

    def blocks(self, bounds: Sequence[tuple[int, int]]) -> OpenBlock:
        """Give each block the keys of its rows."""
        rows = bounds[-1][1] if bounds else 0
        if rows != len(self._keys):
            raise ParameterError(
                f"Sticky noise needs one key per row. Found {len(self._keys)} keys for {rows} rows."
            )
        return lambda index, space: KeyedDraws(self._keys[slice(*bounds[index])], space)

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to travel: whoever holds these keys can take the noise off."""
        raise RandomnessError("Row keys cannot be copied or pickled. Derive them again from the secret.")

    def __repr__(self) -> str:
        """Show how many keys there are and never a key."""
        return f"RowKeys({len(self._keys)} rows)"


_LIVE: weakref.WeakSet[Source] = weakref.WeakSet()


def _rekey_all() -> None:
    # A lock held by another thread of the parent stays locked for ever in the child, so locks are new too.
    for source in list(_LIVE):
        source._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rekey_all)


@functools.cache
def default_source() -> Source:
    """The process's own secure source."""
    return Source()


def resolve(rng: object = None) -> Randomness:
    """Turn what a caller passed as `rng` into randomness: None is secure, a number is a loud seed."""
    if rng is None:
        return default_source()
    if isinstance(rng, Source | RowKeys):
        return rng
    if isinstance(rng, np.random.Generator):
        return Source.seeded(int(rng.integers(1 << 63)))
    if isinstance(rng, int | np.integer):
        return Source.seeded(int(rng) if not isinstance(rng, bool) else rng)
    raise ParameterError(
        f"`rng` must be None (secure), a Source, RowKeys or a seed for experiments. "
        f"Found {type(rng).__name__}."
    )


def generator(seed: int | None = None) -> np.random.Generator:
    """Make a numpy generator for work that protects nothing: shuffles, splits, studies."""
    return np.random.Generator(np.random.PCG64(secrets.randbits(128) if seed is None else seed))
