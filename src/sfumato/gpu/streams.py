"""Keys for device noise: a fresh one for each call, or one for each row, taken from `sfumato.randomness`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.gpu.coefficients import NOISE_VERSION
from sfumato.randomness import RowKeys, resolve
from sfumato.workspace import Workspace

_LABEL = f"sfumato device noise {NOISE_VERSION}\0".encode()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Streams:
    """The keystreams of consecutive rows; the same row has the same words whatever is drawn beside it."""

    keys: Any
    """`[1, 8]` or, one a row, `[rows, 8]` int32 tensor: ChaCha20 keys as little-endian words."""
    rows: int
    keyed: bool
    """Whether every row has its own key; its number then plays no part."""
    first: int = 0
    """Number of the first row, which tells rows of one key apart."""

    def part(self, low: int, high: int) -> Streams:
        """The streams of some of the rows."""
        keys = self.keys[low:high] if self.keyed else self.keys
        return Streams(keys, high - low, self.keyed, self.first + low)

    def forget(self) -> None:
        """Overwrite the keys, because a device hands freed memory to whoever asks next."""
        self.keys.zero_()


def open_streams(rng: object, rows: int, device: Any) -> Streams:
    """Draw the keys of one call: 32 bytes from a source, or 32 from each row's own key."""
    import torch

    randomness = resolve(rng)
    sticky = isinstance(randomness, RowKeys)
    count = rows if sticky else 1
    draws = randomness.blocks([(0, count)])(0, Workspace())
    # Hashed, so that what a row's key gives on a CPU says nothing about what it gives here.
    seeds = (line.astype("<u8").tobytes() for line in draws.words(4))
    raw = b"".join(hashlib.sha256(_LABEL + seed).digest() for seed in seeds)
    words = np.frombuffer(raw, "<i4").reshape(count, 8).astype(np.int32)
    return Streams(torch.from_numpy(words).to(device), rows, sticky)
