"""Running a sentence-transformers model so that a text's vector depends on that text alone, to the last bit.

Rounding follows the shape of a computation: padded to the longest neighbour, or split over other threads,
most vectors change in their last bits. So here

- a text is padded to a length that follows from its own number of tokens, and joins texts of that length;
- one thread computes a batch, and several batches run at once, so the split over threads never changes;
- the first batch of each shape is compared with some of its texts computed alone, and where this machine's
  kernels treat rows differently, texts of that shape are computed in smaller batches or one by one.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.concepts.texts.soft import SoftText
from sfumato.embedders.base import OnBatch
from sfumato.embedders.soft_tokens import SoftTokens
from sfumato.errors import ParameterError

_WINDOW, _CHARACTERS, _TOKENISED = 16384, 1 << 23, 256
_CPU_ROWS, _CPU_TOKENS = (1, 8, 32), 4096
_GPU_ROWS, _GPU_TOKENS = 256, 8192
_SHORTEST = 16


class _Shape(NamedTuple):
    length: int
    full: bool
    """Whether the text fills the length, so that there is no padding."""


class _Row(NamedTuple):
    """One text: its tokens by feature, or for a model with features of its own kind all that it asks for."""

    tokens: dict[str, NDArray[np.int64]]
    others: dict[str, Any]


class _Batch(NamedTuple):
    places: list[int]
    rows: list[_Row]
    shape: _Shape
    size: int


class SteadyModel:
    """A sentence-transformers model whose batches leave no trace in its vectors."""

    def __init__(self, model: Any, *, prompt: str | None = None, threads: int | None = None) -> None:
        self._model = model.eval()
        self._prompt = prompt
        self._on_cpu = model.device.type == "cpu"
        self._threads = (threads or torch.get_num_threads()) if self._on_cpu else 1
        self._same: dict[tuple[_Shape, int], bool] = {}
        # A tokenizer that two threads use at once refuses one of them.
        self._tokenizing = threading.Lock()
        self._soft: SoftTokens | None = None
        self.dim = int(model.get_embedding_dimension() or self._width())

    @property
    def soft(self) -> bool:
        """Whether it takes soft texts."""
        return SoftTokens.fit(self._model)

    def vectors(self, texts: Sequence[str], on_batch: OnBatch | None) -> NDArray[np.float32]:
        """Return what the model gives for each text, in order."""
        found = np.empty((len(texts), self.dim), np.float32)
        for window, places, vectors in self._each(texts, on_batch):
            found[window][places] = vectors.cpu().numpy()
        return found

    def tensor(self, texts: Sequence[str], on_batch: OnBatch | None) -> torch.Tensor:
        """Return the same numbers as a tensor that never leaves the model's device."""
        found = torch.empty((len(texts), self.dim), device=self._model.device)
        for window, places, vectors in self._each(texts, on_batch):
            found[window][places] = vectors
        return found

    def seen(self, texts: Sequence[str]) -> list[bytes]:
        """Return the tokens that are computed with, for each text: after normalising, prompt and cutting."""
        return [
            self._seen(row.tokens["input_ids"]) if row.tokens else text.encode()
            for text, row in zip(texts, self._tokenised(texts), strict=True)
        ]

    def _seen(self, ids: NDArray[np.int64]) -> bytes:
        return ids.astype("<i8").tobytes() if self._soft is None else self._soft.seen(ids)

    def _each(
        self, texts: Sequence[str], on_batch: OnBatch | None
    ) -> Iterator[tuple[slice, list[int], torch.Tensor]]:
        """Yield vectors as they are computed: the window, their places in it, and themselves."""
        for window in _windows(texts):
            for places, vectors in self._computed(self._batches(texts[window])):
                yield window, places, vectors
                if on_batch is not None:
                    on_batch(len(places))

    def _batches(self, texts: Sequence[str]) -> list[_Batch]:
        """Texts of one shape together, the long ones first so that the last batches to end are short."""
        groups: dict[_Shape, list[tuple[int, _Row]]] = defaultdict(list)
        for place, row in enumerate(self._tokenised(texts)):
            groups[self._shape(row)].append((place, row))
        batches = []
        for shape in sorted(groups, reverse=True):
            sizes, group = self._sizes(shape), groups[shape]
            while group:
                size = max((size for size in sizes if size <= 2 * len(group)), default=sizes[0])
                part, group = group[:size], group[size:]
                batches.append(_Batch([place for place, _ in part], [row for _, row in part], shape, size))
        return batches

    def _tokenised(self, texts: Sequence[str]) -> Iterator[_Row]:
        for start in range(0, len(texts), _TOKENISED):
            part = texts[start : start + _TOKENISED]
            plain = self._plain([text for text in part if not isinstance(text, SoftText)])
            soft = self._softened([text for text in part if isinstance(text, SoftText)])
            yield from (next(soft if isinstance(text, SoftText) else plain) for text in part)

    def _softened(self, texts: list[SoftText]) -> Iterator[_Row]:
        if not texts:
            return
        rows = list(self._plain([str(text) for text in texts]))
        if not self.soft or not all(row.tokens for row in rows):
            raise ParameterError("This encoder takes no soft texts. Use copies or a placeholder.")
        with self._tokenizing:
            self._soft = self._soft or SoftTokens(self._model, self._prompt)
            tokens = self._soft.put(texts, [row.tokens for row in rows])
        yield from (row._replace(tokens=own) for row, own in zip(rows, tokens, strict=True))

    def _plain(self, texts: list[str]) -> Iterator[_Row]:
        if not texts:
            return
        with self._tokenizing:
            features = self._model.preprocess(texts, prompt=self._prompt)
        tensors = {name: value for name, value in features.items() if isinstance(value, torch.Tensor)}
        mask = tensors.get("attention_mask")
        wanted = (len(texts), -1) if mask is None else tuple(mask.shape)
        if "input_ids" in tensors and all(tuple(value.shape) == wanted for value in tensors.values()):
            others = {name: value for name, value in features.items() if name not in tensors}
            arrays = {name: value.numpy() for name, value in tensors.items()}
            for i, keep in enumerate(arrays["attention_mask"] != 0):
                row = (
                    {name: array[i][keep] for name, array in arrays.items()}
                    if keep.any()
                    else self._blank(arrays)
                )
                yield _Row(row, others)
        else:
            yield from (_Row({}, self._model.preprocess([text], prompt=self._prompt)) for text in texts)

    def _blank(self, names: Iterable[str]) -> dict[str, NDArray[np.int64]]:
        """One token of padding, for a tokenizer that finds none in a text."""
        values = {"input_ids": self._model.tokenizer.pad_token_id or 0, "attention_mask": 1}
        return {name: np.array([values.get(name, 0)]) for name in names}

    def _width(self) -> int:
        row = next(self._tokenised([""]))
        return int(self._alone(row, self._shape(row)).shape[1])

    def _shape(self, row: _Row) -> _Shape:
        if not row.tokens:
            return _Shape(0, True)
        tokens = len(row.tokens["input_ids"])
        # At least one token of padding: without any, a model may leave out its mask and round otherwise. At
        # least 16 tokens: for fewer, one text alone may go through another kernel than many.
        wanted = max(_SHORTEST, tokens + 1)
        # Steps of about an eighth; on a GPU a few wasted tokens cost less than one more batch.
        step = max(4 if self._on_cpu else 16, 1 << (wanted.bit_length() - 3))
        # A text that fills the model has no room for padding, which makes its shape another one.
        length = min(-(-wanted // step) * step, max(self._model.max_seq_length or 1 << 30, tokens))
        return _Shape(length, length == tokens)

    def _sizes(self, shape: _Shape) -> tuple[int, ...]:
        """The numbers of rows a batch may have; a text alone is computed with the first."""
        if not shape.length:
            return (1,)
        if self._on_cpu:
            return tuple(rows for rows in _CPU_ROWS if rows == 1 or rows * shape.length <= _CPU_TOKENS)
        # A GPU chooses its kernels by the number of rows, and hardly notices rows that nobody asked for.
        return (max(1, min(_GPU_ROWS, _GPU_TOKENS // shape.length)),)

    def _computed(self, batches: list[_Batch]) -> Iterator[tuple[list[int], torch.Tensor]]:
        if not self._on_cpu:
            yield from ((batch.places, self._compute(*batch[1:])) for batch in batches)
            return
        with _one_thread():
            if self._threads == 1 or len(batches) == 1:
                yield from ((batch.places, self._compute(*batch[1:])) for batch in batches)
                return
            pool = ThreadPoolExecutor(self._threads, "embed", torch.set_num_threads, (1,))
            try:
                started = {pool.submit(self._compute, *batch[1:]): batch.places for batch in batches}
                for done in as_completed(started):
                    yield started[done], done.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _compute(self, rows: list[_Row], shape: _Shape, size: int) -> torch.Tensor:
        if self._same.get((shape, size), True):
            vectors = self._forward(rows, shape, size)
            if size == 1 or self._is_steady(rows, vectors, shape, size):
                return vectors[: len(rows)]
        smaller = max((rows for rows in self._sizes(shape) if rows < size), default=0)
        if not smaller:
            return torch.cat([self._alone(row, shape) for row in rows])
        parts = (rows[start : start + smaller] for start in range(0, len(rows), smaller))
        return torch.cat([self._compute(part, shape, smaller) for part in parts])

    def _is_steady(self, rows: list[_Row], vectors: torch.Tensor, shape: _Shape, size: int) -> bool:
        """Whether the first, middle and last row of this shape get the bits they get alone."""
        if (shape, size) not in self._same:
            slots = sorted({0, size // 2, size - 1})
            alone = [self._alone(rows[slot % len(rows)], shape) for slot in slots]
            self._same[shape, size] = torch.equal(vectors[slots], torch.cat(alone))
        return self._same[shape, size]

    def _alone(self, row: _Row, shape: _Shape) -> torch.Tensor:
        return self._forward([row], shape, self._sizes(shape)[0])[:1]

    def _forward(self, rows: list[_Row], shape: _Shape, size: int) -> torch.Tensor:
        """Compute `size` rows, going through the given ones again until there are as many."""
        features = dict(rows[0].others)
        for name in rows[0].tokens:
            features[name] = torch.from_numpy(self._padded(name, rows, shape.length, size))
        for name, value in features.items():
            features[name] = value.to(self._model.device) if isinstance(value, torch.Tensor) else value
        with torch.inference_mode():
            found: torch.Tensor = self._model(features)["sentence_embedding"].float()
        return found

    def _padded(self, name: str, rows: list[_Row], length: int, size: int) -> NDArray[np.int64]:
        tokenizer = self._model.tokenizer
        block = np.full((size, length), tokenizer.pad_token_id or 0 if name == "input_ids" else 0, np.int64)
        for slot in range(size):
            values = rows[slot % len(rows)].tokens[name]
            first = length - len(values) if tokenizer.padding_side == "left" else 0
            block[slot, first : first + len(values)] = values
        return block


def _windows(texts: Sequence[str]) -> Iterator[slice]:
    """Parts of the texts whose tokens fit into memory together."""
    start = size = 0
    for place, text in enumerate(texts):
        if place > start and (place - start == _WINDOW or size + len(text) > _CHARACTERS):
            yield slice(start, place)
            start, size = place, 0
        size += len(text)
    yield slice(start, len(texts))


_lock = threading.Lock()
_active, _before = 0, 1


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch use one thread here; once nobody is inside, everything is as it was."""
    global _active, _before
    with _lock:
        # A thread started meanwhile inherits the 1, so only the first one in knows the real number.
        _before = _before if _active else torch.get_num_threads()
        _active += 1
    try:
        torch.set_num_threads(1)
        yield
    finally:
        with _lock:
            _active -= 1
            torch.set_num_threads(_before)
