"""ChaCha20 (RFC 8439) in plain torch operations: the block function on many blocks at once."""

from __future__ import annotations

from typing import Any

import torch

from sfumato.gpu.coefficients import ROUNDS, SIGMA
from sfumato.gpu.streams import Streams

Tensor = Any


def _signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word


def _rotate(words: Tensor, bits: int) -> Tensor:
    # A right shift of a signed number brings in copies of its sign, which the mask takes off again.
    return (words << bits) | ((words >> (32 - bits)) & ((1 << bits) - 1))


def _quarter_rounds(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Four quarter rounds side by side, one in each column (section 2.1)."""
    a = a + b
    d = _rotate(d ^ a, 16)
    c = c + d
    b = _rotate(b ^ c, 12)
    a = a + b
    d = _rotate(d ^ a, 8)
    c = c + d
    return a, _rotate(b ^ c, 7), c, d


def permute(state: Tensor, rounds: int = ROUNDS) -> Tensor:
    """The block function (section 2.3) on a `[16, ...]` int32 state."""
    a, b, c, d = state.reshape(4, 4, *state.shape[1:])
    for _ in range(rounds // 2):
        a, b, c, d = _quarter_rounds(a, b, c, d)
        # Rolled by one, two and three columns, diagonals stand in columns.
        b, c, d = b.roll(-1, 0), c.roll(-2, 0), d.roll(-3, 0)
        a, b, c, d = _quarter_rounds(a, b, c, d)
        b, c, d = b.roll(1, 0), c.roll(2, 0), d.roll(3, 0)
    return torch.cat([a, b, c, d]) + state


def keystream(streams: Streams, purpose: int, blocks: int, first_block: int = 0) -> Tensor:
    """Words of the first `blocks` blocks of every row, as `[16, rows, blocks]` int32.

    State: four constants, the key, the block's number, the row's number in two words, and the purpose.
    """
    device = streams.keys.device
    state = torch.empty((16, streams.rows, blocks), dtype=torch.int32, device=device)
    for place, word in enumerate(SIGMA):
        state[place] = _signed(word)
    state[4:12] = streams.keys.T[:, :, None]
    state[12] = torch.arange(first_block, first_block + blocks, dtype=torch.int32, device=device)
    if streams.keyed:
        state[13:15] = 0
    else:
        row = torch.arange(streams.first, streams.first + streams.rows, device=device)
        state[13] = row.to(torch.int32)[:, None]
        state[14] = (row >> 32).to(torch.int32)[:, None]
    state[15] = purpose
    return permute(state)


def long_word(words: Tensor, place: int) -> Tensor:
    """The 64-bit word number `place` of each block: two little-endian words, as int64."""
    return (words[2 * place + 1].to(torch.int64) << 32) | (words[2 * place].to(torch.int64) & 0xFFFFFFFF)
