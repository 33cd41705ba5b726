"""From texts to neutral texts, and from the vectors that come back to a release: all but the proxy itself."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.adapters.litellm.asked import AskedEmbeddings
from sfumato.adapters.litellm.settings import GuardrailSettings
from sfumato.arrays import as_vectors
from sfumato.embedders.base import OnBatch
from sfumato.embedders.texts import unit_rows
from sfumato.errors import EndpointError, InputError, SfumatoError, VectorError
from sfumato.preparing import Copies
from sfumato.release import shortened


class ProxiedEncoder:
    """The encoder behind the proxy: it is named here and called there."""

    name = "litellm"
    dim = 0

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NoReturn:
        """Refuse: texts reach this encoder through the proxy alone."""
        raise InputError("The encoder is behind the proxy, which sends it neutral texts itself.")


@dataclass(slots=True, eq=False, repr=False)
class PendingRelease:
    """One request on its way: what was asked for, what the upstream is sent, and what came of it."""

    owner: ReleasingGuard
    asked: AskedEmbeddings
    copies: Copies
    sent: list[str]
    """The neutral texts, each once."""
    released: NDArray[np.float32] | None = None
    error: Exception | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def settle(self, rows: Any) -> None:
        """Release what the upstream answered, once; what goes wrong is kept, and nothing is released then."""
        with self._lock:
            if self.released is not None or self.error is not None:
                return
            try:
                self.released = self.owner.released(self, rows)
            except Exception as error:
                self.error = error

    def answer(self) -> list[list[float] | str]:
        """The rows of the answer, as the client asked for them."""
        if self.error is not None:
            raise self.error
        if self.released is None:
            raise SfumatoError("Nothing was released.")
        if self.asked.encoding == "float":
            return self.released.tolist()  # type: ignore[no-any-return]
        return [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in self.released]


class ReleasingGuard:
    """A protector with an encoder elsewhere."""

    def __init__(self, settings: GuardrailSettings) -> None:
        loaded = settings.reference.open(embedder=ProxiedEncoder(""))
        self._encoder = ProxiedEncoder(loaded.learned.model_id or "litellm")
        loaded.embedder = self._encoder
        self._protector, self._most = loaded, settings.max_inputs
        self._entrance = loaded.entrance()
        self._lock = threading.Lock()
        # What a concept needs and is not there is found out now, and not by the first request.
        self._entrance.copies(["warm up"]).identities(self._encoder)

    def neutral(self, asked: AskedEmbeddings) -> PendingRelease:
        """Put neutral texts in the place of those in which a concept is found."""
        copies = self._entrance.copies(asked.texts)
        # Many servers refuse the empty text.
        sent = list(dict.fromkeys(text or " " for text in copies.texts))
        if len(sent) > self._most:
            raise InputError(
                f"`input` must come down to at most {self._most} neutral texts. Found {len(sent)}."
            )
        return PendingRelease(self, asked, copies, sent)

    def released(self, pending: PendingRelease, rows: Any) -> NDArray[np.float32]:
        """Write what is spent to the ledger, and release the vectors of the neutral texts.

        The noise belongs to the exact vector that came back: another deployment, or another rounding, behind
        the same name is another release, and is charged. The account is that of the neutral texts.
        """
        vectors = self._unit(rows, len(pending.sent))
        wanted, dim = pending.asked.dimensions, self._protector.mechanism.output_dim(vectors.shape[1])
        if wanted is not None and wanted > dim:
            raise InputError(f"`dimensions` must be a whole number from 1 to {dim}.")
        places = {text: row for row, text in enumerate(pending.sent)}
        embedded = vectors[[places[text or " "] for text in pending.copies.texts]]
        _, accounts = pending.copies.identities(self._encoder)
        with self._lock:
            made = self._protector.protect(
                pending.copies.means(embedded),
                matched=pending.copies.matched,
                units=accounts,
                role=pending.asked.role,
            )
        return made if wanted is None or wanted == dim else shortened(made, wanted)

    def _unit(self, rows: Any, count: int) -> NDArray[np.float32]:
        try:
            return unit_rows(as_vectors(_numbers(rows, count), dim=self._protector.dim))
        except VectorError as error:
            raise EndpointError(f"The upstream's vectors are refused. {error}") from None


def _numbers(rows: Any, count: int) -> NDArray[np.float64]:
    """The vectors of an answer in the order of the texts, whatever order they came in."""
    try:
        found = {int(each["index"]): each["embedding"] for each in rows}
        if len(rows) != count or set(found) != set(range(count)):
            raise ValueError
        return np.array([_floats(found[row]) for row in range(count)], np.float64)
    except (TypeError, KeyError, ValueError, AttributeError, binascii.Error):
        pass
    raise EndpointError(f"The upstream must answer with {count} vectors of one length. It did not.")


def _floats(given: Any) -> Any:
    return np.frombuffer(base64.b64decode(given, validate=True), "<f4") if isinstance(given, str) else given
