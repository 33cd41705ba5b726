"""Hard concrete gates and the classifier that reads through them (SPARSE, section 3.1; DPPN, section 3.2).

Every tensor has a first axis of concepts: one program learns many masks at once, and no number of one concept
ever meets a number of another.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.errors import MissingPackageError
from sfumato.types import Floats

try:
    import torch as torch
except ModuleNotFoundError as error:
    raise MissingPackageError("torch", "learn", "to learn a mask") from error

XI, GAMMA = 1.1, -0.1
"""How far a concrete variable is stretched beyond [0, 1] before it is cut back (SPARSE, eq. 1)."""
START_BETA = 2 / 3
"""Temperature at the start; neither paper prints one, this is the one of Louizos et al. (2018)."""

Tensor = Any


def draw_gates(log_alpha: Tensor, log_beta: Tensor, logits: Tensor) -> Tensor:
    """Draw m from the hard concrete law, given `logits` = log(u/(1 - u)) (SPARSE, eq. 1)."""
    concrete = torch.sigmoid((logits + log_alpha) * torch.exp(-log_beta))
    return (concrete * (XI - GAMMA) + GAMMA).clamp(0.0, 1.0)


def settled_gates(log_alpha: Tensor) -> Tensor:
    """Return the gates used once learning is over (SPARSE, eq. 2; DPPN, eq. 3)."""
    return (torch.sigmoid(log_alpha) * (XI - GAMMA) + GAMMA).clamp(0.0, 1.0)


def open_probability(log_alpha: Tensor, log_beta: Tensor) -> Tensor:
    """Return P(m > 0) = sigma(log a - b log(-gamma/xi)), the term of the L0 penalty (SPARSE, eq. 4)."""
    return torch.sigmoid(log_alpha - torch.exp(log_beta) * math.log(-GAMMA / XI))


def mask_scores(log_alpha: Floats) -> Floats:
    """Return eq. 2 of SPARSE with a billionth of sigma(log a) mixed in.

    Many gates settle at exactly 0 or 1. The mixture gives them an order for DPPN's top k, and is a thousand
    times smaller than the delta that is added before noise is scaled.
    """
    soft = 1.0 / (1.0 + np.exp(-log_alpha))
    gates = np.clip(soft * (XI - GAMMA) + GAMMA, 0.0, 1.0)
    return np.asarray((1.0 - 1e-9) * gates + 1e-9 * soft, np.float64)


class GatedClassifier:
    """A batch of perceptrons n - 256 - 128 - 1 with ReLU (SPARSE, appendix H.2), one a concept."""

    def __init__(self, concepts: int, widths: list[int], rng: np.random.Generator, device: Any) -> None:
        self.layers: list[tuple[Tensor, Tensor]] = []
        for wide, narrow in zip(widths, [*widths[1:], 1], strict=True):
            bound = 1.0 / math.sqrt(wide)
            # All concepts start alike: what runs beside a concept must not change its mask.
            start = rng.uniform(-bound, bound, (1, wide + 1, narrow)).astype(np.float32)
            both = torch.from_numpy(start).to(device).expand(concepts, -1, -1)
            self.layers.append((both[:, :wide].clone(), both[:, wide:].clone()))

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and offsets of every layer."""
        return [tensor for layer in self.layers for tensor in layer]

    def logits(self, rows: Tensor, gates: Tensor) -> Tensor:
        """Return log P/(1 - P) of each row of `[concepts, rows, n]`, seen through `[concepts, n]` gates."""
        weight, offset = self.layers[0]
        # (x * m) W = x (diag(m) W): the gates meet the small matrix, and no gradient of the rows is needed.
        hidden = _affine(rows, gates.unsqueeze(-1) * weight, offset)
        for weight, offset in self.layers[1:-1]:
            hidden = _affine(torch.relu(hidden), weight, offset)
        weight, offset = self.layers[-1]
        # A product with one column takes another road for one concept than for many, and rounds otherwise; a
        # logit in half precision would blur the loss.
        return (torch.relu(hidden).float() * weight.mT).sum(dim=-1) + offset.squeeze(-1)


def _affine(rows: Tensor, weight: Tensor, offset: Tensor) -> Tensor:
    return torch.baddbmm(offset.to(rows.dtype), rows, weight.to(rows.dtype))
