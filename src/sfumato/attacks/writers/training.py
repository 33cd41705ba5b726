"""Training the network: one step of it, on a CPU or a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sfumato.attacks.writers.layers import Linear
from sfumato.attacks.writers.network import Network
from sfumato.devices import autocast


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Texts to be written from vectors; with `guess` and `tokens`, from hypotheses as well."""

    vectors: Tensor
    text: Tensor
    """`(n, length)` begin, wordpieces, end, padding."""
    ratio: Tensor
    guess: Tensor | None = None
    tokens: Tensor | None = None


_MUON_WIDTH = 256
"""On a CPU the products Muon makes of wider matrices would take longer than the network itself."""


class Trainer:
    """Takes steps: Muon for matrices, AdamW for the rest, bfloat16 where that is faster.

    Args:
        network: what is trained, already on its device.
        rate: the highest learning rate, of the matrices; the rest learn at 0.4 of it.
        pad: the wordpiece that is never learned.
        fast: compile the blocks first, which takes half a minute and pays on a GPU.
    """

    def __init__(self, network: Network, *, rate: float = 3e-3, pad: int = 0, fast: bool = False) -> None:
        self.network, self.rate, self.pad = network, rate, pad
        self.device = next(network.parameters()).device
        on_gpu = self.device.type == "cuda"
        matrices = [
            part.weight
            for part in network.modules()
            if isinstance(part, Linear) and part is not network.bag  # one row a wordpiece, like the words
        ]
        known = {id(weight) for weight in matrices}
        rest = [weight for weight in network.parameters() if id(weight) not in known]
        fused = True if on_gpu else None
        adam = torch.optim.AdamW(rest, betas=(0.9, 0.98), weight_decay=0.0, fused=fused)
        if on_gpu or network.sizes.width <= _MUON_WIDTH:
            muon: torch.optim.Optimizer = torch.optim.Muon(
                matrices, weight_decay=0.02, momentum=0.95, adjust_lr_fn="match_rms_adamw"
            )
        else:
            muon = torch.optim.AdamW(matrices, betas=(0.9, 0.98), weight_decay=0.02)
        self._optimisers = (muon, adam)
        for optimiser, part in zip(self._optimisers, (1.0, 0.4), strict=True):
            optimiser.param_groups[0]["part"] = part
        if fast:
            for block in network.blocks:
                block.compile(dynamic=True)
            self._head = torch.compile(self._head, dynamic=True)  # type: ignore[method-assign]

    def _head(self, hidden: Tensor, vectors: Tensor, wanted: Tensor) -> Tensor:
        scores = self.network.logits(hidden, vectors * self.network.sizes.dim**0.5)
        return F.cross_entropy(scores.flatten(0, 1).float(), wanted.flatten(), ignore_index=self.pad)

    def loss(self, batch: TextBatch) -> Tensor:
        """Mean loss of a wordpiece, in nats."""
        with autocast(self.device):
            hidden = self.network(batch.vectors, batch.text[:, :-1], batch.ratio, batch.guess, batch.tokens)
            return self._head(hidden, batch.vectors, batch.text[:, 1:])

    def step(self, batch: TextBatch, share: float) -> Tensor:
        """One step at this share of the highest learning rate; return the loss, still on its device."""
        for optimiser in self._optimisers:
            for group in optimiser.param_groups:
                group["lr"] = self.rate * share * group["part"]
        loss = self.loss(batch)
        loss.backward()
        for optimiser in self._optimisers:
            optimiser.step()
            optimiser.zero_grad()
        return loss.detach()


def trapezoid(done: float, *, warm: float = 0.03, cool: float = 0.5) -> float:
    """Share of the learning rate after this share of the work: up, level, and down over the last part."""
    return max(min(done / warm, 1.0, (1.0 - done) / cool), 1e-3)
