"""The batched program behind `MaskLearner`: many concepts, one sequence of steps, no loop over concepts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sfumato.randomness import generator
from sfumato.sensitivity.gates import (
    START_BETA,
    GatedClassifier,
    Tensor,
    draw_gates,
    open_probability,
    settled_gates,
    torch,
)
from sfumato.sensitivity.learned import MaskSettings

STEPS = 16
"""Fewest steps in an epoch, where there are pairs enough: few pairs need as many updates as many pairs."""
_GAIN = 0.3
_START_OPEN = 0.83
_NEAR = 0.01


@dataclass(frozen=True, slots=True, order=True)
class Layout:
    """How a concept's pairs are cut, which depends on their number alone.

    Concepts of one layout are learned together. Since padding is part of it, a concept's products have the
    same shape, and so the same rounding, whoever is learned beside it.
    """

    steps: int
    """Steps an epoch, a power of two."""
    batch: int
    """Pairs a step, padding included."""
    held: int
    """Held-out pairs, padding included."""

    @classmethod
    def of(cls, learning: int, held: int, batch_size: int) -> Layout:
        """Cut `learning` pairs into steps of at most `batch_size`, and round up to four sizes an octave."""
        steps = 2 ** math.ceil(math.log2(max(1.0, learning / batch_size)))
        steps = max(steps, min(STEPS, 2 ** int(math.log2(max(1, learning // 2)))))
        batch = _rounded_up(math.ceil(learning / steps))
        return cls(steps, batch, _rounded_up(held))


def _rounded_up(count: int) -> int:
    unit = 1 << max(0, count.bit_length() - 3)
    return -(-count // unit) * unit


@dataclass(slots=True)
class Batches:
    """The pairs of several concepts, standardised, shuffled and cut into steps, on the device."""

    rows: Tensor
    """`[steps, concepts, 2, batch, n]`: D+ first, then its twins in D-; padded with zeros."""
    weights: Tensor
    """`[steps, concepts, 1, batch]` of sum 1 for each step and concept; 0 for padding."""
    held_rows: Tensor
    held_weights: Tensor


def cut_batches(
    concepts: Sequence[tuple[Tensor, Tensor]],
    held: Sequence[int],
    layout: Layout,
    seed: int,
    precision: Any,
    device: Any,
) -> Batches:
    """Lay out the pairs so that a step is one contiguous block: cut once, in a seeded order.

    Coordinates are centred and divided by their own deviation, which the first layer could undo, so that a
    rate of learning means the same for every encoder.
    """
    steps, count, dim = layout.steps, len(concepts), concepts[0][0].shape[1]
    rows = torch.zeros((steps, count, 2, layout.batch, dim), dtype=precision, device=device)
    weights = torch.zeros((steps, count, 1, layout.batch), device=device)
    held_rows = torch.zeros((count, 2, layout.held, dim), dtype=precision, device=device)
    held_weights = torch.zeros((count, 1, layout.held), device=device)
    for index, ((plus, minus), kept) in enumerate(zip(concepts, held, strict=True)):
        order = torch.from_numpy(generator(seed).permutation(len(plus))).to(device)
        twins = torch.stack((plus.to(device)[order], minus.to(device)[order]))
        spread, centre = torch.std_mean(twins[:, kept:], dim=(0, 1), correction=0)
        # A coordinate that never moves has nothing to say: it is left at 0.
        scale = torch.where(spread > 1e-6 * spread.max(), spread, torch.inf)
        twins = ((twins - centre) / scale).to(precision)
        held_rows[index, :, :kept] = twins[:, :kept]
        held_weights[index, :, :kept] = 1.0 / kept
        learning = len(plus) - kept
        deep = math.ceil(learning / steps)
        # Dealt out like cards, so that batches differ by one pair at most.
        padded = torch.nn.functional.pad(twins[:, kept:], (0, 0, 0, deep * steps - learning))
        rows[:, index, :, :deep] = padded.view(2, deep, steps, dim).permute(2, 0, 1, 3)
        dealt = (torch.arange(deep * steps, device=device) < learning).view(deep, steps).T.float()
        weights[:, index, 0, :deep] = dealt / dealt.sum(dim=1, keepdim=True)
    return Batches(rows, weights, held_rows, held_weights)


@dataclass(slots=True)
class Outcome:
    """What training leaves behind, as numpy arrays in float64."""

    log_alpha: np.ndarray[Any, np.dtype[np.float64]]
    """`[concepts, n]` at each concept's best epoch."""
    best: np.ndarray[Any, np.dtype[np.intp]]
    """`[concepts]` the best epoch, from 0."""
    run: np.ndarray[Any, np.dtype[np.intp]]
    """`[concepts]` how many epochs there were until the concept stopped."""
    curves: np.ndarray[Any, np.dtype[np.float64]]
    """`[epochs, 6, concepts]`, in the order of `MaskCurves`."""


