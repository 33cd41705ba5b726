"""all-MiniLM-L6-v2 over wordpieces where they are: a search on a GPU writes no text down to embed it."""

from __future__ import annotations

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F

from sfumato.attacks.writers.generate import steady_attention
from sfumato.devices import chosen_device
from sfumato.embedders.minilm import model_folder

_LAYERS, _HEADS, _WIDTH = 6, 12, 384
_SMALL = 1e-12


class WordpieceEncoder:
    """The packaged encoder's own weights; 16 bits on a GPU, 32 elsewhere."""

    def __init__(self, device: str | None) -> None:
        place = chosen_device(device)
        kind = torch.float16 if place.type == "cuda" else torch.float32
        self._weights = {
            name.removeprefix("bert."): tensor.to(place, kind)
            for name, tensor in load_file(model_folder() / "model.safetensors").items()
            if tensor.is_floating_point()
        }

    @torch.no_grad()
    def __call__(self, tokens: Tensor, rows: int = 8192) -> Tensor:
        """Unit vectors of `(n, length)` begin, wordpieces, end, padding; like lengths together."""
        lengths = (tokens != 0).sum(1)
        order = lengths.argsort(stable=True)
        found = torch.empty(len(tokens), _WIDTH, device=tokens.device)
        with steady_attention(tokens.device):
            for start in range(0, len(tokens), rows):
                part = order[start : start + rows]
                found[part] = self._rows(tokens[part, : int(lengths[part[-1]])])
        return found

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.layer_norm(
            x, (_WIDTH,), self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], _SMALL
        )

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _rows(self, tokens: Tensor) -> Tensor:
        keep = tokens != 0
        at = torch.arange(tokens.shape[1], device=tokens.device)
        x = self._weights["embeddings.word_embeddings.weight"][tokens]
        x = x + self._weights["embeddings.position_embeddings.weight"][at]
        x = self._norm(
            x + self._weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm"
        )
        for layer in range(_LAYERS):
            x = self._layer(x, keep, f"encoder.layer.{layer}")
        return F.normalize((x.float() * keep[..., None]).sum(1), dim=1)

    def _layer(self, x: Tensor, keep: Tensor, name: str) -> Tensor:
        parts = [
            self._linear(x, f"{name}.attention.self.{part}").unflatten(-1, (_HEADS, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        ]
        seen = F.scaled_dot_product_attention(*parts, attn_mask=keep[:, None, None])
        seen = self._linear(seen.transpose(1, 2).flatten(2), f"{name}.attention.output.dense")
        x = self._norm(x + seen, f"{name}.attention.output.LayerNorm")
        inner = F.gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
