"""Teaching a network to write: epochs over texts and vectors, in batches of about equal lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.attacks.base import OnStep
from sfumato.attacks.writers.network import Network
from sfumato.attacks.writers.textreader import unit
from sfumato.attacks.writers.training import TextBatch, Trainer, trapezoid
from sfumato.attacks.writers.wordpieces import Tokens
from sfumato.types import Vectors

Batches = Callable[[np.random.Generator], Iterator[TextBatch]]
"""One epoch of batches, in an order of its own."""

_RIDGE = 1.0
_GAIN = 6.0


@dataclass(frozen=True, slots=True)
class WriterTraining:
    """A network that is being taught, and where."""

    network: Network
    trainer: Trainer
    batch: int

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    def tensor(self, rows: NDArray[np.generic] | Tensor) -> Tensor:
        """Rows on the network's device."""
        if isinstance(rows, Tensor):
            return rows.to(self.device)
        return torch.from_numpy(np.ascontiguousarray(rows)).to(self.device)

    def texts(self, tokens: Tokens, release: Callable[[], Vectors], pad: int, ratio: float = 0.0) -> Batches:
        """Epochs in which every text is written from a fresh release of its vector."""

        def epoch(random: np.random.Generator) -> Iterator[TextBatch]:
            vectors = unit(release())
            for rows in by_length((tokens != pad).sum(1), self.batch, random):
                longest = int((tokens[rows] != pad).sum(1).max())
                yield TextBatch(
                    self.tensor(vectors[rows]),
                    self.tensor(tokens[rows, :longest]),
                    torch.full((len(rows),), ratio, device=self.device),
                )

        return epoch

    def train(
        self, batches: Batches, epochs: float, random: np.random.Generator, what: str, on_step: OnStep | None
    ) -> None:
        """Go through the texts so often, the learning rate rising and falling."""
        self.network.train()
        done = 0.0
        while done < epochs:
            parts = list(batches(random))
            for number, batch in enumerate(parts):
                share = (done + number / len(parts)) / epochs
                if share >= 1:
                    break
                self.trainer.step(batch, trapezoid(share))
                if on_step is not None:
                    on_step(what, share)
            done += 1
        self.network.eval()


def by_length(lengths: NDArray[np.integer], size: int, random: np.random.Generator) -> list[NDArray[np.intp]]:
    """Rows in batches of about equal lengths, the batches in random order."""
    order = np.argsort(lengths + random.random(len(lengths)), kind="stable")
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    return [parts[number] for number in random.permutation(len(parts))]


def start_bag(network: Network, tokens: Tokens, vectors: Vectors, known: int, end: int) -> None:
    """Set the map from vectors to wordpieces to ridge regression on which pieces each text holds.

    Wordpieces numbered below `known` are none, but every text has an `end`. The network then has to learn
    order, not words.
    """
    if network.bag is None:
        return
    rows, _ = np.nonzero(tokens >= known)
    flat = tokens[tokens >= known]
    held = scipy.sparse.csr_matrix(
        (np.ones(len(flat), np.float32), (rows, flat)), shape=(len(tokens), network.sizes.vocabulary)
    )
    held.sum_duplicates()
    held.data[:] = 1.0  # twice in a text is still in it
    scaled = unit(vectors) * np.float32(network.sizes.dim**0.5)
    centred = scaled - scaled.mean(axis=0)
    gram = centred.T @ centred + _RIDGE * len(tokens) * 0.01 * np.eye(scaled.shape[1])
    weights = np.linalg.solve(gram, np.asarray((held.T @ centred).T))
    with torch.no_grad():
        network.bag.weight.copy_(torch.from_numpy(np.ascontiguousarray(_GAIN * weights.T, np.float32)))
        shares = np.asarray(held.mean(axis=0)).ravel()
        shares[end] = 1.0
        network.bias.copy_(torch.from_numpy(np.log(shares + 1e-5).astype(np.float32)))
