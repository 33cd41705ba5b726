"""Texts that may be the right one: the closest so far for each vector, and how the closest are chosen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

EXACT = 0.99999
"""Cosine from which there is nothing left to correct."""


@dataclass(slots=True)
class Beam:
    """The best hypotheses so far for each of n vectors, the closest first."""

    tokens: Tensor
    """`(n, beam, longest + 2)`"""
    vectors: Tensor
    cosines: Tensor

    def rows(self, which: Tensor) -> Beam:
        """Those of some of the vectors."""
        return Beam(self.tokens[which], self.vectors[which], self.cosines[which])

    def put(self, which: Tensor, other: Beam) -> None:
        """Set those of some of the vectors."""
        self.tokens[which], self.vectors[which] = other.tokens, other.vectors
        self.cosines[which] = other.cosines


def best(pool: Beam, width: int) -> Beam:
    """The closest `width` different candidates of each row."""
    order = pool.cosines.argsort(dim=1, descending=True, stable=True)
    rows = torch.arange(len(order), device=order.device)[:, None]
    tokens, cosines = pool.tokens[rows, order], pool.cosines[rows, order]
    factors = torch.arange(1, tokens.shape[-1] + 1, device=tokens.device) * 2654435761 % 2147483647
    names = (tokens * factors).sum(-1) + (tokens * tokens * factors.flip(0)).sum(-1)
    earlier = torch.ones(names.shape[1], names.shape[1], device=names.device).tril(-1).bool()
    again = ((names[:, :, None] == names[:, None, :]) & earlier).any(-1)
    chosen = torch.where(again, cosines - 4.0, cosines).argsort(dim=1, descending=True, stable=True)[
        :, :width
    ]
    return Beam(tokens[rows, chosen], pool.vectors[rows, order][rows, chosen], cosines[rows, chosen])


def joined(*beams: Beam) -> Beam:
    """The candidates of several beams, side by side."""
    return Beam(
        torch.cat([beam.tokens for beam in beams], 1),
        torch.cat([beam.vectors for beam in beams], 1),
        torch.cat([beam.cosines for beam in beams], 1),
    )


def leaders(scores: Tensor, owners: Tensor, count: int, width: int) -> Tensor:
    """The numbers of the highest `width` scores of each of `count` owners, `(count, width)`; -1 for none."""
    order = scores.argsort(descending=True, stable=True)
    order = order[owners[order].argsort(stable=True)]
    own = owners[order]
    sizes = torch.bincount(own, minlength=count)
    rank = torch.arange(len(own), device=own.device) - (sizes.cumsum(0) - sizes)[own]
    kept = rank < width
    found = torch.full((count, width), -1, dtype=torch.long, device=own.device)
    found[own[kept], rank[kept]] = order[kept]
    return found
