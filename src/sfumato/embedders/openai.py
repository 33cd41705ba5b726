"""Any endpoint that speaks the OpenAI embeddings protocol, with nothing but the standard library.

Texts go to the address that was given, and nowhere else: redirects are refused. The key is read from the
environment variable of that host at each request and kept nowhere. No error shows a text, a key or what the
server wrote.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import OnBatch
from sfumato.embedders.endpoint import EndpointError, Poster
from sfumato.embedders.remote import OPENAI, checked_address
from sfumato.embedders.texts import checked_texts, unit_rows
from sfumato.errors import ParameterError
from sfumato.numbers import finite_number, whole_number

_CHARACTERS = 200_000


class OpenAIEndpoint:
    """Embeds through a server; which text fits and what is cut off is the server's own rule.

    The empty text, which many servers refuse, is sent as one space. Servers may round the same text
    differently from call to call: wrap this in a `CachedEmbedder` where a text has to keep its vector.

    Args:
        model: The model's name on that server.
        base_url: The address before `/embeddings`.
        key_variable: The environment variable that holds the key, which is not sent where there is none;
            OPENAI_API_KEY is for https://api.openai.com alone, SFUMATO_KEY_MY_HOST is for my.host.
        dim: The dimension to expect; found out with one request for the text "dimension" when None.
        dimensions: The dimension to ask for, where the model can shorten its vectors.
        batch: The most texts in one request.
        workers: How many requests run at once.
        timeout: Seconds without an answer after which a request is given up.
        retries: How often a request is tried again after 408, 409, 429, 5xx, a timeout or a lost connection.
        longest_wait: The longest pause in seconds; a server that asks for a longer one is given up.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI,
        key_variable: str | None = None,
        dim: int | None = None,
        dimensions: int | None = None,
        batch: int = 128,
        workers: int = 4,
        timeout: float = 60.0,
        retries: int = 5,
        longest_wait: float = 60.0,
    ) -> None:
        if not isinstance(model, str) or not model:
            raise ParameterError("`model` must be the model's name on the server. Found none.")
        self._model, self._base = model, checked_address(base_url)
        self._dimensions = None if dimensions is None else whole_number(dimensions, "dimensions", 1, 1 << 16)
        self._batch = whole_number(batch, "batch", 1, 2048)
        self._workers = whole_number(workers, "workers", 1, 64)
        self._poster = Poster(
            f"{self._base}/embeddings",
            key_variable=key_variable,
            timeout=finite_number(timeout, "timeout", 0.001, 3600.0),
            retries=whole_number(retries, "retries", 0, 100),
            longest_wait=finite_number(longest_wait, "longest_wait", 0.0, 86400.0),
        )
        self.name = f"openai:{model}@{self._base}"
        self.model_id = self.name + (f";dimensions={dimensions}" if dimensions else "")
        self.dim = 0 if dim is None else whole_number(dim, "dim", 1, 1 << 16)
        if self.dim == 0:
            self.dim = self._dimensions or self._request(["dimension"], 0, Event()).shape[1]

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` unit vectors in the order of the texts."""
        found = [text or " " for text in checked_texts(texts)]
        vectors = np.empty((len(found), self.dim), np.float32)
        pool, stop = ThreadPoolExecutor(self._workers, "embed"), Event()
        try:
            parts = _parts(found, self._batch)
            started = {pool.submit(self._request, found[a:b], a, stop): (a, b) for a, b in parts}
            for done in as_completed(started):
                first, last = started[done]
                vectors[first:last] = unit_rows(done.result(), first)
                if on_batch is not None:
                    on_batch(last - first)
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
        return vectors

    def _request(self, texts: list[str], first: int, stop: Event) -> NDArray[np.float32]:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "base64"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        where = f"for rows {first} to {first + len(texts) - 1}"
        answer = self._poster.post(json.dumps(body).encode(), where, stop)
        return answered_vectors(answer, len(texts), self.dim, f"{self._poster.address} answered {where}")


def _parts(texts: list[str], most: int) -> Iterator[tuple[int, int]]:
    """Ranges of texts for one request each: not too many, and not too long together."""
    first, size = 0, 0
    for row, text in enumerate(texts):
        if row > first and (row - first >= most or size + len(text) > _CHARACTERS):
            yield first, row
            first, size = row, 0
        size += len(text)
    if first < len(texts):
        yield first, len(texts)


def answered_vectors(answer: bytes, count: int, dim: int, where: str) -> NDArray[np.float32]:
    """The vectors of an answer in the order of its request, checked one by one; any dimension, if it is 0."""
    data: Any = None
    # A decode error carries the answer, which may repeat the texts: it ends here.
    with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError):
        data = json.loads(answer)["data"]
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise EndpointError(f"{where} with something that is not a list of embeddings. Check the address.")
    if len(data) != count:
        raise EndpointError(f"{where} with {len(data)} embeddings. It has to give {count}, one a text.")
    rows: dict[int, NDArray[np.float32]] = {}
    for position, item in enumerate(data):
        row = _numbers(item.get("embedding"))
        if row is None:
            raise EndpointError(f"{where} with an embedding that is not a list of finite numbers.")
        dim = dim or len(row)
        if len(row) != dim:
            raise EndpointError(f"{where} with {len(row)} dimensions. It has to give {dim}: check the model.")
        index = item.get("index", position)
        rows[index if isinstance(index, int) else -1] = row
    if set(rows) != set(range(count)):
        raise EndpointError(f"{where} with wrong indexes. They have to be 0 to {count - 1}, each once.")
    return np.stack([rows[i] for i in range(count)])


def _numbers(found: Any) -> NDArray[np.float32] | None:
    row: NDArray[np.float32] | None = None
    with contextlib.suppress(ValueError, TypeError, OverflowError, binascii.Error):
        if isinstance(found, str):
            row = np.frombuffer(base64.b64decode(found, validate=True), "<f4").astype(np.float32)
        elif isinstance(found, list):
            row = np.array(found, np.float64).astype(np.float32)
    return row if row is not None and row.ndim == 1 and len(row) and np.isfinite(row).all() else None
