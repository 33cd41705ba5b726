"""Fresh long texts without end: stretches of documents beside the usual short texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from corpus import BEGIN, END, Corpus, to_next_word
from torch import Tensor

STOPS = (1012, 999, 1029)
"""Full stop, exclamation mark and question mark."""


def since(marks: np.ndarray, most: int) -> np.ndarray:
    """For each place how far back the last mark is, itself included; `most` where none is near."""
    here = np.arange(len(marks))
    last = np.maximum.accumulate(np.where(marks, here, -most))
    return np.minimum(here - last, most).astype(np.int32)


@dataclass(frozen=True)
class Place:
    """Where texts may be drawn: ranges of the long row, and how many places lie before each of them."""

    start: Tensor
    before: Tensor
    total: int


class LongCorpus(Corpus):
    """Sentences as ever, and documents of which stretches are drawn.

    Args:
        folder: with documents.npz beside what `Corpus` reads.
        longest: wordpieces of the longest text.
        mix: shares of stretches of up to a quarter of that, up to half of it, and up to all of it.
        short: share of the texts that are the usual ones, of sentences.
    """

    def __init__(
        self,
        folder: Path,
        device: str,
        seed: int,
        shares: tuple[float, ...],
        longest: int = 128,
        mix: tuple[float, ...] = (0.2, 0.35, 0.45),
        short: float = 0.45,
    ) -> None:
        super().__init__(folder, device, seed, shares)
        kept, begins = np.load(folder / "documents.npz"), np.load(folder / "test.npz")["begins"]
        flat, size = kept["flat"], kept["length"].astype(np.int64)
        self.longest, self.mix, self.short = longest, torch.tensor(mix, device=device), short
        self.row = torch.from_numpy(flat.astype(np.int32)).to(device)
        stop = np.isin(flat, STOPS)
        fresh = np.concatenate([[True], stop[:-1]])
        fresh[np.cumsum(size)[:-1]] = True
        self.word = torch.from_numpy(to_next_word(flat, begins)).to(device)
        """How far ahead the next word begins."""
        self.sentence = torch.from_numpy(since(fresh & begins[flat], 1000)).to(device)
        """How far back a sentence began."""
        self.ended = torch.from_numpy(since(stop, 1000)).to(device)
        """How far back a sentence ended."""
        self.ends = torch.from_numpy(np.repeat(np.cumsum(size), size)).to(device)
        """Where the document of each place ends."""
        self.trained, self.kept_back = (self._place(size, kept["part"] == part) for part in (0, 1))

    def _place(self, size: np.ndarray, wanted: np.ndarray) -> Place:
        start, own = (np.cumsum(size) - size)[wanted], size[wanted]
        before = torch.from_numpy(np.cumsum(own) - own).to(self.device)
        return Place(torch.from_numpy(start).to(self.device), before, int(own.sum()))

    def stretches(self, place: Place, count: int, swapped: float = 0.1) -> Tensor:
        """`(count, longest + 2)` stretches of documents: most begin with a sentence, half end with one."""
        at = self._under(torch.full((count,), place.total, device=self.device))
        which = torch.searchsorted(place.before, at, right=True) - 1
        at = place.start[which] + at - place.before[which]
        draw = torch.rand(4, count, generator=self.random, device=self.device)
        back = at - self.sentence[at].long()
        at = torch.where(draw[0] < 0.75, back, at + self.word[at].long()).minimum(self.ends[at] - 1)
        kind = torch.multinomial(self.mix, count, replacement=True, generator=self.random)
        high = torch.tensor([self.longest // 4, self.longest // 2, self.longest], device=self.device)[kind]
        low = torch.where(kind == 0, 4, high // 2)
        # Half of the stretches are as long as they may be: texts in a store are often cut so.
        most = torch.where(draw[1] < 0.5, high, low + ((high - low + 1) * draw[2]).long())
        size = most.minimum(self.ends[at] - at).clamp_min(1)
        last = (at + size - 1).clamp_max(len(self.row) - 1)
        whole = size - self.ended[last].long()  # up to the last end of a sentence
        size = torch.where((draw[3] < 0.5) & (whole >= 4), whole, size)
        size = self._to_whole_words(at, size)
        place_of = torch.arange(self.longest, device=self.device)[None]
        where = (at[:, None] + place_of).clamp_max(len(self.row) - 1)
        words = self.row[where].long()
        other = torch.randint(len(self.row), words.shape, generator=self.random, device=self.device)
        chance = torch.rand(words.shape, generator=self.random, device=self.device) < 0.12
        chance &= torch.rand(count, 1, generator=self.random, device=self.device) < swapped
        chance &= (self.word[where] == 0) & (self.word[other] == 0)
        words = torch.where(chance, self.row[other].long(), words)
        out = torch.zeros(count, self.longest + 2, dtype=torch.long, device=self.device)
        out[:, 0] = BEGIN
        out[:, 1:-1] = words * (place_of < size[:, None])
        out[torch.arange(count, device=self.device), size + 1] = END
        return out

    def _to_whole_words(self, at: Tensor, size: Tensor) -> Tensor:
        """Shorten stretches that end inside a word, by at most eight wordpieces."""
        for _ in range(8):
            stop = (at + size).clamp_max(len(self.row) - 1)
            inside = (self.word[stop] != 0) & (at + size < self.ends[at]) & (size > 1)
            size = size - inside.long()
        return size

    def mixed(self, count: int, mix: tuple[float, float, float, float], *, honest: bool = False) -> Tensor:
        """Usual texts of sentences and stretches of documents, `(count, longest + 2)`, in random order."""
        few = int(self.short * count)
        usual = self.texts(self.honest if honest else self.base, few, mix)
        usual = torch.nn.functional.pad(usual, (0, self.longest + 2 - usual.shape[1]))
        made = torch.cat([usual, self.stretches(self.kept_back if honest else self.trained, count - few)])
        return made[torch.randperm(count, generator=self.random, device=self.device)]
