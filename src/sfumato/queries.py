"""Searches: released with fresh noise, or sent by their own vectors, which promises nothing.

A clean search finds more where documents are protected, and shows whoever gets its vector what was searched
for. Where there is a ledger it is written down as a release without a promise: it costs infinity, so that no
ceiling has room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.guarantee import Guarantee
from sfumato.accounting.identity import of_vectors
from sfumato.arrays import as_vectors
from sfumato.concepts.base import Check
from sfumato.embedders.base import OnBatch
from sfumato.errors import ParameterError
from sfumato.mechanisms import Identity
from sfumato.preparing import Entrance, Prepared
from sfumato.protector import Protector

Queries = Literal["protected", "clean"]
"""What a search is made by: a release with fresh noise, or the text's own vector."""

WHAT_IS_LOST = (
    "A search for what is hidden stops working: its vectors no longer hold it, whatever searches are made "
    "by. Where people look for it, use sealed search and its name index (docs/protect.md, docs/sealed.md)."
)
"""Said wherever people decide to embed neutral texts."""


def checked_queries(given: str) -> Queries:
    """Return how searches are made, or refuse it."""
    if given not in get_args(Queries):
        raise ParameterError(f"`queries` must be one of {get_args(Queries)}. Found {given!r:.40}.")
    return given  # type: ignore[return-value]


def embed_queries(
    protector: Protector, texts: Sequence[str], queries: Queries = "protected"
) -> NDArray[np.float32]:
    """The vectors to search by."""
    if queries == "clean":
        return release_clean(protector, prepare_clean(protector, texts))
    return protector.embed(texts, role="query")


def query_by(protector: Protector, vectors: Any, queries: Queries = "protected") -> NDArray[np.float32]:
    """The vectors to search by, where vectors are what is given."""
    if queries == "clean":
        array = as_vectors(vectors, dim=protector.dim)
        names = tuple(of_vectors(array)) if protector.ledger is not None else None
        found = Prepared(np.asarray(array, np.float32), np.zeros(len(array), bool), names, names)
        return release_clean(protector, found)
    return protector.protect(vectors, role="query")


def prepare_clean(
    protector: Protector,
    texts: Sequence[str],
    *,
    on_batch: OnBatch | None = None,
    check: Check | None = None,
) -> Prepared:
    """Embed texts as they are, each on the account that a protected release of it would be charged to."""
    ready = Entrance(protector.encoder).prepare(texts, on_batch=on_batch)
    if protector.ledger is None or not len(texts):
        return ready
    names, accounts = protector.entrance().copies(texts, check=check).identities(protector.encoder)
    return Prepared(ready.vectors, ready.matched, names, accounts)


def release_clean(protector: Protector, ready: Prepared) -> NDArray[np.float32]:
    """Write down that these leave without noise, where there is a ledger, and hand them out."""
    dim = ready.vectors.shape[1]
    if protector.mechanism.output_dim(dim) != dim:
        raise ParameterError(
            f"Clean queries need a mechanism that keeps the dimension: documents have "
            f"{protector.mechanism.output_dim(dim)} numbers and these {dim}. Use protected queries."
        )
    if protector.ledger is not None and len(ready.vectors) and ready.names is not None:
        protector.ledger.spend(ready.names, no_promise(), unit=ready.accounts or ready.names)
    return ready.vectors


def no_promise() -> Guarantee:
    """What a vector promises that leaves as it is."""
    return Identity().guarantee
