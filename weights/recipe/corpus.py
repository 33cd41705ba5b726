"""Fresh texts without end: sentences, parts of them, two of them joined, words swapped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

BEGIN, END, LONGEST = 101, 102, 32


@dataclass(frozen=True)
class Rows:
    """Sentences to draw from: groups of them, and how often each group's turn comes."""

    groups: list[Tensor]
    shares: Tensor

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.groups + other.groups, torch.cat([0.85 * self.shares, 0.15 * other.shares]))


def to_next_word(flat: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """For each place of the row of wordpieces, how many places on the next word begins."""
    here = np.arange(len(flat), dtype=np.int64)
    places = np.where(begins[flat], here, len(flat))
    ahead = np.minimum.accumulate(places[::-1])[::-1] - here
    return np.minimum(ahead, 60).astype(np.uint8)


class Corpus:
    """Sentences as one long row of wordpieces on the device.

    Args:
        folder: with corpus-*.npz and test.npz, as prepare.py writes them.
        shares: of draws from each group of sentences: given ones, general ones, technical ones.
    """

    def __init__(
        self, folder: Path, device: str, seed: int, shares: tuple[float, ...] = (0.4, 0.4, 0.2)
    ) -> None:
        files = sorted(folder.glob("corpus-*.npz"))
        if not files:
            raise SystemExit(f"{folder} holds no corpus-*.npz. Make them with prepare.py.")
        kept = [np.load(file) for file in files]
        held = np.load(folder / "test.npz")
        flat, length, group, part = (
            np.concatenate([file[name] for file in kept]) for name in ("flat", "length", "group", "part")
        )
        self.device = device
        self.flat = torch.from_numpy(flat.astype(np.int32)).to(device)
        size = length.astype(np.int64)
        self.start = torch.from_numpy(np.cumsum(size) - size).to(device)
        self.length = torch.from_numpy(size).to(device)
        self.cut = torch.from_numpy(to_next_word(flat, held["begins"])).to(device)
        """For each place, how many places on the next word begins."""
        self.base = self._groups(group, part == 0, shares)
        self.honest = self._groups(group, part == 1, shares)
        """Sentences the hypothesiser is never trained on, so that its mistakes on them are honest."""
        self.test = held["test"]
        self.random = torch.Generator(device).manual_seed(seed)

    def _groups(self, group: np.ndarray, wanted: np.ndarray, shares: tuple[float, ...]) -> Rows:
        found = [np.flatnonzero(wanted & (group == number)) for number in range(len(shares))]
        some = [number for number, rows in enumerate(found) if len(rows)]
        return Rows(
            [torch.from_numpy(found[number]).to(self.device) for number in some],
            torch.tensor([shares[number] for number in some], device=self.device),
        )

    def _under(self, bound: Tensor) -> Tensor:
        """A whole number from 0 to bound - 1 for each."""
        share = torch.rand(bound.shape, generator=self.random, device=self.device)
        return (share * bound).long().clamp_max(bound - 1)

    def _draw(self, rows: Rows, count: int) -> Tensor:
        kind = torch.multinomial(rows.shares, count, replacement=True, generator=self.random)
        sizes = torch.tensor([len(group) for group in rows.groups], device=self.device)
        at = self._under(sizes[kind])
        found = torch.empty(count, dtype=torch.long, device=self.device)
        for number, group in enumerate(rows.groups):
            mine = kind == number
            found[mine] = group[at[mine]]
        return found

    def texts(self, rows: Rows, count: int, mix: tuple[float, float, float, float]) -> Tensor:
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

    def garbled(self, text: Tensor) -> Tensor:
        """The same texts with some wordpieces out of place, left out or replaced: almost right hypotheses."""
        count, width = text.shape
        size = (text != 0).sum(1, keepdim=True) - 2
        at = torch.arange(width, device=self.device)[None].expand(count, -1)
        inside = (at >= 1) & (at <= size)

        def draw(*shape: int) -> Tensor:
            return torch.rand(shape, generator=self.random, device=self.device)

        other = self.flat[(draw(count, width) * len(self.flat)).long()].long()
        made = torch.where(inside & (draw(count, width) < 0.2 * draw(count, 1)), other, text)
        dropped = inside & (draw(count, width) < 0.1 * draw(count, 1)) & (size > 3)
        order = at + draw(count, width) * 5 * draw(count, 1) * inside
        order = torch.where(dropped, 2.0 * width, torch.where(at == size + 1, 1.5 * width, order))
        order = torch.where(at > size + 1, 3.0 * width, order).argsort(dim=1, stable=True)
        made = made.masked_fill(dropped, 0).gather(1, order)
        return made

    def _to_word(self, row: Tensor, at: Tensor, size: Tensor) -> Tensor:
        """How far the next word is, 0 at the end of a text."""
        ahead = self.cut[(self.start[row] + at).clamp_max(len(self.flat) - 1)].long()
        return torch.where(at >= size, torch.zeros_like(at), ahead.minimum(size - at))
