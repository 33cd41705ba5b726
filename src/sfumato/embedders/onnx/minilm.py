"""all-MiniLM-L6-v2 on ONNX Runtime: the packaged weights in a graph of our own, on the CPU, without torch.

Texts of one length are computed together, so that nothing is padded. Every operation of the graph treats
each text by itself, and the tokens' mean is taken outside of it; the first batch of each shape is compared
with one of its texts computed alone, and where this machine's kernels differ, texts of that shape are
computed alone. With 8 bits the scale of a product follows from all that is in it, so there every text is
computed alone.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.blocks import thread_count
from sfumato.concepts.texts.soft import SoftText
from sfumato.embedders.base import OnBatch
from sfumato.embedders.digests import require_published
from sfumato.embedders.minilm import LONGEST, PACKAGE, PUBLISHED, MiniLM, model_folder
from sfumato.embedders.onnx.bert import IN, OUT, BertSizes, graph
from sfumato.embedders.reach import Reach
from sfumato.embedders.softening import TermTokens, mean_embedding, soft_positions, spelled
from sfumato.embedders.texts import checked_texts, unit_rows
from sfumato.errors import ParameterError

_SIZES = BertSizes(layers=6, heads=12, width=384, epsilon=1e-12)
_WINDOW, _TOKENS, _ROWS = 4096, 2048, 32


class _TokenRow(NamedTuple):
    """The tokens of one text; in a soft place the number is -1, and its terms stand apart."""

    ids: NDArray[np.int64]
    soft: tuple[TermTokens, ...] = ()


class OnnxMiniLM:
    """The vectors of `minilm` to about 1e-6: 384 dimensions, unit length; reads the first 256 tokens."""

    name = "minilm-onnx"
    dim = 384
    soft = True
    model_id = f"{MiniLM.model_id};onnx"
    _int8 = False

    def __init__(self, *, threads: int | None = None) -> None:
        from safetensors.numpy import load_file

        folder = model_folder()
        require_published(folder, PUBLISHED, PACKAGE)
        weights = load_file(folder / "model.safetensors")
        self._words = weights["embeddings.word_embeddings.weight"]
        places = weights["embeddings.position_embeddings.weight"]
        self._places = places + weights["embeddings.token_type_embeddings.weight"][0]
        tokenizers: Any = importlib.import_module("tokenizers")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        self.reach = Reach(folder / "tokenizer.json", LONGEST)
        runtime: Any = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        # One thread computes a text, and several texts run at once: no split over threads changes a bit.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        made = graph(weights, _SIZES, int8=self._int8)
        self._session = runtime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
        self._threads = thread_count(threads)
        self._same: dict[tuple[int, int], bool] = {}

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, 384)` unit vectors in the order of the texts."""
        found = checked_texts(texts)
        sums = np.empty((len(found), self.dim))
        for start in range(0, len(found), _WINDOW):
            rows = list(self._rows(found[start : start + _WINDOW]))
            for places, vectors in self._computed(rows, self._batches(rows)):
                sums[[start + place for place in places]] = vectors
                if on_batch is not None:
                    on_batch(len(places))
        return unit_rows(sums)

    def seen(self, texts: Sequence[str]) -> list[bytes]:
        """Return the tokens it computes a vector from, for each text."""
        return [spelled(row.ids, row.ids < 0, iter(row.soft)) for row in self._rows(checked_texts(texts))]

    def _rows(self, texts: list[str]) -> Iterator[_TokenRow]:
        for text, read in zip(texts, self._tokenizer.encode_batch(texts), strict=True):
            ids = np.array(read.ids, np.int64)
            if not isinstance(text, SoftText):
                yield _TokenRow(ids)
                continue
            kept, found = soft_positions(np.array(read.offsets, np.int64), text.places)
            ids[[position for position, _ in found]] = -1
            yield _TokenRow(ids[kept], tuple(self._term_tokens(place.terms) for _, place in found))

    def _term_tokens(self, terms: Sequence[str]) -> TermTokens:
        read = self._tokenizer.encode_batch(list(terms), add_special_tokens=False)
        found = tuple(tuple(each.ids) for each in read if each.ids)
        if not found:
            raise ParameterError("At least one term of a soft place must have tokens. Found none.")
        return found

    def _batches(self, rows: list[_TokenRow]) -> list[list[int]]:
        """Places of texts of one length, the long ones first so that the last batches to end are short."""
        lengths: dict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            lengths[len(row.ids)].append(place)
        batches = []
        for length in sorted(lengths, reverse=True):
            group, most = lengths[length], 1 if self._int8 else max(1, min(_ROWS, _TOKENS // length))
            while group:
                # Powers of two, so that few shapes have to be compared.
                size = 1 << (min(most, len(group)).bit_length() - 1)
                batches.append(group[:size])
                group = group[size:]
        return batches

    def _computed(
        self, rows: list[_TokenRow], batches: list[list[int]]
    ) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
        if self._threads == 1 or len(batches) == 1:
            yield from ((places, self._vectors([rows[place] for place in places])) for places in batches)
            return
        pool = ThreadPoolExecutor(self._threads, "embed")
        try:
            started = {
                pool.submit(self._vectors, [rows[place] for place in places]): places for places in batches
            }
            for done in as_completed(started):
                yield started[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _vectors(self, rows: list[_TokenRow]) -> NDArray[np.float64]:
        shape = len(rows[0].ids), len(rows)
        if self._same.get(shape, True):
            tokens = self._forward(rows)
            if len(rows) == 1 or self._is_steady(rows, tokens, shape):
                return _means(tokens)
        return np.concatenate([_means(self._forward([row])) for row in rows])

    def _is_steady(self, rows: list[_TokenRow], tokens: NDArray[np.float32], shape: tuple[int, int]) -> bool:
        """Whether the last row of a batch of this shape gets the bits it gets alone."""
        if shape not in self._same:
            self._same[shape] = np.array_equal(tokens[-1:], self._forward(rows[-1:]))
        return self._same[shape]

    def _forward(self, rows: list[_TokenRow]) -> NDArray[np.float32]:
        embedded = self._words[np.stack([row.ids for row in rows])]
        for place, row in enumerate(rows):
            for position, terms in zip(np.flatnonzero(row.ids < 0), row.soft, strict=True):
                embedded[place, position] = mean_embedding([self._words[list(ids)] for ids in terms])
        embedded += self._places[: embedded.shape[1]]
        found: NDArray[np.float32] = self._session.run([OUT], {IN: embedded})[0]
        return found


class Int8MiniLM(OnnxMiniLM):
    """The same with weights and products of 8 bits: other vectors, close to those of `minilm`, and faster."""

    name = "minilm-int8"
    model_id = f"{MiniLM.model_id};onnx;int8"
    _int8 = True


def _means(tokens: NDArray[np.float32]) -> NDArray[np.float64]:
    """The mean of each text's tokens, one text at a time: how numpy adds up follows the shape."""
    return np.stack([each.mean(axis=0, dtype=np.float64) for each in tokens])
