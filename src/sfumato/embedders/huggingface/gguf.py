"""The first layers of a decoder out of a GGUF file, in float32; what stands behind them is never unpacked.

transformers reads such a file too, but whole: every layer, at five times the time.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sfumato.embedders.huggingface.models import quiet, transformers
from sfumato.errors import ArtifactError

_PLACES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""Where the weights of a layer belong in transformers' Llama."""


def first_layers(file: Path, layers: int) -> Any:
    """Return transformers' LlamaModel with that many layers; it gives the last one's states, not normed."""
    package: Any = import_module("gguf")
    reader = package.GGUFReader(str(file))

    def said(key: str) -> Any:
        field = reader.get_field(f"llama.{key}")
        if field is None:
            raise ArtifactError(f"`{file.name}` has to hold a Llama. It does not say its {key}.")
        return field.contents()

    heads, pairs = said("attention.head_count"), said("attention.head_count_kv")
    config = transformers().LlamaConfig(
        vocab_size=said("vocab_size"),
        hidden_size=said("embedding_length"),
        intermediate_size=said("feed_forward_length"),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=pairs,
        rms_norm_eps=said("attention.layer_norm_rms_epsilon"),
        max_position_embeddings=said("context_length"),
        rope_parameters={"rope_type": "default", "rope_theta": said("rope.freq_base")},
        use_cache=False,
    )
    weights = {"norm.weight": torch.ones(config.hidden_size)}
    for tensor in reader.tensors:
        name = _named(tensor.name, layers)
        if name:
            found = package.quants.dequantize(tensor.data, tensor.tensor_type)
            turned = {"attn_q": heads, "attn_k": pairs}.get(tensor.name.split(".")[-2])
            found = found if turned is None else _straight(found, turned)
            weights[name] = torch.from_numpy(np.array(found, np.float32))
    with quiet(), torch.device("meta"):  # nothing is drawn that would be thrown away
        network = transformers().LlamaModel(config)
    network.load_state_dict(weights, assign=True)
    network.rotary_emb = type(network.rotary_emb)(config)
    network.norm = torch.nn.Identity()
    return network.eval().requires_grad_(False)


def _named(name: str, layers: int) -> str:
    """Where a tensor of the file belongs; "" where it is not wanted."""
    if name == "token_embd.weight":
        return "embed_tokens.weight"
    block, _, rest = name.removeprefix("blk.").partition(".")
    place = _PLACES.get(rest.removesuffix(".weight"))
    return f"layers.{block}.{place}.weight" if block.isdigit() and int(block) < layers and place else ""


def _straight(rows: Any, heads: int) -> Any:
    """Rows of queries or keys in transformers' order: the file keeps the two halves of a head interleaved."""
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)
