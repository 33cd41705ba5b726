"""Practising on fresh releases: texts of the attacker's own, released anew, written and corrected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.attacks.base import Embeds, OnStep
from sfumato.attacks.on_device import rows_on
from sfumato.attacks.writers.generate import steady_attention, write
from sfumato.attacks.writers.made_texts import more_texts
from sfumato.attacks.writers.textreader import TextReader
from sfumato.attacks.writers.training import TextBatch, Trainer, trapezoid
from sfumato.attacks.writers.wordpieces import Tokens
from sfumato.attacks.writers.writing import by_length
from sfumato.devices import autocast
from sfumato.randomness import generator
from sfumato.types import Rows, Vectors

HEATS = (0.0, 0.5, 0.8, 1.0)
"""Temperatures of the hypotheses that are corrected."""
HIGHEST_RATE = {"cpu": 3e-5, "cuda": 5e-4}
"""Of learning, by device: the few steps of a processor, at a GPU's rate, unlearn more than they teach."""
_HONEST = 0.3
_WRITTEN = {"cpu": 64, "cuda": 1024}


def practice_rate(asked: float | None, device: torch.device) -> float:
    """The highest learning rate of practice: the one asked for, or the device's."""
    return asked or HIGHEST_RATE.get(device.type, HIGHEST_RATE["cpu"])


