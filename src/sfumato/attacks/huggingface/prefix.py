"""A causal language model that reads a vector: the vector becomes the positions before the text."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sfumato.attacks.writers.generate import Written


class PrefixModel(nn.Module):
    """Writes a text from its vector, projected to a prefix of the language model (GEIA, section 4).

    GEIA's projection is linear and makes one position; here an MLP makes several, at the length the model's
    own word vectors have.

    Args:
        base: any Hugging Face causal model.
        dim: of the vectors.
        positions: how many the vector becomes.
        blocks: how many of the model's last blocks learn; None for every weight, 0 for the projection alone.
    """

    def __init__(self, base: Any, dim: int, positions: int, blocks: int | None = None) -> None:
        super().__init__()
        self.base, self.dim, self.positions = base, dim, positions
        words = base.get_input_embeddings().weight
        width = words.shape[1]
        self.project = nn.Sequential(
            nn.Linear(dim, max(dim, width)), nn.GELU(), nn.Linear(max(dim, width), positions * width)
        )
        with torch.no_grad():
            size = words.detach().float().pow(2).mean().sqrt()
        self.size = nn.Parameter(size.reshape(1).clone())
        if blocks is not None:
            base.requires_grad_(False)
            for block in _blocks(base)[max(0, len(_blocks(base)) - blocks) :]:
                block.requires_grad_(True)

    @property
    def heads(self) -> list[nn.Module]:
        """The parts that start from nothing."""
        return [self.project, _Held(self.size)]

    def prefix(self, vectors: Tensor) -> Tensor:
        """`(n, positions, width)` what stands before the text."""
        rows = F.normalize(vectors, dim=1) * self.dim**0.5  # coordinates of about 1
        made = self.project(rows).view(len(rows), self.positions, -1)
        return F.rms_norm(made, (made.shape[-1],)) * self.size

    def forward(self, vectors: Tensor, tokens: Tensor) -> Tensor:
        """Mean loss of a piece, in nats; `tokens` `(n, length)` are filled up with -100."""
        before = self.prefix(vectors)
        text = self.base.get_input_embeddings()(tokens.clamp_min(0))
        inputs = torch.cat([before, text.to(before.dtype)], 1)
        logits = self.base(inputs_embeds=inputs, use_cache=False).logits[:, self.positions - 1 : -1]
        return F.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten(), ignore_index=-100)

    @torch.no_grad()
    def write(
        self,
        vectors: Tensor,
        *,
        longest: int,
        end: int,
        temperature: float = 0.0,
        rng: torch.Generator | None = None,
    ) -> Written:
        """Write a text for each vector: the likeliest piece each time, or a sample at a temperature."""
        out = self.base(inputs_embeds=self.prefix(vectors), use_cache=True)
        count = len(vectors)
        tokens = torch.full((count, longest + 1), end, device=vectors.device)
        total = torch.zeros(count, device=vectors.device)
        lengths = torch.zeros(count, device=vectors.device)
        going = torch.ones(count, dtype=torch.bool, device=vectors.device)
        for at in range(longest + 1):
            full = at == longest  # there is no room for more than the end
            chosen, gain = _choose(out.logits[:, -1].float(), temperature, rng, end if full else None)
            tokens[:, at] = torch.where(going, chosen, tokens[:, at])
            total += torch.where(going, gain, torch.zeros_like(gain))
            lengths += going
            going = going & (chosen != end)
            if full or not bool(going.any()):
                break
            out = self.base(
                input_ids=tokens[:, at : at + 1], past_key_values=out.past_key_values, use_cache=True
            )
        return Written(tokens, total / lengths)


class _Held(nn.Module):
    """One weight, so that it can be trained with the heads."""

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight


def _blocks(base: nn.Module) -> list[nn.Module]:
    """The model's blocks: its longest list of modules."""
    lists = [part for part in base.modules() if isinstance(part, nn.ModuleList)]
    return list(max(lists, key=len, default=[]))


def _choose(
    logits: Tensor, temperature: float, rng: torch.Generator | None, forced: int | None
) -> tuple[Tensor, Tensor]:
    """One piece a row, and its log probability under the model."""
    logs = logits.log_softmax(-1)
    if forced is not None:
        chosen = torch.full_like(logits[:, 0], forced, dtype=torch.long)
    elif temperature > 0:
        shares = (logits / temperature).softmax(-1)
        chosen = torch.multinomial(shares, 1, generator=rng)[:, 0]
    else:
        chosen = logs.argmax(-1)
    return chosen, logs.gather(1, chosen[:, None])[:, 0]
