"""Fresh texts without end: sentences, parts of them, two of them joined, words swapped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

BEGIN, END, LONGEST = 101, 102, 32


class Corpus:
    """Sentences as one long row of wordpieces on the device."""

    def __init__(self, file: Path, device: str, seed: int) -> None:
        kept = np.load(file)
        self.device = device
        self.flat = torch.from_numpy(kept["flat"].astype(np.int32)).to(device)
        self.start = torch.from_numpy(kept["start"].astype(np.int64)).to(device)
        self.length = torch.from_numpy(kept["length"].astype(np.int64)).to(device)
        self.cut = torch.from_numpy(kept["cut"].astype(np.int64)).to(device)
        """For each place, how many places on the next word begins."""
        times, part = kept["weight"].astype(np.int64), kept["part"]
        self.base = torch.from_numpy(np.repeat(np.arange(len(part)), times * (part == 0))).to(device)
        self.honest = torch.from_numpy(np.repeat(np.arange(len(part)), times * (part == 1))).to(device)
        """Sentences the hypothesiser is never trained on, so that its mistakes on them are honest."""
        self.test = kept["test"]
        self.random = torch.Generator(device).manual_seed(seed)

    def _under(self, bound: Tensor) -> Tensor:
        """A whole number from 0 to bound - 1 for each."""
        share = torch.rand(bound.shape, generator=self.random, device=self.device)
        return (share * bound).long().clamp_max(bound - 1)

    def _draw(self, rows: Tensor, count: int) -> Tensor:
        return rows[torch.randint(len(rows), (count,), generator=self.random, device=self.device)]

    def texts(self, rows: Tensor, count: int, mix: tuple[float, float, float, float]) -> Tensor:
        """`(count, 34)` texts: `mix` is the share of whole ones, parts, joined ones, with words swapped."""
        kind = torch.multinomial(
            torch.tensor(mix, device=self.device), count, replacement=True, generator=self.random
        )
        left, right = self._draw(rows, count), self._draw(rows, count)
        size, other = self.length[left].clamp_max(LONGEST), self.length[right]
        begin = torch.zeros_like(size)
        stop = size.clone()
        part = kind == 1
        begin = torch.where(part, self._under((size - 3).clamp_min(1)), begin)
        stop = torch.where(
            part, (begin + 3 + self._under((size - begin - 2).clamp_min(1))).minimum(size), stop
        )
        join = kind == 2
        stop = torch.where(join, (2 + self._under((size - 3).clamp_min(1))).minimum(size), stop)
        begin = begin + self._to_word(left, begin, size)
        stop = (stop + self._to_word(left, stop, size)).minimum(size)
        room = (LONGEST - (stop - begin)).clamp_min(0)
        tail = (2 + self._under((other - 2).clamp_min(1))).minimum(other).minimum(room)
        from_tail = other - tail
        from_tail = from_tail + self._to_word(right, from_tail, other)
        tail = torch.where(join, other - from_tail, torch.zeros_like(other))
        own = stop - begin
        place = torch.arange(LONGEST, device=self.device)[None]
        first = self.start[left][:, None] + begin[:, None] + place
        second = self.start[right][:, None] + from_tail[:, None] + place - own[:, None]
        where = torch.where(place < own[:, None], first, second).clamp(0, len(self.flat) - 1)
        total = (own + tail).clamp(1, LONGEST)
        words = self.flat[where].long()
        anywhere = torch.randint(len(self.flat), words.shape, generator=self.random, device=self.device)
        chance = torch.rand(words.shape, generator=self.random, device=self.device) < 0.12
        whole = (self.cut[where] == 0) & (self.cut[anywhere] == 0)  # both are the beginning of a word
        words = torch.where((kind == 3)[:, None] & chance & whole, self.flat[anywhere].long(), words)
        out = torch.zeros(count, LONGEST + 2, dtype=torch.long, device=self.device)
        out[:, 0] = BEGIN
        out[:, 1:-1] = words * (place < total[:, None])
        out[torch.arange(count, device=self.device), total + 1] = END
        return out

    def _to_word(self, row: Tensor, at: Tensor, size: Tensor) -> Tensor:
        """How far the next word is, 0 at the end of a text."""
        ahead = self.cut[(self.start[row] + at).clamp_max(len(self.flat) - 1)]
        return torch.where(at >= size, torch.zeros_like(at), ahead.minimum(size - at))
