"""Published Vec2Text models, such as jxm/gtr__nq__32 and jxm/gtr__nq__32__correct, read from local folders.

| in the file                               | here                                         |
|-------------------------------------------|----------------------------------------------|
| encoder_decoder.*                         | T5 itself; its sizes are read off the shapes |
| embedding_transform.{0,3}.*               | the hypothesiser's reader of e               |
| embedding_transform_{1,3,2}.{0,3}.*       | the corrector's readers of e, e_hat, e-e_hat |
| layernorm.*                               | the norm over all the corrector reads        |
| embedder.*                                | the victim's encoder, where it is T5's own   |
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.attacks.base import Embeds
from sfumato.attacks.huggingface.pieces import Pieces, padded
from sfumato.attacks.huggingface.reader import T5Reader
from sfumato.attacks.huggingface.t5 import VectorT5, make_t5
from sfumato.devices import chosen_device
from sfumato.embedders.base import OnBatch
from sfumato.embedders.huggingface.models import Local, find_model, load_tokenizer, transformers
from sfumato.embedders.texts import checked_texts
from sfumato.errors import ArtifactError

State = dict[str, Tensor]

_WORDS = ("shared", "encoder.embed_tokens", "decoder.embed_tokens", "lm_head")
# Some old T5 files hold a bias that no T5 uses.
_UNUSED = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
_READERS = (1, 3, 2)
_BATCH = 64


def read_published(
    hypothesiser: str,
    corrector: str | None = None,
    *,
    tokenizer: str | None = None,
    embedder: Embeds | None = None,
    steps: int = 20,
    beam: int = 1,
    device: str | None = None,
) -> T5Reader:
    """Make a ready attack of published weights.

    Args:
        hypothesiser: a folder, or the local copy of a hub model.
        corrector: likewise; None guesses without correcting.
        tokenizer: where T5's tokenizer is, if not in the hypothesiser's folder.
        embedder: the victim's encoder; None for the one saved with the hypothesiser.
        steps: rounds of correction.
        beam: hypotheses kept for each vector.
        device: where to run it; a GPU when None and there is one.
    """
    local, place = find_model(hypothesiser), chosen_device(device)
    config, state = _checkpoint(local.folder)
    words = find_model(tokenizer) if tokenizer is not None else _tokenizer_of(local, config)
    pieces = Pieces.of(load_tokenizer(words))
    longest = int(config.get("max_seq_length", 32)) - 1  # theirs counts the end
    first = _network(local, config, state, corrects=False)
    second = None
    if corrector is not None:
        other = find_model(corrector)
        second = _network(other, *_checkpoint(other.folder), corrects=True)
        if second.dim != first.dim:
            raise ArtifactError(
                f"Both models must read vectors of one dimension. Found {first.dim} and {second.dim}."
            )
        second.to(place)
    if embedder is None:
        embedder = _embedder(local, state, pieces, longest, place)
    first.to(place)
    return T5Reader(first, second, pieces, embedder, longest=longest, steps=steps if second else 0, beam=beam)


def _checkpoint(folder: Path) -> tuple[dict[str, Any], State]:
    """The settings and weights in a folder; of several files, all weights."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    files = sorted(folder.glob("*.safetensors"))
    try:
        config = json.loads((folder / "config.json").read_text())
        if not files or not isinstance(config, dict):
            raise ValueError
        state: State = {}
        for file in files:
            state |= {name: values.float() for name, values in load_file(file).items()}
    except (OSError, ValueError, SafetensorError):
        raise ArtifactError(
            f"`{folder}` must hold config.json and model.safetensors. Found them missing or damaged."
        ) from None
    for name in ("use_lora", "corrector_ignore_hypothesis_embedding"):
        if config.get(name):
            raise ArtifactError(f"`{folder}` must be an ordinary Vec2Text model. Found {name} in its config.")
    return config, state


def _tokenizer_of(local: Local, config: dict[str, Any]) -> Local:
    """Where the tokenizer is: in the folder itself, or with the T5 it started from."""
    if (local.folder / "tokenizer.json").is_file():
        return local
    return find_model(str(config.get("model_name_or_path", "t5-base")))


def _part(state: State, prefix: str) -> State:
    return {name.removeprefix(prefix): rows for name, rows in state.items() if name.startswith(prefix)}


def _network(local: Local, config: dict[str, Any], state: State, *, corrects: bool) -> VectorT5:
    """Put published weights in our module, or refuse what does not fit."""
    rest = {
        name: rows for name, rows in state.items() if not name.startswith(("encoder_decoder.", "embedder."))
    }
    try:
        base = t5_from(_part(state, "encoder_decoder."))
        readers = _readers(rest, corrects)
        dim = readers[0]["0.weight"].shape[1]
        positions = int(config.get("num_repeat_tokens", 16))
        made = VectorT5(base, dim, positions, corrects=corrects, unit=False)
        for module, weights in zip(made.readers, readers, strict=True):
            module.load_state_dict(weights)
        if made.norm is not None:
            made.norm.load_state_dict({name: rest.pop(f"layernorm.{name}") for name in ("weight", "bias")})
    except (KeyError, RuntimeError, IndexError, ZeroDivisionError, StopIteration) as error:
        kind = "corrector" if corrects else "hypothesiser"
        what = f" ({error})" if isinstance(error, KeyError) else ""
        raise ArtifactError(
            f"`{local.name}` must hold the weights of a Vec2Text {kind}. Found others{what}. "
            "Give the folder of the right model."
        ) from None
    if rest:
        raise ArtifactError(
            f"`{local.name}` must hold nothing but a Vec2Text model. Found `{sorted(rest)[0]}` as well."
        )
    made.eval()
    return made


