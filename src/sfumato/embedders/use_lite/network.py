"""The graph of Universal Sentence Encoder Lite in numpy: two transformer layers, a mean, and tanh.

One text at a time, without padding, so that a text's bits never depend on what stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_HEADS = 4
_EPSILON = np.float32(1e-6)
_ROOT = "module/Encoder_en/"
_FOLDED = "module_apply_default/Encoder_en/"
"""Where the graph keeps what a variable was made into before it was published."""
_ENCODE, _STACK = "KonaTransformer/Encode/", "KonaTransformer/Encode/TransformerStack/"
_WHOLE = "/ConcatPartitions/concat"


class UseLiteNetwork:
    """From the numbers of a text's pieces to its vector, before it is put at unit length."""

    longest = 128
    """Pieces it reads of a text."""

    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        self._words: Floats = weights["module/Embeddings_en"]
        signal = weights[f"{_FOLDED}{_STACK}Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1"]
        angles = np.arange(self.longest, dtype=np.float32)[:, None] * signal
        self._places: Floats = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        wider = f"{_FOLDED}{_ENCODE}Layer_0/TransformerLayer/dense/"
        self._wider = weights[f"{wider}kernel{_WHOLE}"], weights[f"{wider}bias{_WHOLE}"]
        self._layers = [_Layer(weights, number) for number in range(2)]
        last = f"{_ROOT}hidden_layers/tanh_layer_0/"
        self._last = weights[f"{last}weights"], weights[f"{last}bias"]

    def vector(self, pieces: list[int]) -> Floats:
        """Return 512 numbers for the pieces of one text; the empty text gets those of a mean of zero."""
        mean: Floats = np.zeros(len(self._last[1]), np.float32)
        if pieces:
            words = self._words[pieces]
            # The graph adds the places to the words, and the words to that.
            rows = words + (words + self._places[: len(pieces)])
            kernel, bias = self._wider
            rows = self._layers[0](rows, rows @ kernel + bias)
            rows = self._layers[1](rows, rows)
            mean = rows.sum(axis=0) / np.float32(len(pieces))
        kernel, bias = self._last
        found: Floats = np.tanh(mean @ kernel + bias)
        return found


class _Layer:
    """Attention and a pair of products, each on normed rows and added to what came in."""

    def __init__(self, weights: Mapping[str, NDArray[Any]], number: int) -> None:
        layer = f"Layer_{number}/TransformerLayer/"
        here, folded = f"{_FOLDED}{_ENCODE}{layer}", f"{_FOLDED}{_STACK}{layer}"

        def norm(place: str) -> tuple[Floats, Floats]:
            both = f"{here}{place}layer_prepostprocess/layer_norm/layer_norm_"
            return weights[f"{both}scale{_WHOLE}"], weights[f"{both}bias{_WHOLE}"]

        def attention(name: str) -> tuple[Floats, Floats]:
            kernel = weights[f"{_ROOT}{_ENCODE}{layer}MultiheadAttention/{name}/kernel/part_0"]
            return kernel[0, 0], weights[f"{here}MultiheadAttention/{name}/bias{_WHOLE}"]

        def product(name: str) -> tuple[Floats, Floats]:
            return weights[f"{folded}FFN/{name}/Tensordot/Reshape_1"], weights[
                f"{here}FFN/{name}/bias{_WHOLE}"
            ]

        self._first_norm, self._second_norm = norm(""), norm("FFN/")
        self._in, self._out = attention("qkv_transform_single"), attention("output_transform_single")
        self._scale: Floats = weights[f"{folded}MultiheadAttention/mul/y"]
        self._up, self._down = product("conv1"), product("conv2")

    def __call__(self, rows: Floats, kept: Floats) -> Floats:
        """Return the rows after this layer; `kept` is what attention is added to."""
        between = self._attended(_normed(rows, *self._first_norm)) + kept
        kernel, bias = self._up
        wide = np.maximum(_normed(between, *self._second_norm) @ kernel + bias, np.float32(0))
        kernel, bias = self._down
        found: Floats = (wide @ kernel + bias) + between
        return found

    def _attended(self, rows: Floats) -> Floats:
        kernel, bias = self._in
        apart = (rows @ kernel + bias).reshape(len(rows), 3, _HEADS, -1).transpose(1, 2, 0, 3)
        queries, keys, values = np.ascontiguousarray(apart)
        scores = (queries * self._scale) @ keys.transpose(0, 2, 1)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        kernel, bias = self._out
        found: Floats = (shares @ values).transpose(1, 0, 2).reshape(len(rows), -1) @ kernel + bias
        return found


def _normed(rows: Floats, scale: Floats, bias: Floats) -> Floats:
    away = rows - rows.mean(axis=-1, keepdims=True)
    spread = np.square(away).mean(axis=-1, keepdims=True)
    found: Floats = scale / np.sqrt(spread + _EPSILON) * away + bias
    return found
