"""A multi-layer perceptron that says which terms are in a text, trained on fresh releases and kept as arrays.

Read with numpy alone; torch is needed to train it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArtifactError
from sfumato.randomness import generator
from sfumato.types import Floats

Matrix = NDArray[np.float32]
Layer = tuple[Matrix, Matrix]
"""`[in, out]` weights and `[out]` offsets."""

Inputs = Literal["scaled", "white"]
"""Vectors with one scale for all directions, or with the same variance in each.

A public filter leaves little variance where it expects little signal; unless that is made up for, a network
hardly looks there.
"""

WHITE_FLOOR = 0.1
"""Share of the mean variance added to every direction's before they are made equal."""
WARM_UP = 0.1
PEAK_RATE = 2e-3
SMALLEST_STEPS = 40
"""Steps an epoch has at least, in smaller batches where there are few texts."""
_BLOCK = 4096
_WIDENED = 1 << 24
"""Numbers of a tensor that are widened to float64 at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Perceptron:
    """Layers with ReLU between them."""

    layers: tuple[Layer, ...]

    def logits(self, vectors: Matrix) -> Matrix:
        """`(n, terms)` log odds, block by block."""
        out = np.empty((len(vectors), self.layers[-1][0].shape[1]), np.float32)
        for start in range(0, len(vectors), _BLOCK):
            rows = vectors[start : start + _BLOCK]
            for weights, offsets in self.layers[:-1]:
                rows = np.maximum(rows @ weights + offsets, 0.0)
            weights, offsets = self.layers[-1]
            out[start : start + _BLOCK] = rows @ weights + offsets
        return out

    def rescaled(self, slope: float, shift: float) -> Perceptron:
        """The perceptron whose log odds are `slope` times these plus `shift`."""
        weights, offsets = self.layers[-1]
        last = (weights * np.float32(slope), offsets * np.float32(slope) + np.float32(shift))
        return Perceptron((*self.layers[:-1], last))

    def tensors(self, name: str) -> dict[str, Matrix]:
        """Its arrays, for saving."""
        return {
            f"{name}.{number}.{part}": array
            for number, layer in enumerate(self.layers)
            for part, array in zip(("weights", "offsets"), layer, strict=True)
        }

    @classmethod
    def from_tensors(cls, name: str, tensors: dict[str, NDArray[Any]]) -> Perceptron:
        """Read saved arrays back, or refuse what does not fit together."""
        layers: list[Layer] = []
        while f"{name}.{len(layers)}.weights" in tensors:
            weights, offsets = (
                np.asarray(tensors.get(f"{name}.{len(layers)}.{part}", np.zeros(0)), np.float32)
                for part in ("weights", "offsets")
            )
            before = layers[-1][0].shape[1] if layers else None
            if weights.ndim != 2 or offsets.shape != weights.shape[1:] or before not in (None, len(weights)):
                raise ArtifactError(f"Layer {len(layers)} of a saved classifier does not fit the one before.")
            layers.append((weights, offsets))
        if not layers:
            raise ArtifactError(f"A saved classifier must have layers. Found none under {name!r}.")
        return cls(tuple(layers))


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a perceptron is trained."""

    hidden: tuple[int, ...]
    epochs: int
    batch: int
    dropout: float
    weight_decay: float
    inputs: Inputs


def train(
    clean: Any,
    held: NDArray[np.bool_],
    release: Callable[[Any], Any],
    schedule: Schedule,
    seed: int,
    on_epoch: Callable[[int], object],
) -> Perceptron:
    """Fit a perceptron to fresh releases of `clean`, noised anew every epoch.

    `clean` is an array, or a tensor on the device where all of the training then takes place.

    The loss is binary cross-entropy over all terms (SPARSE, appendix I.3). There is no early stopping: the
    loss on other texts soon rises, as the network grows too sure, while what it ranks first still improves.
    How sure it is gets calibrated afterwards.
    """
    import torch

    rng = generator(seed)
    device = torch.device("cpu") if isinstance(clean, np.ndarray) else clean.device
    draws = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
    centre, basis = _basis(release(clean), schedule.inputs)
    tensors = _start([len(centre), *schedule.hidden, held.shape[1]], held.mean(axis=0), rng, device)
    adam = torch.optim.AdamW(tensors, lr=PEAK_RATE, weight_decay=schedule.weight_decay, fused=True)
    batch = min(schedule.batch, max(8, math.ceil(len(clean) / SMALLEST_STEPS)))
    steps = math.ceil(len(clean) / batch)
    target = torch.from_numpy(held).to(device)
    for epoch in range(schedule.epochs):
        rows = _scaled(release(clean), centre, basis)
        order = torch.from_numpy(rng.permutation(len(clean))).to(device)
        for step in range(steps):
            _set_rate(adam, (epoch * steps + step + 1) / (schedule.epochs * steps))
            chosen = order[step * batch : (step + 1) * batch]
            loss = _loss(rows[chosen], target[chosen].float(), tensors, schedule.dropout, draws)
            adam.zero_grad()
            loss.backward()
            adam.step()
        on_epoch(epoch)
    return _frozen(tensors, centre, basis)