class HeldOut(NamedTuple):
    """How settled gates did on held-out pairs, one number a concept."""

    loss: Tensor
    accuracy: Tensor
    score: Tensor
    """What to stop by: less is better."""
    ready: Tensor
    """Whether an epoch without progress counts: not before a sparsity target is reached."""


class Training:
    """Gates, classifiers and optimiser of a batch of concepts."""

    def __init__(self, batches: Batches, settings: MaskSettings) -> None:
        self.batches, self.settings = batches, settings
        _, concepts, _, _, dim = batches.rows.shape
        device = batches.rows.device
        start, self.noise = generator(settings.seed).spawn(2)
        self.classifier = GatedClassifier(concepts, [dim, *settings.hidden], start, device)
        self.log_alpha = torch.zeros((concepts, dim), device=device)
        self.log_beta = torch.full((concepts, dim), math.log(START_BETA), device=device)
        self.weight = torch.full((concepts,), settings.penalty_weight, device=device)
        self.lift = torch.zeros_like(self.weight)
        self.gain = _GAIN * (dim if settings.penalty == "mean" else 1)
        self.taken, self.planned = 0, settings.epochs * len(batches.rows)
        gates = [self.log_alpha, self.log_beta]
        for tensor in (*self.classifier.parameters, *gates):
            tensor.requires_grad_()
        groups = [
            {"params": self.classifier.parameters, "lr": settings.learning_rate},
            {"params": gates, "lr": settings.gate_rate},
        ]
        self.adam = torch.optim.Adam(groups, fused=True)

    def penalty(self) -> Tensor:
        """Return the L0 penalty of each concept, to be ADDED to the loss.

        SPARSE's eq. 4 and DPPN's eq. 5 print a minus, which would pay for every gate left open.
        """
        expected = open_probability(self.log_alpha, self.log_beta)
        return expected.sum(dim=1) if self.settings.penalty == "sum" else expected.mean(dim=1)

    def loss(self, rows: Tensor, weights: Tensor, gates: Tensor) -> tuple[Tensor, Tensor]:
        """Return -log P(D+) - log(1 - P(D-)), halved, and the accuracy, for each concept (SPARSE, eq. 3).

        DPPN's eq. 4 prints 1 - log P for the second term; it is log(1 - P).
        """
        concepts, _, pairs, dim = rows.shape
        logits = self.classifier.logits(rows.view(concepts, 2 * pairs, dim), gates).view(concepts, 2, pairs)
        margins = torch.stack((logits[:, 0], -logits[:, 1]), dim=1)
        # -log sigma(t) = softplus(-t)
        losses = torch.nn.functional.softplus(-margins) * weights
        return losses.sum(dim=(1, 2)) / 2, ((margins > 0) * weights).sum(dim=(1, 2)) / 2

    def epoch(self) -> Tensor:
        """Take every step once, in a fresh order, and return the mean objective of each concept."""
        steps = len(self.batches.rows)
        uniform = self.noise.uniform(1e-6, 1.0 - 1e-6, (steps, self.log_alpha.shape[1]))
        # One draw of the gates a step (SPARSE, algorithm 2), the same on every device and for every concept.
        noise = torch.from_numpy(np.log(uniform / (1.0 - uniform)).astype(np.float32))
        noise = noise.to(self.log_alpha.device)
        total = torch.zeros_like(self.weight)
        for step in self.noise.permutation(steps).tolist():
            gates = draw_gates(self.log_alpha, self.log_beta, noise[step])
            loss, _ = self.loss(self.batches.rows[step], self.batches.weights[step], gates)
            objective = loss + self.weight * self.penalty()
            self.adam.zero_grad(set_to_none=True)
            objective.sum().backward()
            self.adam.step()
            total += objective.detach()
            self.steer()
        return total / steps

    def steer(self) -> None:
        """Set lambda in proportion to how many gates too many are open; it turns negative when too few are.

        The target is approached along a cubic path, so that lambda never outweighs what a gate is worth.
        """
        target = self.settings.sparsity
        if target is None:
            return
        self.taken += 1
        gone = min(1.0, 2.0 * self.taken / self.planned)
        start = max(target, _START_OPEN)
        with torch.no_grad():
            # Expected shares move at once, settled ones late but for good: the first lead, the second decide.
            expected = open_probability(self.log_alpha, self.log_beta).mean(dim=1)
            share = torch.lerp(expected, self.open_share(), gone)
            excess = self.gain * (share - target - (start - target) * (1.0 - gone) ** 3)
            if gone == 1.0:
                # Gates worth more than the proportional part: what is still missing adds up.
                self.lift += excess / 100
            self.weight = excess + self.lift

    def open_share(self) -> Tensor:
        """Share of settled gates above 0, for each concept."""
        return (settled_gates(self.log_alpha.detach()) > 0).float().mean(dim=1)

    def evaluate(self) -> HeldOut:
        """Try the settled gates on the held-out pairs."""
        with torch.no_grad():
            gates = settled_gates(self.log_alpha)
            loss, accuracy = self.loss(self.batches.held_rows, self.batches.held_weights, gates)
            target = self.settings.sparsity
            if target is None:
                score = loss + self.weight * self.penalty()
                return HeldOut(loss, accuracy, score, torch.ones_like(loss, dtype=torch.bool))
            # Lambda moves, so objectives of two epochs do not compare: being near the target comes first.
            room = max(_NEAR, 0.5 / gates.shape[1])
            missed = ((self.open_share() - target).abs() - room).clamp(min=0.0)
            return HeldOut(loss, accuracy, loss + 1e3 * missed, missed == 0)

    def curves(self, objective: Tensor, held: HeldOut) -> Tensor:
        """Return this epoch's `[6, concepts]` numbers, in the order of `MaskCurves`."""
        with torch.no_grad():
            expected = open_probability(self.log_alpha, self.log_beta).sum(dim=1)
        shares, weight = self.open_share(), self.weight
        return torch.stack((objective, held.loss, held.accuracy, expected, shares, weight))


