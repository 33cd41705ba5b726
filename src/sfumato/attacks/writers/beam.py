"""The likeliest texts as a whole: several are followed at once while they are written (beam search)."""

from __future__ import annotations

import torch
from torch import Tensor

from sfumato.attacks.writers.generate import Specials, Written, steady_attention
from sfumato.attacks.writers.layers import KeyValueCache
from sfumato.attacks.writers.network import Network

NEVER = float("-inf")


@torch.no_grad()
def likeliest(
    network: Network,
    specials: Specials,
    vectors: Tensor,
    width: int,
    *,
    ratio: Tensor | None = None,
    guess: Tensor | None = None,
    tokens: Tensor | None = None,
) -> Written:
    """Write `width` texts for each vector, the likeliest found first, those of one vector side by side."""
    level = torch.zeros(len(vectors), device=vectors.device) if ratio is None else ratio
    with steady_attention(vectors.device):
        before, positions, told = network.prefix(vectors, level, guess, tokens)
        memories = network.start(before, positions, told)
        return _follow(network, specials, memories, told, width)


def _follow(
    network: Network, specials: Specials, memories: list[KeyValueCache], told: Tensor, width: int
) -> Written:
    count, longest, device = len(told), network.sizes.longest, told.device
    out = torch.full((count, width, longest + 2), specials.pad, device=device)
    out[..., 0] = specials.begin
    total = torch.full((count, width), NEVER, device=device)
    total[:, 0] = 0.0  # all of them begin alike: one counts
    ended = torch.zeros(count, width, dtype=torch.bool, device=device)
    rows, tried = torch.arange(count, device=device), min(width, network.sizes.vocabulary)
    places = rows.repeat_interleave(width)
    for at in range(longest + 1):
        told = told[places]
        for memory in memories:
            memory.take(places)
        own = torch.arange(len(rows), device=device)[:, None]
        current = torch.where(ended[rows], specials.end, out[rows, :, at]).flatten()
        logs = network.step(memories, told, current, at).float().log_softmax(-1)
        logs = _allowed(logs, ended[rows].flatten(), specials, last=at == longest)
        each, pieces = logs.topk(tried)
        sums = (total[rows][..., None] + each.view(len(rows), width, tried)).flatten(1)
        best, which = sums.topk(width)
        parent = which // tried
        over = ended[rows][own, parent]
        piece = pieces.view(len(rows), -1).gather(1, which)
        written = out[rows][own, parent]
        written[..., at + 1] = torch.where(over, specials.pad, piece)
        out[rows], total[rows], ended[rows] = written, best, over | (piece == specials.end)
        open_rows = (~ended[rows]).any(1).nonzero()[:, 0]
        if not len(open_rows):
            break
        rows = rows[open_rows]
        places = (own * width + parent)[open_rows].flatten()
    lengths = (out != specials.pad).sum(-1) - 1
    return Written(out.flatten(0, 1), (total / lengths).flatten())


def _allowed(logs: Tensor, ended: Tensor, specials: Specials, *, last: bool) -> Tensor:
    """An ended text goes on with its end, at no cost; at the last place every text ends."""
    only_end = torch.full_like(logs, NEVER)
    only_end[:, specials.end] = torch.where(ended, 0.0, logs[:, specials.end])
    return only_end if last else torch.where(ended[:, None], only_end, logs)