def _basis(rows: Any, inputs: Inputs) -> tuple[Matrix, Matrix]:
    """`[d]` mean of the rows and `[d, d]` what centred rows are multiplied by."""
    centre, covariance = _moments(rows)
    level = float(np.trace(covariance)) / len(covariance) or 1.0
    scaled = np.eye(len(covariance)) / math.sqrt(level)
    values, axes = np.linalg.eigh(covariance + WHITE_FLOOR * level * np.eye(len(covariance)))
    white = (axes / np.sqrt(values)) @ axes.T
    return centre.astype(np.float32), (scaled if inputs == "scaled" else white).astype(np.float32)


def _moments(rows: Any) -> tuple[Floats, Floats]:
    """Mean and covariance; of a tensor, they alone come to the host."""
    if isinstance(rows, np.ndarray):
        wide = rows.astype(np.float64)
        return wide.mean(axis=0), np.atleast_2d(np.cov(wide.T, bias=True))
    parts = rows.split(max(1, _WIDENED // rows.shape[1]))
    mean = sum(part.double().sum(dim=0) for part in parts) / len(rows)
    centred = (part - mean for part in parts)
    covariance = sum(part.T @ part for part in centred) / len(rows)
    return mean.cpu().numpy(), covariance.cpu().numpy()


def _scaled(rows: Any, centre: Matrix, basis: Matrix) -> Any:
    """Centred rows times the basis as a tensor, where the rows are."""
    import torch

    if isinstance(rows, np.ndarray):
        return torch.from_numpy(((rows - centre) @ basis).astype(np.float32))
    return (rows - torch.from_numpy(centre).to(rows.device)) @ torch.from_numpy(basis).to(rows.device)


def _start(sizes: list[int], rates: NDArray[np.float64], rng: np.random.Generator, device: Any) -> list[Any]:
    """Weights and offsets in turn, even in [-1, 1]/sqrt(inputs); the last offsets are the terms' log odds."""
    import torch

    tensors = []
    for left, right in pairwise(sizes):
        bound = 1 / math.sqrt(left)
        tensors += [rng.uniform(-bound, bound, (left, right)), np.zeros(right)]
    rates = np.clip(rates, 1e-4, 1 - 1e-4)
    tensors[-1] = np.log(rates / (1 - rates))
    return [torch.from_numpy(each.astype(np.float32)).to(device).requires_grad_() for each in tensors]


def _set_rate(adam: Any, done: float) -> None:
    """Rise to the peak in the first tenth, then fall along a cosine."""
    falling = 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, (done - WARM_UP) / (1 - WARM_UP)))))
    adam.param_groups[0]["lr"] = PEAK_RATE * min(done / WARM_UP, falling)


def _loss(rows: Any, target: Any, tensors: list[Any], dropout: float, draws: Any) -> Any:
    """Binary cross-entropy, summed over the terms: the mean of a row."""
    import torch

    logits = _forward(rows, tensors, dropout, draws, torch)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return loss.sum(dim=1).mean()


def _forward(rows: Any, tensors: list[Any], dropout: float, draws: Any, torch: Any) -> Any:
    last = len(tensors) - 2
    for number in range(0, len(tensors), 2):
        rows = torch.addmm(tensors[number + 1], rows, tensors[number])
        if number < last:
            rows = torch.relu(rows)
            if dropout:
                kept = torch.rand(rows.shape, generator=draws, device=rows.device) >= dropout
                rows = rows * kept / (1 - dropout)
    return rows


def _frozen(tensors: list[Any], centre: Matrix, basis: Matrix) -> Perceptron:
    """The layers as arrays; the first one takes raw vectors."""
    arrays = [tensor.detach().cpu().numpy().copy() for tensor in tensors]
    arrays[0] = basis @ arrays[0]
    arrays[1] = arrays[1] - centre @ arrays[0]
    return Perceptron(tuple(zip(arrays[::2], arrays[1::2], strict=True)))
