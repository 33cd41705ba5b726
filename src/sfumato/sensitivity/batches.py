"""Pairs of several concepts laid out for training: standardised, shuffled, and cut into steps once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.randomness import generator
from sfumato.sensitivity.gates import Tensor, torch

STEPS = 16
"""Fewest steps in an epoch, where there are pairs enough: few pairs need as many updates as many pairs."""
SPLIT_FROM = 64
"""Pairs a step from which halves of it are worth a thread each."""


@dataclass(frozen=True, slots=True, order=True)
class PairLayout:
    """How a concept's pairs are cut, which depends on their number alone.

    Concepts of one layout are learned together. Since padding is part of it, a concept's products have the
    same shape, and so the same rounding, whoever is learned beside it.
    """

    steps: int
    """Steps an epoch, a power of two."""
    parts: int
    """How many parts of a step may be worked on side by side."""
    batch: int
    """Pairs in a part, padding included."""
    held: int
    """Held-out pairs, padding included."""

    @classmethod
    def of(cls, learning: int, held: int, batch_size: int, *, split: bool = False) -> PairLayout:
        """Cut `learning` pairs into steps of at most `batch_size`, and round up to four sizes an octave."""
        steps = 2 ** math.ceil(math.log2(max(1.0, learning / batch_size)))
        steps = max(steps, min(STEPS, 2 ** int(math.log2(max(1, learning // 2)))))
        parts = 2 if split and learning >= SPLIT_FROM * steps else 1
        return cls(steps, parts, _rounded_up(math.ceil(learning / (steps * parts))), _rounded_up(held))


def _rounded_up(count: int) -> int:
    unit = 1 << max(0, count.bit_length() - 3)
    return -(-count // unit) * unit


@dataclass(slots=True)
class Batches:
    """The pairs of several concepts, standardised, shuffled and cut into steps, on the device."""

    rows: Tensor
    """`[steps, parts, concepts, 2, batch, n]`: D+ first, then its twins in D-; padded with zeros."""
    weights: Tensor
    """`[steps, parts, concepts, 1, batch]` of sum 1 for each step and concept; 0 for padding."""
    held_rows: Tensor
    held_weights: Tensor


def cut_batches(
    concepts: Sequence[tuple[Tensor, Tensor]],
    held: Sequence[int],
    layout: PairLayout,
    seed: int,
    precision: Any,
    device: Any,
) -> Batches:
    """Lay out the pairs so that a step is one contiguous block: cut once, in a seeded order.

    Coordinates are centred and divided by their own deviation, which the first layer could undo, so that a
    rate of learning means the same for every encoder.
    """
    parts, count, dim = layout.steps * layout.parts, len(concepts), concepts[0][0].shape[1]
    rows = torch.zeros((parts, count, 2, layout.batch, dim), dtype=precision, device=device)
    weights = torch.zeros((parts, count, 1, layout.batch), device=device)
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
        deep = math.ceil(learning / parts)
        # Dealt out like cards, so that parts differ by one pair at most.
        padded = torch.nn.functional.pad(twins[:, kept:], (0, 0, 0, deep * parts - learning))
        rows[:, index, :, :deep] = padded.view(2, deep, parts, dim).permute(2, 0, 1, 3)
        dealt = torch.arange(deep * parts, device=device) < learning
        weights[:, index, 0, :deep] = dealt.view(deep, parts).T
    rows, weights = (whole.unflatten(0, (layout.steps, layout.parts)) for whole in (rows, weights))
    return Batches(rows, weights / weights.sum(dim=(1, 4), keepdim=True), held_rows, held_weights)