@dataclass(frozen=True, eq=False)
class Practice:
    """A reader, and the releases it practises on.

    Args:
        reader: what learns; its `estimate` and `ratio` are chosen already.
        texts: the attacker's own.
        entering: `(n, d)` the vectors that enter the release for them.
        release: vectors in, their releases out, with fresh noise at every call.
        entrance: embeds other texts as the victim does; None where only these are to be had.
        made: share of the practice that is parts of texts, and two of them joined.
        correcting: share of the practice that corrects hypotheses.
    """

    reader: TextReader
    texts: list[str]
    entering: Vectors
    release: Callable[[Vectors], Vectors | Tensor]
    entrance: Embeds | None
    made: float
    correcting: float

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.reader.network.parameters()).device

    @cached_property
    def tokens(self) -> Tokens:
        """Wordpieces of the texts."""
        return self.encoded(self.texts)

    def encoded(self, texts: list[str]) -> Tokens:
        """Wordpieces of other texts."""
        return self.reader.pieces.encode(texts, self.reader.network.sizes.longest)

    def released(self, entering: Vectors) -> Vectors:
        """Fresh releases of vectors, drawn where the network is, if that is a GPU."""
        found = self.release(rows_on(entering, self.device))
        return found.cpu().numpy() if isinstance(found, Tensor) else found

    def run(
        self, releases: int, batch: int, rate: float, random: np.random.Generator, on_step: OnStep | None
    ) -> None:
        """Practise on so many fresh releases."""
        trainer = Trainer(self.reader.network, rate=rate, pad=self.reader.pieces.pad)
        room = batch * (8 if self.device.type == "cpu" else 32)
        kept = round(_HONEST * len(self.texts)) if self.correcting and len(self.texts) > 3 else 0
        # Some texts are never written, only corrected, so that the mistakes made on them are those that the
        # network makes on texts it has not seen.
        written = PracticeOrder(np.arange(kept, len(self.texts)), random)
        honest = PracticeOrder(np.arange(kept), random) if kept else written
        self.reader.network.train()
        done = 0
        with steady_attention(self.device):  # hardly two batches have the same lengths
            while done < releases:
                for part in self._round(min(room, releases - done), batch, written, honest):
                    trainer.step(part, trapezoid(done / releases))
                    done += len(part.text)
                    if on_step is not None:
                        on_step("practising on releases", min(done / releases, 1.0))
        self.reader.network.eval()

    def _round(
        self, count: int, batch: int, written: PracticeOrder, honest: PracticeOrder
    ) -> Iterator[TextBatch]:
        """Batches of fresh pairs, those that are corrected beside those that are written."""
        corrected, random = round(self.correcting * count), written.random
        parts = []
        if corrected < count:
            parts += self._batches(*self._drawn(count - corrected, written), batch, random)
        if corrected:
            tokens, vectors = self._drawn(corrected, honest)
            parts += self._batches(tokens, vectors, batch, random, self.hypotheses(vectors))
        yield from (parts[number] for number in random.permutation(len(parts)))

    def _drawn(self, count: int, turns: PracticeOrder) -> tuple[Tokens, Vectors]:
        """Wordpieces of texts, and what the network is shown of fresh releases of them."""
        made = round(self.made * count) if self.entrance is not None else 0
        rows = turns.take(count - made)
        tokens, entering = self.tokens[rows], self.entering[rows]
        if made and self.entrance is not None:
            new = more_texts([self.texts[row] for row in turns.rows], made, turns.random)
            tokens = np.concatenate([tokens, self.encoded(new)])
            entering = np.concatenate([entering, np.asarray(self.entrance.embed(new), np.float32)])
        return tokens, self.reader.shown(self.released(entering))

    def _batches(
        self,
        tokens: Tokens,
        vectors: Vectors,
        batch: int,
        random: np.random.Generator,
        hypotheses: tuple[Vectors, Tokens] | None = None,
    ) -> list[TextBatch]:
        pad = self.reader.pieces.pad
        lengths = (tokens != pad).sum(1)
        parts = []
        for rows in by_length(lengths, batch, random):
            guess, written = None, None
            if hypotheses is not None:
                wide = int((hypotheses[1][rows] != pad).sum(1).max())
                guess, written = self._tensor(hypotheses[0][rows]), self._tensor(hypotheses[1][rows, :wide])
            text = self._tensor(tokens[rows, : int(lengths[rows].max())])
            ratio = torch.full((len(rows),), self.reader.ratio, device=self.device)
            parts.append(TextBatch(self._tensor(vectors[rows]), text, ratio, guess, written))
        return parts

    def _tensor(self, rows: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(rows)).to(self.device)

    def hypotheses(self, vectors: Vectors) -> tuple[Vectors, Tokens]:
        """What the network writes now, at several temperatures, and what it would be shown of that."""
        found = []
        size = min(_WRITTEN.get(self.device.type, 64), -(-len(vectors) // len(HEATS)))
        with autocast(self.device):
            for number, start in enumerate(range(0, len(vectors), size)):
                part = self._tensor(vectors[start : start + size])
                ratio = torch.full((len(part),), self.reader.ratio, device=self.device)
                heat = HEATS[number % len(HEATS)]
                found.append(
                    write(
                        self.reader.network, self.reader.specials, part, ratio=ratio, temperatures=(heat,)
                    ).tokens
                )
        tokens = torch.cat(found)
        return self.reader.encode(tokens).cpu().numpy(), tokens.cpu().numpy()

    @torch.no_grad()
    def loss(self, texts: list[str], released: Vectors, batch: int) -> float:
        """Mean loss of a wordpiece when these texts are written, and corrected where that is practised."""
        trainer = Trainer(self.reader.network, pad=self.reader.pieces.pad)
        tokens, vectors, order = self.encoded(texts), self.reader.shown(released), generator(0)
        kinds = [self._batches(tokens, vectors, batch, order)]
        if self.correcting:
            kinds.append(self._batches(tokens, vectors, batch, order, self.hypotheses(vectors)))
        losses = []
        with steady_attention(self.device):
            for parts in kinds:
                sizes = [int((part.text[:, 1:] != self.reader.pieces.pad).sum()) for part in parts]
                losses.append(np.average([float(trainer.loss(part)) for part in parts], weights=sizes))
        return float(np.mean(losses))


class PracticeOrder:
    """Rows in random order, none a second time before all have had their turn."""

    def __init__(self, rows: Rows, random: np.random.Generator) -> None:
        self.rows, self.random = rows, random
        self._left = rows[:0]

    def take(self, count: int) -> Rows:
        """The next rows."""
        while len(self._left) < count:
            self._left = np.concatenate([self._left, self.random.permutation(self.rows)])
        taken, self._left = self._left[:count], self._left[count:]
        return taken