def train(batches: Batches, settings: MaskSettings, on_epoch: Callable[[], object]) -> Outcome:
    """Run epochs until every concept has stopped; each keeps the gates of its own best epoch."""
    training = Training(batches, settings)
    best_gates = training.log_alpha.detach().clone()
    best_score = torch.full_like(training.weight, torch.inf)
    best, run, stale = (torch.zeros_like(best_score, dtype=torch.long) for _ in range(3))
    going = torch.ones_like(best_score, dtype=torch.bool)
    curves = []
    for epoch in range(settings.epochs):
        objective, held = training.epoch(), training.evaluate()
        curves.append(training.curves(objective, held))
        better = (held.score < best_score) & going
        best_score = torch.where(better, held.score, best_score)
        best_gates = torch.where(better.unsqueeze(1), training.log_alpha.detach(), best_gates)
        best = torch.where(better, epoch, best)
        run += going
        stale = torch.where(better, 0, stale + held.ready)
        going = going & (stale < settings.patience)
        on_epoch()
        # The one place an epoch waits for the device.
        if not bool(going.any()):
            break
    return Outcome(
        best_gates.double().cpu().numpy(),
        best.cpu().numpy(),
        run.cpu().numpy(),
        torch.stack(curves).double().cpu().numpy(),
    )
