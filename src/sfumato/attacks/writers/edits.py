"""Texts a few edits away: wordpieces left out, swapped, replaced, put in, moved, or two of these at once."""

from __future__ import annotations

import torch
from torch import Tensor

from sfumato.attacks.writers.generate import Specials
from sfumato.attacks.writers.network import Network


@torch.no_grad()
def likely_pieces(
    network: Network,
    vectors: Tensor,
    ratio: Tensor,
    guess: Tensor,
    tokens: Tensor,
    count: int,
    shown: Tensor | None = None,
) -> Tensor:
    """`(n, width, count)` wordpieces the corrector thinks likeliest at each place, after what is before.

    `shown` is what it sees of `tokens` as its hypotheses; all of it when None.
    """
    hidden = network(vectors, tokens[:, :-1], ratio, guess, tokens if shown is None else shown)
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


def moved(
    tokens: Tensor, count: int, specials: Specials, generator: torch.Generator, longest: int = 5
) -> tuple[Tensor, Tensor]:
    """Return `count` texts for each of `tokens`, a run of wordpieces of it put elsewhere, and their rows.

    The run and its new place are drawn at random; texts that stay as they were are left out.
    """
    number, width = tokens.shape
    device = tokens.device
    size = (tokens != specials.pad).sum(1, keepdim=True) - 2  # without begin and end
    draws = torch.rand(3, number, count, generator=generator, device=device)
    run = 1 + (draws[0] * (size - 1).clamp(1, longest)).long().clamp_max(longest - 1)
    run = torch.minimum(run, size.clamp_min(1))
    start = 1 + (draws[1] * (size - run + 1).clamp_min(1)).long()
    goal = 1 + (draws[2] * (size - run + 1).clamp_min(1)).long()
    at = torch.arange(width, device=device)
    first, last = torch.minimum(start, goal)[..., None], (torch.maximum(start, goal) + run)[..., None]
    run, start, goal = run[..., None], start[..., None], goal[..., None]
    rest = torch.where(start < goal, at + run, at - run)  # what makes room for the run
    inside = (at >= goal) & (at < goal + run)
    source = torch.where(inside, at - goal + start, rest)
    source = torch.where((at >= first) & (at < last), source, at)
    made = tokens[:, None].expand(-1, count, -1).gather(2, source.clamp(0, width - 1))
    other = ((made != tokens[:, None]).any(-1)) & (size > 1)
    return made[other], other.nonzero()[:, 0]


def combined(tokens: Tensor, made: Tensor, chosen: Tensor, specials: Specials) -> tuple[Tensor, Tensor]:
    """Return edits of the same text that keep its length, two at a time, and their rows.

    Args:
        tokens: `(n, width)` the texts that were edited.
        made: `(m, width)` their edits.
        chosen: `(n, k)` which of `made` to combine for each text; -1 for none.
        specials: the wordpieces that are none.
    """
    count = chosen.shape[1]
    left, right = torch.triu_indices(count, count, 1, device=tokens.device)
    edits = made[chosen.clamp_min(0)]
    changed = edits != tokens[:, None]
    # An edit that keeps the length leaves end and padding where they are.
    blank = (edits == specials.pad) == (tokens == specials.pad)[:, None]
    usable = (chosen >= 0) & blank.all(-1) & changed.any(-1)
    apart = ~(changed[:, left] & changed[:, right]).any(-1)
    wanted = apart & usable[:, left] & usable[:, right]
    both = torch.where(changed[:, left], edits[:, left], edits[:, right])
    return both[wanted], wanted.nonzero()[:, 0]
