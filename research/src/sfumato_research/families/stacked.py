"""Many small networks trained as one: the same steps as one after another, in a single batched program.

`sfumato.attacks.terms.perceptron.train` is what is done to each of them; start, order of rows, noise, rate
and loss are its own. Only the bits of dropout differ, since all networks draw theirs together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import fresh_releases
from sfumato.attacks.terms import perceptron as one
from sfumato.attacks.terms.perceptron import Perceptron, Schedule
from sfumato.attacks.terms.training_set import TrainingRun
from sfumato.randomness import generator

Drawn = Callable[[int], Any]
"""`[n, d]` the release of a call, counted from 0: a network's first is for its scaling, then one an epoch."""


@dataclass(slots=True, eq=False)
class SharedDraws:
    """The releases of one training set, which all networks that start from one seed share, as they would."""

    clean: Any
    release: Callable[[Any], Any]
    changes: bool
    """Whether a second release is another one."""
    _last: tuple[int, Any] = field(default=(-1, None))

    def __call__(self, number: int) -> Any:
        """The release of that number; they are asked for in order."""
        if self._last[0] != number and (self.changes or self._last[0] < 0):
            self._last = (number, self.release(self.clean))
        return self._last[1]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One network to be trained."""

    draws: SharedDraws
    held: NDArray[np.bool_]
    schedule: Schedule
    seed: int

    @property
    def rows(self) -> int:
        """How many it learns from."""
        return len(self.held)

    @property
    def batch(self) -> int:
        """Rows a step, as `train` has it."""
        return min(self.schedule.batch, max(8, math.ceil(self.rows / one.SMALLEST_STEPS)))

    @property
    def steps(self) -> int:
        """Steps an epoch."""
        return math.ceil(self.rows / self.batch)

    @property
    def alike(self) -> tuple[Any, ...]:
        """What networks that are trained together have in common."""
        plan = self.schedule
        return (plan.hidden, plan.epochs, plan.dropout, plan.weight_decay, self.steps, self.held.shape[1])


def jobs_of(runs: Sequence[TrainingRun]) -> list[Job]:
    """The networks of some training runs; those of one training set and seed are given the same noise."""
    known: dict[tuple[int, int], SharedDraws] = {}
    made = []
    for run in runs:
        key = (id(run.training), run.seed)
        if key not in known:
            release = run.training.release
            changes = release is not None and release.mechanism.noisy
            known[key] = SharedDraws(run.training.clean, fresh_releases(release, run.seed + 1), changes)
        made.append(Job(known[key], run.training.held, run.schedule, run.seed))
    return made


def train_jobs(jobs: Sequence[Job]) -> list[Perceptron]:
    """Train them all, those that are alike together."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, job in enumerate(jobs):
        groups.setdefault(job.alike, []).append(number)
    found: dict[int, Perceptron] = {}
    for numbers in groups.values():
        found.update(zip(numbers, _train([jobs[number] for number in numbers]), strict=True))
    return [found[number] for number in range(len(jobs))]


def _train(jobs: Sequence[Job]) -> list[Perceptron]:
    import torch

    plan, steps = jobs[0].schedule, jobs[0].steps
    device = jobs[0].draws.clean.device
    rngs = [generator(job.seed) for job in jobs]
    dropped = torch.Generator(device).manual_seed(int(rngs[0].integers(2**62)))
    for rng in rngs[1:]:
        rng.integers(2**62)  # as each would have drawn for its own dropout
    bases = [one._basis(job.draws(0), job.schedule.inputs) for job in jobs]
    tensors = _started(jobs, rngs, [len(centre) for centre, _ in bases], device)
    adam = torch.optim.AdamW(tensors, lr=one.PEAK_RATE, weight_decay=plan.weight_decay, fused=True)
    targets = _padded([torch.from_numpy(job.held).to(device) for job in jobs])
    for epoch in range(plan.epochs):
        scaled = [one._scaled(job.draws(1 + epoch), *base) for job, base in zip(jobs, bases, strict=True)]
        rows = _padded(scaled)
        del scaled
        orders = [rng.permutation(job.rows) for job, rng in zip(jobs, rngs, strict=True)]
        chosen, weights = _plan(jobs, orders, steps, device)
        for step in range(steps):
            one._set_rate(adam, (epoch * steps + step + 1) / (plan.epochs * steps))
            loss = _loss(rows, targets, chosen[step], weights[step], tensors, plan.dropout, dropped)
            adam.zero_grad()
            loss.backward()
            adam.step()
    apart = [[tensor[place] for tensor in tensors] for place in range(len(jobs))]
    return [one._frozen(own, *base) for own, base in zip(apart, bases, strict=True)]


def _started(
    jobs: Sequence[Job], rngs: Sequence[np.random.Generator], dims: Sequence[int], device: Any
) -> list[Any]:
    """Weights and offsets in turn, of all networks in one tensor each."""
    import torch

    made = [
        one._start([dim, *job.schedule.hidden, job.held.shape[1]], job.held.mean(axis=0), rng, device)
        for job, rng, dim in zip(jobs, rngs, dims, strict=True)
    ]
    return [
        torch.stack([each.detach() for each in column]).requires_grad_() for column in zip(*made, strict=True)
    ]


def _padded(tensors: Sequence[Any]) -> Any:
    """`[networks, n, columns]` with empty rows where one has fewer than another."""
    import torch

    most = max(len(tensor) for tensor in tensors)
    made = torch.zeros(
        (len(tensors), most, tensors[0].shape[1]), dtype=tensors[0].dtype, device=tensors[0].device
    )
    for place, tensor in enumerate(tensors):
        made[place, : len(tensor)] = tensor
    return made


def _plan(
    jobs: Sequence[Job], orders: Sequence[NDArray[np.integer]], steps: int, device: Any
) -> tuple[Any, Any]:
    """`[steps, networks, batch]` the rows of every step, and how much each counts; padding counts nothing."""
    import torch

    most = max(job.batch for job in jobs)
    chosen = np.zeros((steps, len(jobs), most), np.int64)
    weights = np.zeros((steps, len(jobs), most), np.float32)
    for place, (job, order) in enumerate(zip(jobs, orders, strict=True)):
        for step in range(steps):
            part = order[step * job.batch : (step + 1) * job.batch]
            chosen[step, place, : len(part)] = part
            weights[step, place, : len(part)] = 1 / len(part)
    return torch.from_numpy(chosen).to(device), torch.from_numpy(weights).to(device)


def _loss(
    rows: Any, targets: Any, chosen: Any, weights: Any, tensors: list[Any], dropout: float, draws: Any
) -> Any:
    """Each network's own mean, summed: no network's steps depend on another's."""
    import torch

    own = torch.arange(len(rows), device=rows.device)[:, None]
    state, last = rows[own, chosen], len(tensors) - 2
    for number in range(0, len(tensors), 2):
        state = torch.baddbmm(tensors[number + 1][:, None], state, tensors[number])
        if number < last:
            state = torch.relu(state)
            if dropout:
                kept = torch.rand(state.shape, generator=draws, device=rows.device) >= dropout
                state = state * kept / (1 - dropout)
    wanted = targets[own, chosen].float()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(state, wanted, reduction="none")
    return (loss.sum(dim=2) * weights).sum()
