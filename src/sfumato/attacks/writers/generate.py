"""Writing texts with a network: one wordpiece after another, the likeliest or a sample."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from sfumato.attacks.writers.network import Network


@dataclass(frozen=True, slots=True)
class Written:
    """Texts a network wrote."""

    tokens: Tensor
    """`(n, longest + 2)` begin, wordpieces, end, padding."""
    scores: Tensor
    """`(n,)` mean log probability of a wordpiece."""


@dataclass(frozen=True, slots=True)
class Specials:
    """The numbers of the wordpieces that are none."""

    pad: int
    begin: int
    end: int


@torch.no_grad()
def write(
    network: Network,
    specials: Specials,
    vectors: Tensor,
    *,
    ratio: Tensor | None = None,
    guess: Tensor | None = None,
    tokens: Tensor | None = None,
    temperatures: Sequence[float] = (0.0,),
    generator: torch.Generator | None = None,
) -> Written:
    """Write one text a temperature for each vector, those of one vector side by side.

    `ratio` is the noise ratio of each vector; with hypotheses (`tokens`) and their vectors (`guess`) it
    corrects; temperature 0 takes the likeliest wordpiece each time.
    """
    with steady_attention(vectors.device):
        return _write(network, specials, vectors, ratio, guess, tokens, temperatures, generator)


def steady_attention(device: torch.device) -> AbstractContextManager[None]:
    """On a GPU, without cuDNN's attention: that plans anew for every length, and each step has another."""
    if device.type != "cuda":
        return nullcontext()
    kinds = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    chosen: AbstractContextManager[None] = sdpa_kernel(kinds)
    return chosen


def _write(
    network: Network,
    specials: Specials,
    vectors: Tensor,
    ratio: Tensor | None,
    guess: Tensor | None,
    tokens: Tensor | None,
    temperatures: Sequence[float],
    generator: torch.Generator | None,
) -> Written:
    level = torch.zeros(len(vectors), device=vectors.device) if ratio is None else ratio
    before, positions, told = network.prefix(vectors, level, guess, tokens)
    memories = network.start(before, positions, told)
    heat = torch.tensor(temperatures, device=vectors.device).repeat(len(vectors))
    if len(temperatures) > 1:
        each = torch.arange(len(vectors), device=vectors.device).repeat_interleave(len(temperatures))
        told = told[each]
        for memory in memories:
            memory.take(each)
    count, longest = len(told), network.sizes.longest
    out = torch.full((count, longest + 2), specials.pad, device=vectors.device)
    out[:, 0] = specials.begin
    total = torch.zeros(count, device=vectors.device)
    rows = torch.arange(count, device=vectors.device)
    current = out[:, 0]
    for at in range(longest + 1):
        scores = network.step(memories, told, current, at)
        chosen, gain = _choose(scores, heat, generator)
        ended = current == specials.end if at else torch.zeros_like(chosen, dtype=torch.bool)
        if at == longest:
            chosen = torch.full_like(chosen, specials.end)
            gain = scores.float().log_softmax(-1)[:, specials.end]
        chosen = torch.where(ended, specials.end, chosen)
        out[rows, at + 1] = torch.where(ended, specials.pad, chosen)
        total[rows] += torch.where(ended, 0.0, gain)
        going = (chosen != specials.end).nonzero()[:, 0]
        if not len(going):
            break
        current = chosen
        if 4 * len(going) < 3 * len(rows):  # going on without the finished ones pays for the copying
            rows, told, heat, current = rows[going], told[going], heat[going], chosen[going]
            for memory in memories:
                memory.take(going)
    lengths = (out != specials.pad).sum(1) - 1
    return Written(out, total / lengths)


def _choose(scores: Tensor, heat: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """One wordpiece a row and its log probability."""
    scores = scores.float()
    ranked = scores
    if bool((heat > 0).any()):
        # Gumbel's trick: the largest of score - T log(exponential) is a sample at temperature T.
        drawn = torch.empty_like(scores).exponential_(generator=generator).clamp_min_(1e-30)
        ranked = torch.sub(scores, drawn.log_().mul_(heat[:, None]), out=drawn)
    chosen = ranked.argmax(-1)
    return chosen, scores.gather(1, chosen[:, None])[:, 0] - scores.logsumexp(-1)
