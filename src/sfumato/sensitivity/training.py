"""The batched program behind `MaskLearner`: many concepts, one sequence of steps, no loop over concepts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sfumato.randomness import generator
from sfumato.sensitivity.batches import Batches
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

ShareOut = Callable[..., Any]
"""`map`, or its like of a thread pool."""
_GAIN = 0.3
_START_OPEN = 0.83
_NEAR = 0.01


@dataclass(slots=True)
class TrainedGates:
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

    def __init__(self, batches: Batches, settings: MaskSettings, share_out: ShareOut = map) -> None:
        self.batches, self.settings, self.share_out = batches, settings, share_out
        _, self.parts, concepts, _, _, dim = batches.rows.shape
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
        self.learned = [*self.classifier.parameters, *gates]
        for tensor in self.learned:
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
            work = [(step, part, noise[step]) for part in range(self.parts)]
            objectives, gradients = zip(*self.share_out(self.gradients, work), strict=True)
            for tensor, *found in zip(self.learned, *gradients, strict=True):
                tensor.grad = found[0] if len(found) == 1 else found[0] + found[1]
            self.adam.step()
            total += sum(objectives)
            self.steer()
        return total / steps

    def gradients(self, work: tuple[int, int, Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return one part's share of the objective (SPARSE, eq. 5) and of all gradients."""
        step, part, noise = work
        gates = draw_gates(self.log_alpha, self.log_beta, noise)
        objective, _ = self.loss(self.batches.rows[step, part], self.batches.weights[step, part], gates)
        if part == 0:
            objective = objective + self.weight * self.penalty()
        return objective.detach(), torch.autograd.grad(objective.sum(), self.learned)

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


@contextmanager
def _two_threads(batches: Batches) -> Iterator[ShareOut]:
    """Work on the parts of a step in threads of our own, each with torch's own threads switched off.

    Torch's threads meet after every operation and spin while they wait: beside other programs that can take
    ten times as long as the arithmetic. Halves of a step meet once. There are two whatever the machine, so
    the number of its cores does not change a mask.
    """
    allowed = torch.get_num_threads()
    if batches.rows.is_cuda:
        yield map
        return
    torch.set_num_threads(1)
    try:
        if allowed == 1 or batches.rows.shape[1] == 1:
            yield map
        else:
            with ThreadPoolExecutor(2) as pool:
                yield pool.map
    finally:
        torch.set_num_threads(allowed)


def train(batches: Batches, settings: MaskSettings, on_epoch: Callable[[], object]) -> TrainedGates:
    """Run epochs until every concept has stopped; each keeps the gates of its own best epoch."""
    with _two_threads(batches) as share_out:
        return _train(Training(batches, settings, share_out), settings, on_epoch)


def _train(training: Training, settings: MaskSettings, on_epoch: Callable[[], object]) -> TrainedGates:
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
    return TrainedGates(
        best_gates.double().cpu().numpy(),
        best.cpu().numpy(),
        run.cpu().numpy(),
        torch.stack(curves).double().cpu().numpy(),
    )
