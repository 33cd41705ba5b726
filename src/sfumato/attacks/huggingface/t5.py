"""T5 that reads vectors: each becomes positions of its encoder (Vec2Text, seed 003, section 3).

The paper gives EmbToSeq(e) = W2 s(W1 e) for e, e_hat and e - e_hat, then the words of the hypothesis. The
published models also put T5's end-of-text vector before each of the four, run all of it through a LayerNorm,
and keep the decoder's start token, masked, before the hypothesis: so does this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sfumato.attacks.huggingface.pieces import padded
from sfumato.embedders.huggingface.models import transformers

SIZES = (
    "vocab_size",
    "d_model",
    "d_kv",
    "d_ff",
    "num_layers",
    "num_decoder_layers",
    "num_heads",
    "relative_attention_num_buckets",
    "relative_attention_max_distance",
    "dropout_rate",
    "layer_norm_epsilon",
    "feed_forward_proj",
    "pad_token_id",
    "eos_token_id",
)


class VectorT5(nn.Module):
    """Writes a text from its vector; one that corrects, from a hypothesis and its vector as well.

    Args:
        base: a T5 model with a language head.
        dim: of the vectors.
        positions: how many each vector becomes.
        corrects: whether it reads hypotheses.
        unit: read directions only, at coordinates of about 1; else vectors as they are, as the published
            models do.
    """

    def __init__(self, base: Any, dim: int, positions: int, *, corrects: bool, unit: bool = True) -> None:
        super().__init__()
        self.base, self.dim, self.positions, self.unit = base, dim, positions, unit
        width = base.config.d_model
        self.readers = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, positions * width))
            for _ in range(3 if corrects else 1)
        )
        """For e, e_hat and e - e_hat, in this order."""
        self.norm = nn.LayerNorm(width) if corrects else None

    @property
    def heads(self) -> list[nn.Module]:
        """The parts that start from nothing."""
        return [self.readers] if self.norm is None else [self.readers, self.norm]

    def inputs(
        self, vectors: Tensor, guess: Tensor | None = None, tokens: Sequence[Sequence[int]] | None = None
    ) -> tuple[Tensor, Tensor]:
        """What T5's encoder reads, and its mask.

        Args:
            vectors: `(n, dim)` e, to be read.
            guess: `(n, dim)` e_hat, the vectors of the hypotheses.
            tokens: the hypotheses, ends included.
        """
        read = [self._read(0, self._scaled(vectors))]
        if self.norm is None or guess is None or tokens is None:
            made = read[0]
            return made, torch.ones(made.shape[:2], dtype=torch.long, device=made.device)
        e, e_hat = self._scaled(vectors), self._scaled(guess)
        read += [self._read(1, e_hat), self._read(2, e - e_hat)]
        config = self.base.config
        words = padded([[config.pad_token_id, *row] for row in tokens], config.pad_token_id).to(e.device)
        look_up = self.base.get_input_embeddings()
        between = look_up(torch.full_like(words[:, :1], config.eos_token_id))
        parts = [part for one in read for part in (between, one)]
        made = self.norm(torch.cat([*parts, between, look_up(words)], 1))
        own = (words != config.pad_token_id).long()
        before = torch.ones(len(own), made.shape[1] - own.shape[1], dtype=torch.long, device=own.device)
        return made, torch.cat([before, own], 1)

    def _scaled(self, vectors: Tensor) -> Tensor:
        return F.normalize(vectors, dim=1) * self.dim**0.5 if self.unit else vectors

    def _read(self, which: int, vectors: Tensor) -> Tensor:
        made: Tensor = self.readers[which](vectors)
        return made.view(len(vectors), self.positions, -1)

    def losses(self, inputs: tuple[Tensor, Tensor], text: Tensor) -> Tensor:
        """`(n, length)` loss of every piece of `text`, which is filled up with -100; 0 there."""
        start = torch.full_like(text[:, :1], self.base.config.pad_token_id)
        before = torch.cat([start, text[:, :-1].clamp_min(0)], 1)
        made = self.base(
            inputs_embeds=inputs[0], attention_mask=inputs[1], decoder_input_ids=before, use_cache=False
        )
        return F.cross_entropy(made.logits.float().transpose(1, 2), text, ignore_index=-100, reduction="none")

    @torch.no_grad()
    def write(self, inputs: tuple[Tensor, Tensor], longest: int, beams: int = 1) -> list[list[int]]:
        """The likeliest text of each row, or its `beams` likeliest, those of one row side by side."""
        config = self.base.config
        plan = transformers().GenerationConfig(
            max_new_tokens=longest + 1,
            num_beams=beams,
            num_return_sequences=beams,
            do_sample=False,
            decoder_start_token_id=config.pad_token_id,
            pad_token_id=config.pad_token_id,
            eos_token_id=config.eos_token_id,
        )
        made = self.base.generate(inputs_embeds=inputs[0], attention_mask=inputs[1], generation_config=plan)
        return [_upto(row[1:], config.eos_token_id) for row in made.tolist()]

    @torch.no_grad()
    def sureness(self, inputs: tuple[Tensor, Tensor], tokens: Sequence[Sequence[int]]) -> Tensor:
        """`(n,)` mean log probability of the pieces of each text."""
        text = padded(tokens, -100).to(inputs[0].device)
        return -self.losses(inputs, text).sum(1) / (text != -100).sum(1).clamp_min(1)


def _upto(row: list[int], end: int) -> list[int]:
    return row[: row.index(end) + 1] if end in row else row


def describe_t5(base: Any) -> dict[str, Any]:
    """What has to be known to make a T5 of these sizes again."""
    made = {name: getattr(base.config, name) for name in SIZES}
    return {**made, "tied": base.lm_head.weight is base.shared.weight}


def make_t5(sizes: dict[str, Any]) -> Any:
    """A T5 of these sizes, whose weights mean nothing yet; with tied words it scales them, as T5 1.0."""
    package = transformers()
    own = {name: value for name, value in sizes.items() if name != "tied"}
    base = package.T5ForConditionalGeneration(package.T5Config(**own, tie_word_embeddings=sizes["tied"]))
    if not sizes["tied"]:
        base.lm_head.weight = nn.Parameter(base.lm_head.weight.detach().clone())
    return base
