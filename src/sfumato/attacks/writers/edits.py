"""Texts one edit away: a wordpiece left out, swapped with the next, replaced, or put in."""

from __future__ import annotations

import torch
from torch import Tensor

from sfumato.attacks.writers.generate import Specials
from sfumato.attacks.writers.network import Network


@torch.no_grad()
def likely_pieces(
    network: Network, vectors: Tensor, ratio: Tensor, guess: Tensor, tokens: Tensor, count: int
) -> Tensor:
    """`(n, width, count)` wordpieces the corrector thinks likeliest at each place, after what is before."""
    hidden = network(vectors, tokens[:, :-1], ratio, guess, tokens)
    scores = network.logits(hidden, (vectors * network.sizes.dim**0.5).to(hidden.dtype))
    found = scores.topk(count, dim=-1).indices
    return torch.cat([torch.zeros_like(found[:, :1]), found], 1)  # nothing stands where a text begins


def one_edit(tokens: Tensor, likely: Tensor, specials: Specials) -> tuple[Tensor, Tensor]:
    """Return every text one edit away, and the row of `tokens` each was made from.

    Args:
        tokens: `(n, width)` begin, wordpieces, end, padding.
        likely: `(n, width, count)` wordpieces to put at each place.
        specials: the wordpieces that are none, which are not put in.
    """
    width = tokens.shape[1]
    at = torch.arange(width, device=tokens.device)
    here, there = at[:, None], at[None]
    same = (here == there)[None, :, None]
    length = (tokens != specials.pad).sum(1, keepdim=True)
    inner = (at >= 1) & (at < length - 1)
    new = ~torch.isin(
        likely, torch.tensor([specials.pad, specials.begin, specials.end], device=tokens.device)
    )

    shorter = tokens[:, (there + (there >= here)).clamp_max(width - 1)]
    shorter[..., -1] = specials.pad
    follower = torch.where(there == here, here + 1, torch.where(there == here + 1, here, there))
    swapped = tokens[:, follower.clamp_max(width - 1)]
    replaced = torch.where(same, likely[..., None], tokens[:, None, None])
    room = tokens[:, (there - (there > here).long()).clamp_min(0)]
    longer = torch.where(same, likely[..., None], room[:, :, None])

    following = torch.cat([tokens[:, 1:], tokens[:, -1:]], 1)
    pair = inner & (at + 1 < length - 1) & (tokens != following)
    other = new & (likely != tokens[..., None]) & inner[..., None]
    fits = new & ((at >= 1) & (at < length) & (length < width))[..., None]
    kinds = ((shorter, inner & (length > 3)), (swapped, pair), (replaced, other), (longer, fits))
    made = torch.cat([texts[wanted] for texts, wanted in kinds])
    rows = torch.cat([wanted.nonzero()[:, 0] for _, wanted in kinds])
    return made, rows
