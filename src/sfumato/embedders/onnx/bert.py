"""A BERT encoder as an ONNX graph: input embeddings of texts of one length in, those of the last layer out.

Texts of one length need no padding and no mask. Input embeddings come from outside, so that a soft token is
an embedding like any other. The mean over tokens is left out: the runtime adds up a text's tokens in another
order when other texts stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.onnx.protobuf import CONTRIBUTED, model, node, tensor, value

Weights = Mapping[str, NDArray[np.float32]]
IN, OUT = "embedded", "tokens"


class BertSizes(NamedTuple):
    """What is not in the weights."""

    layers: int
    heads: int
    width: int
    epsilon: float


def graph(weights: Weights, sizes: BertSizes, *, int8: bool = False, levels: int = 127) -> bytes:
    """The graph as a model; with `int8` its weights, and what they are multiplied by, have 8 bits.

    With fewer `levels` of a weight no sum of products overflows on processors whose 8-bit products have 16.
    """
    made = _Graph(weights, sizes, int8, levels)
    found = made.normed(IN, None, "embeddings.LayerNorm")
    for layer in range(sizes.layers):
        found = made.layer(found, f"encoder.layer.{layer}.")
    made.nodes.append(node("Identity", [found], [OUT]))
    shape: list[str | int] = ["texts", "tokens", sizes.width]
    return model(made.nodes, made.tensors, [value(IN, shape)], [value(OUT, shape)])


class _Graph:
    def __init__(self, weights: Weights, sizes: BertSizes, int8: bool, levels: int) -> None:
        self._weights, self._sizes, self._int8, self._levels = weights, sizes, int8, levels
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def layer(self, given: str, at: str) -> str:
        attended = self._attention(given, at + "attention.self.")
        mixed = self._linear(attended, at + "attention.output.dense")
        first = self.normed(mixed, given, at + "attention.output.LayerNorm")
        wide = self._linear(first, at + "intermediate.dense")
        bent = self._put("Gelu", [wide], at + "gelu", domain=CONTRIBUTED)
        narrow = self._linear(bent, at + "output.dense")
        return self.normed(narrow, first, at + "output.LayerNorm")

    def normed(self, given: str, skipped: str | None, at: str) -> str:
        """LayerNorm of a value, or of its sum with what skipped the layers between."""
        scale, shift = self._tensor(at + ".weight"), self._tensor(at + ".bias")
        if skipped is None:
            attributes = {"axis": -1, "epsilon": self._sizes.epsilon}
            return self._put("LayerNormalization", [given, scale, shift], at + ".out", attributes)
        inputs, attributes = [given, skipped, scale, shift], {"epsilon": self._sizes.epsilon}
        return self._put("SkipLayerNormalization", inputs, at + ".out", attributes, CONTRIBUTED)

    def _attention(self, given: str, at: str) -> str:
        names = [f"{at}{part}" for part in ("query", "key", "value")]
        together = np.concatenate([self._weights[name + ".weight"] for name in names]).T
        bias = np.concatenate([self._weights[name + ".bias"] for name in names])
        heads = {"num_heads": self._sizes.heads}
        if not self._int8:
            inputs = [given, self._constant(at + "weight", together), self._constant(at + "bias", bias)]
            return self._put("Attention", inputs, at + "out", heads, CONTRIBUTED)
        mixed = self._multiplied(given, at, together, bias)
        width = self._sizes.width
        cuts = self._constant(at + "cuts", np.full(3, width, np.int64))
        parts = [at + part for part in ("q", "k", "v")]
        self.nodes.append(node("Split", [mixed, cuts], parts, {"axis": -1}))
        return self._put("MultiHeadAttention", parts, at + "out", heads, CONTRIBUTED)

    def _linear(self, given: str, at: str) -> str:
        weight, bias = self._weights[at + ".weight"].T, self._weights[at + ".bias"]
        if self._int8:
            return self._multiplied(given, at + ".", weight, bias)
        product = self._put("MatMul", [given, self._constant(at + ".weight", weight)], at + ".product")
        return self._put("Add", [product, self._constant(at + ".bias", bias)], at + ".out")

    def _multiplied(self, given: str, at: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        """A product whose factors are rounded to 8 bits: weights a column, the rest a call, as it comes."""
        scales = np.maximum(np.abs(weight).max(axis=0), 1e-12).astype(np.float32) / np.float32(self._levels)
        inputs = [
            given,
            self._constant(at + "weight", np.rint(weight / scales).astype(np.int8)),
            self._constant(at + "scales", scales),
            self._constant(at + "zeros", np.zeros(len(scales), np.int8)),
            self._constant(at + "bias", bias),
        ]
        return self._put("DynamicQuantizeMatMul", inputs, at + "out8", domain=CONTRIBUTED)

    def _tensor(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, values: NDArray[np.generic]) -> str:
        self.tensors.append(tensor(name, values))
        return name

    def _put(
        self,
        kind: str,
        inputs: list[str],
        output: str,
        attributes: Mapping[str, int | float] | None = None,
        domain: str = "",
    ) -> str:
        self.nodes.append(node(kind, inputs, [output], attributes, domain))
        return output