def _readers(rest: State, corrects: bool) -> list[State]:
    """Take out the weights of EmbToSeq for e, or for e, e_hat and e - e_hat; a Dropout stood between."""
    names = [f"embedding_transform_{which}" for which in _READERS] if corrects else ["embedding_transform"]
    if corrects and "embedding_transform.0.weight" in rest:  # early correctors had one for all three
        shared = _part(rest, "embedding_transform.")
        for name in shared:
            del rest[f"embedding_transform.{name}"]
        rest |= {f"{name}.{key}": rows for name in names for key, rows in shared.items()}
    return [
        {
            f"{new}.{kind}": rest.pop(f"{name}.{old}.{kind}")
            for old, new in ((0, 0), (3, 2))
            for kind in ("weight", "bias")
        }
        for name in names
    ]


def t5_from(state: State) -> Any:
    """T5 with these weights; everything about its shape follows from theirs."""
    words = next(state[f"{name}.weight"] for name in _WORDS if f"{name}.weight" in state)
    head = state.get("lm_head.weight", words)
    base = make_t5({**_sizes(state, words), "tied": bool(torch.equal(head, words))})
    filled = {f"{name}.weight": words for name in _WORDS[:3]} | {"lm_head.weight": head}
    base.load_state_dict({**{name: rows for name, rows in state.items() if name != _UNUSED}, **filled})
    return base


def _sizes(state: State, words: Tensor) -> dict[str, Any]:
    """T5's settings, read off the shapes of its weights."""

    def blocks(part: str) -> int:
        return len({name.split(".")[2] for name in state if name.startswith(f"{part}.block.")})

    layer = "encoder.block.0.layer"
    buckets, heads = state[f"{layer}.0.SelfAttention.relative_attention_bias.weight"].shape
    gated = f"{layer}.1.DenseReluDense.wi_0.weight" in state
    return {
        "vocab_size": words.shape[0],
        "d_model": words.shape[1],
        "d_kv": state[f"{layer}.0.SelfAttention.q.weight"].shape[0] // heads,
        "d_ff": state[f"{layer}.1.DenseReluDense.{'wi_0' if gated else 'wi'}.weight"].shape[0],
        "num_layers": blocks("encoder"),
        "num_decoder_layers": blocks("decoder"),
        "num_heads": heads,
        "relative_attention_num_buckets": buckets,
        "feed_forward_proj": "gated-gelu" if gated else "relu",
    }


class MeanPooled:
    """The encoder the published GTR models were trained on: T5's, averaged over pieces, and nothing after.

    The sentence-transformers model of the same name goes on with a dense layer and unit length; its vectors
    cannot be read by these models (vec2text issue 28).
    """

    name = "vec2text-embedder"

    def __init__(self, state: State, pieces: Pieces, longest: int, model_id: str) -> None:
        package = transformers()
        words = state["embed_tokens.weight"]
        whole = {f"encoder.{name}": rows for name, rows in state.items()}
        sizes = _sizes(whole, words)
        del sizes["num_decoder_layers"]
        self._model = package.T5EncoderModel(package.T5Config(**sizes)).eval()
        self._model.load_state_dict({"shared.weight": words, **whole})
        self._pieces, self._longest = pieces, longest
        self.model_id, self.dim = model_id, int(words.shape[1])

    def to(self, device: torch.device) -> MeanPooled:
        """Move it."""
        self._model.to(device)
        return self

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` vectors of whatever length they have."""
        rows = self._pieces.rows(checked_texts(texts), self._longest)
        out = np.empty((len(rows), self.dim), np.float32)
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            tokens = padded(part, self._pieces.pad).to(self._model.device)
            mask = padded([[1] * len(row) for row in part], 0).to(tokens.device)
            with torch.no_grad():
                hidden = self._model(input_ids=tokens, attention_mask=mask).last_hidden_state
            mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            out[start : start + len(part)] = mean.float().cpu().numpy()
            if on_batch is not None:
                on_batch(len(part))
        return out


def _embedder(
    local: Local, state: State, pieces: Pieces, longest: int, device: torch.device
) -> MeanPooled | None:
    """The encoder saved with the hypothesiser, where it is a T5 encoder."""
    own = _part(state, "embedder.")
    own = _part(own, "encoder.") or own
    if "embed_tokens.weight" not in own or not any(name.startswith("block.") for name in own):
        return None
    return MeanPooled(own, pieces, longest, f"vec2text-embedder@sha256:{local.digest()}").to(device)
