"""The network that writes texts from vectors: a small transformer whose prefix is made of the vector.

One network is hypothesiser p(x | e) and corrector p(x | e, e_hat, e - e_hat, hypothesis) (Vec2Text, seed
003, section 3): each vector becomes 16 positions, the hypothesis its wordpieces. The prefix sees all of
itself, the text sees the prefix and what was written before.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sfumato.attacks.writers.layers import Block, KeyValueCache, Linear, rotation, rounded


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a network is.

    Args:
        dim: of the vectors it reads.
        vocabulary: how many wordpieces it can write.
        longest: most wordpieces in a text, without begin and end.
        positions: prefix positions a vector becomes.
        word_width: of the wordpieces' own vectors, which read and write.
        bag: add a linear map from the vector straight to the wordpieces; it learns fast which are there.
        apart: places between a wordpiece of a hypothesis and the same one of the text; `longest` and two when
            0. A network that learns longer texts keeps the distance it began with.
    """

    dim: int
    vocabulary: int
    longest: int = 32
    width: int = 768
    layers: int = 8
    heads: int = 12
    pairs: int = 4
    """Heads of keys and values, each shared by heads / pairs queries."""
    positions: int = 16
    word_width: int = 384
    bag: bool = False
    apart: int = 0


class Network(nn.Module):
    """Writes a text from its vector, or a better one from a hypothesis and its vector."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        width, places = sizes.width, sizes.positions
        self.words = nn.Parameter(torch.randn(sizes.vocabulary, sizes.word_width) * 0.05)
        self.bias = nn.Parameter(torch.zeros(sizes.vocabulary))
        self.read_words = Linear(sizes.word_width, width)
        self.write_words = Linear(width, sizes.word_width)
        self.turn = nn.ModuleList(Linear(sizes.dim, sizes.dim) for _ in range(3))
        self.expand = Linear(sizes.dim, places * width)
        self.place = nn.Parameter(torch.zeros(3, places, width))
        self.kind = nn.Parameter(torch.zeros(2, width))
        self.noise = nn.Parameter(torch.zeros(3, width))
        self.blocks = nn.ModuleList(
            Block(width, sizes.heads, sizes.pairs, 2 * sizes.dim) for _ in range(sizes.layers)
        )
        self.bag = Linear(sizes.dim, sizes.vocabulary) if sizes.bag else None
        for index in range(3):
            nn.init.eye_(self.turn[index].weight)
        if self.bag is not None:
            nn.init.zeros_(self.bag.weight)

    @property
    def hypothesis_start(self) -> int:
        """Where the hypothesis begins, in positions."""
        return 3 * self.sizes.positions

    @property
    def apart(self) -> int:
        """How far the text stands behind its hypothesis, and the least room a hypothesis has."""
        return self.sizes.apart or self.sizes.longest + 2

    @property
    def text_start(self) -> int:
        """Where the text begins; a text and its hypothesis stay the same distance apart."""
        return self.hypothesis_start + self.apart

    def look_up(self, tokens: Tensor, kind: int) -> Tensor:
        """The wordpieces' vectors as the blocks read them; kind 0 is the text, 1 a hypothesis."""
        found: Tensor = self.read_words(F.embedding(tokens, self.quantised("words"))) + self.kind[kind]
        return found

    def quantised(self, name: str) -> Tensor:
        """A parameter, rounded as it would be shipped while the network trains for that."""
        value: Tensor = getattr(self, name)
        return rounded(value) if self.read_words.rounding else value

    def prefix(
        self, vectors: Tensor, ratio: Tensor, guess: Tensor | None = None, tokens: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the prefix, its positions, and what every block is told.

        Args:
            vectors: `(n, dim)` to be read, of unit length.
            ratio: `(n,)` how much isotropic noise they hold, as a noise ratio; 0 for clean ones.
            guess: `(n, dim)` the vectors of the hypotheses.
            tokens: `(n, length)` the hypotheses.
        """
        places, width, kind = self.sizes.positions, self.sizes.width, self.words.dtype
        scale = self.sizes.dim**0.5  # coordinates of about 1 instead of a unit vector's
        vectors, guess = vectors * scale, None if guess is None else guess * scale
        difference = torch.zeros_like(vectors) if guess is None else vectors - guess
        told = torch.cat([vectors, difference], 1)
        parts = [vectors] if guess is None else [vectors, guess, difference]
        made = [
            self.expand(turn(part.to(kind))).view(-1, places, width) + self.place[index]
            for index, (turn, part) in enumerate(zip(self.turn, parts, strict=False))
        ]
        level = torch.stack([ratio, ratio**2, (ratio > 0).to(ratio.dtype)], 1).to(kind) @ self.noise
        made[0] = made[0] + level.to(made[0].dtype)[:, None]
        positions = torch.arange(len(parts) * places, device=vectors.device)
        if tokens is not None:
            made.append(self.look_up(tokens, 1))
            own = torch.arange(tokens.shape[1], device=vectors.device) + self.hypothesis_start
            positions = torch.cat([positions, own])
        return torch.cat(made, 1), positions, told.to(kind)

    def forward(
        self,
        vectors: Tensor,
        text: Tensor,
        ratio: Tensor,
        guess: Tensor | None = None,
        tokens: Tensor | None = None,
    ) -> Tensor:
        """Return what the blocks made of each position of `text` (begin first), before the wordpieces."""
        before, positions, told = self.prefix(vectors, ratio, guess, tokens)
        own = torch.arange(text.shape[1], device=text.device) + self.text_start
        seen = before.shape[1]
        x = torch.cat([before, self.look_up(text, 0)], 1)
        turned = rotation(torch.cat([positions, own]), self.sizes.width // self.sizes.heads)
        length = x.shape[1]
        row = torch.arange(length, device=x.device)
        mask = (row[None, :] <= row[:, None]) | (row[None, :] < seen)
        for block in self.blocks:
            x = block(x, told, turned, mask)
        return x[:, seen:]

    def start(self, before: Tensor, positions: Tensor, told: Tensor) -> list[KeyValueCache]:
        """Run the prefix; return what every block remembers of it, with room for a text."""
        turned = rotation(positions, self.sizes.width // self.sizes.heads)
        memories = [KeyValueCache(before.shape[1] + self.sizes.longest + 1) for _ in self.blocks]
        x = before
        for block, memory in zip(self.blocks, memories, strict=True):
            x = block.extend(x, told, turned, memory)
        return memories

    def step(self, memories: list[KeyValueCache], told: Tensor, tokens: Tensor, at: int) -> Tensor:
        """Scores of the wordpiece after `tokens` `(n,)`, which is at place `at` of the text."""
        where = torch.tensor([self.text_start + at], device=tokens.device)
        turned = rotation(where, self.sizes.width // self.sizes.heads)
        x = self.look_up(tokens[:, None], 0)
        for block, memory in zip(self.blocks, memories, strict=True):
            x = block.extend(x, told, turned, memory)
        return self.logits(x, told[:, : self.sizes.dim])[:, 0]

    def logits(self, hidden: Tensor, vectors: Tensor) -> Tensor:
        """Scores of every wordpiece at every position."""
        normed = F.rms_norm(hidden, (hidden.shape[-1],))
        scores = F.linear(self.write_words(normed), self.quantised("words")) + self.bias
        if self.bag is not None:
            scores = scores + self.bag(vectors)[:, None]
        return scores

    def describe(self) -> dict[str, Any]:
        """The sizes, ready for JSON."""
        return asdict(self.sizes)
