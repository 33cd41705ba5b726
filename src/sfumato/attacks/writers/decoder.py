"""The decoder attack: a small language model whose prefix is the vector, trained from nothing (GEIA)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from sfumato.attacks.base import Attack, OnStep, checked, fresh_releases, held_back
from sfumato.attacks.huggingface.training import seeded
from sfumato.attacks.on_device import rows_on
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.textreader import TextReader
from sfumato.attacks.writers.training import Trainer
from sfumato.attacks.writers.wordpieces import SPECIAL, Tokens, Wordpieces
from sfumato.attacks.writers.writing import WriterTraining, start_bag
from sfumato.devices import chosen_device
from sfumato.errors import InputError
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.types import Vectors


@dataclass(frozen=True, kw_only=True)
class Decoder(Attack):
    """Writes the text with a language model of its own, which a CPU trains in minutes.

    Args:
        wordpieces: how many are learned from the texts.
        longest: most wordpieces in a text; the rest of longer ones is left out.
        width: of the network.
        layers: how many blocks it has.
        positions: prefix positions the vector becomes.
        epochs: times it goes through the texts; then half as often again, on releases.
        rate: highest learning rate.
        held_back: share of the texts held back for the control.
        device: such as "cpu" or "cuda"; a GPU when None and there is one.
    """

    wordpieces: int = 6000
    longest: int = 32
    width: int = 192
    layers: int = 2
    positions: int = 4
    epochs: float = 6.0
    batch: int = 64
    rate: float = 3e-3
    held_back: float = 0.05
    device: str | None = None
    seed: int = 0

    name: ClassVar[str] = "decoder"
    paper: ClassVar[str] = "GEIA"
    summary: ClassVar[str] = "writes the text with a small language model trained from nothing"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.wordpieces, "wordpieces", 200, 60_000)
        whole_number(self.longest, "longest", 1, 254)
        whole_number(self.layers, "layers", 1, 48)
        whole_number(self.positions, "positions", 1, 256)
        whole_number(self.batch, "batch", 1, 10**6)
        if whole_number(self.width, "width", 64, 4096) % 64:
            raise InputError(f"`width` must be a multiple of 64. Found {self.width}.")
        finite_number(self.epochs, "epochs", 1e-3, 1e4)
        finite_number(self.rate, "rate", 1e-6, 1.0)
        finite_number(self.held_back, "held_back", 0.0, 0.9)
        whole_number(self.seed, "seed", 0, 2**63 - 1)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> TextReader:
        """Teach a network to write texts from their vectors, then from releases of them."""
        known, clean = checked(texts, vectors)
        if len(known) < 2:
            raise InputError(f"There must be at least two texts to learn from. Found {len(known)}.")
        training, test = held_back(len(known), self.held_back, self.seed)
        learned = [known[row] for row in training]
        pieces = Wordpieces.learn(learned, self.wordpieces)
        tokens = pieces.encode(learned, self.longest)
        release = fresh_releases(mechanism, self.seed)
        same = release(clean[:1]).shape[1] == clean.shape[1]
        random = generator(self.seed)
        device = chosen_device(self.device)
        with seeded(self.seed, device):
            start = clean[training] if same else release(clean[training])
            rows = rows_on(clean[training], device)
            writer = self.writer(pieces, tokens, start)
            reader = TextReader(writer.network, pieces, seed=self.seed)
            if same:
                epochs = writer.texts(tokens, lambda: rows, pieces.pad)
                writer.train(epochs, self.epochs, random, "learning to write", on_step)
                reader.measure([known[row] for row in test], clean[test])
            # Where there is no noise too: an attack and its control have to be trained as long as each other.
            noised = writer.texts(tokens, lambda: release(rows), pieces.pad)
            often = self.epochs / 2 if same else self.epochs
            writer.train(noised, often, random, "learning the noise", on_step)
            if mechanism is None:
                reader.measure([known[row] for row in test], clean[test])
        return reader

    def writer(self, pieces: Wordpieces, tokens: Tokens, vectors: Vectors) -> WriterTraining:
        """A network for these wordpieces and vectors, ready to learn."""
        sizes = Sizes(
            vectors.shape[1],
            len(pieces),
            longest=self.longest,
            width=self.width,
            layers=self.layers,
            heads=self.width // 64,
            pairs=self.width // 64,
            positions=self.positions,
            word_width=self.width,
            bag=True,
        )
        network = Network(sizes)
        start_bag(network, tokens, np.asarray(vectors, np.float32), len(SPECIAL), pieces.end)
        network.to(chosen_device(self.device))
        fast = torch.cuda.is_available() and self.width >= 512
        return WriterTraining(
            network, Trainer(network, rate=self.rate, pad=pieces.pad, fast=fast), self.batch
        )
