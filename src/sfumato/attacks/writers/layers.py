"""The parts of the network: a linear map that can train for 4 bits, and a transformer block."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

GROUP = 64
LEVELS = 7
"""Four bits: whole numbers from -7 to 7, with one scale for every 64 weights of a row."""
SMALLEST = 1 << 14
"""Matrices of fewer weights keep 16 bits: they are no burden and their rounding shows."""


def fits(weight: Tensor) -> bool:
    """Whether a weight is kept in four bits."""
    return bool(weight.ndim == 2 and weight.numel() >= SMALLEST and weight.shape[1] % GROUP == 0)


def scales(weight: Tensor) -> Tensor:
    """One scale a group, `(rows, columns / GROUP)`, in the precision it is stored in."""
    groups = weight.detach().float().unflatten(-1, (-1, GROUP))
    return (groups.abs().amax(-1) / LEVELS).clamp_min(1e-7).half()


def rounded(weight: Tensor) -> Tensor:
    """The weight as four bits give it back; gradients pass as if nothing had been rounded."""
    if not fits(weight):
        return weight
    step = scales(weight).float().repeat_interleave(GROUP, -1)
    near = (weight.detach().float() / step).round().clamp(-LEVELS, LEVELS) * step
    return weight + (near - weight.detach().float()).to(weight.dtype)


class Linear(nn.Linear):
    """A linear map without bias; with `rounding` on it computes with the weights that would be shipped."""

    rounding: bool = False

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map `x`."""
        return F.linear(x, rounded(self.weight) if self.rounding else self.weight)


def set_rounding(module: nn.Module, on: bool) -> None:
    """Train, from now on, for weights of four bits (or no longer)."""
    for part in module.modules():
        if isinstance(part, Linear):
            part.rounding = on


def rotation(positions: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the rotary position code, `(length, width / 2)` each."""
    speed = 1000.0 ** (-torch.arange(0, width, 2, device=positions.device) / width)
    angle = positions[:, None] * speed[None]
    return angle.cos(), angle.sin()


def rotate(x: Tensor, turned: tuple[Tensor, Tensor]) -> Tensor:
    """Turn `(n, heads, length, width)` by their positions."""
    cos, sin = (part.to(x.dtype) for part in turned)
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, left * sin + right * cos], -1)


class Block(nn.Module):
    """Attention and a two-layer map, each after a norm; the vector is told to every block again."""

    def __init__(self, width: int, heads: int, pairs: int, told: int) -> None:
        super().__init__()
        self.heads, self.pairs, self.each = heads, pairs, width // heads
        self.query = Linear(width, width)
        self.key = Linear(width, pairs * self.each)
        self.value = Linear(width, pairs * self.each)
        self.out = Linear(width, width)
        self.told = Linear(told, width)
        self.up = Linear(width, 4 * width)
        self.down = Linear(4 * width, width)
        for part in (self.out, self.down, self.told):
            nn.init.zeros_(part.weight)

    def _heads(self, x: Tensor, turned: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        normed = F.rms_norm(x, (x.shape[-1],))
        query = self.query(normed).unflatten(-1, (self.heads, self.each)).transpose(1, 2)
        key = self.key(normed).unflatten(-1, (self.pairs, self.each)).transpose(1, 2)
        value = self.value(normed).unflatten(-1, (self.pairs, self.each)).transpose(1, 2)
        query = rotate(F.rms_norm(query, (self.each,)), turned)
        key = rotate(F.rms_norm(key, (self.each,)), turned)
        return query, key, value

    def _finish(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        up = F.relu(self.up(F.rms_norm(x, (x.shape[-1],))))
        return x + self.down(up * up)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        share = self.heads // self.pairs
        if share > 1:
            key, value = key.repeat_interleave(share, 1), value.repeat_interleave(share, 1)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

    def forward(self, x: Tensor, told: Tensor, turned: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """All positions at once."""
        x = x + self.told(told)[:, None]
        query, key, value = self._heads(x, turned)
        return self._finish(x, self._attend(query, key, value, mask))

    def extend(self, x: Tensor, told: Tensor, turned: tuple[Tensor, Tensor], memory: KeyValueCache) -> Tensor:
        """Some more positions, which see all earlier ones and each other and are remembered."""
        x = x + self.told(told)[:, None]
        query, key, value = self._heads(x, turned)
        keys, values = memory.add(key, value)
        length = x.shape[1]
        # Queries that share their keys stand in a row, so that no key has to be copied for them.
        rows = query.unflatten(1, (self.pairs, -1)).flatten(2, 3)
        seen = F.scaled_dot_product_attention(rows, keys, values)
        attended = seen.unflatten(2, (-1, length)).flatten(1, 2)
        return self._finish(x, attended)


class KeyValueCache:
    """The keys and values of one block, with room for all positions there will be."""

    def __init__(self, room: int) -> None:
        self.room, self.used = room, 0
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def add(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Remember some more positions; return all."""
        if self.keys is None or self.values is None:
            rows, pairs, _, each = key.shape
            self.keys = key.new_empty(rows, pairs, self.room, each)
            self.values = value.new_empty(rows, pairs, self.room, each)
        end = self.used + key.shape[2]
        self.keys[:, :, self.used : end], self.values[:, :, self.used : end] = key, value
        self.used = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def take(self, rows: Tensor) -> None:
        """Go on with some of the rows, or with some of them several times."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys.index_select(0, rows), self.values.index_select(0, rows)
