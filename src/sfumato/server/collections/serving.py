"""Sealed collections that are served: one client each, opened when first asked for, one request at a time.

Nothing is shared between tenants but encoders, which remember nothing. A store that fails is let go of, and
opened again by the next request.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders import load_embedder
from sfumato.embedders.base import OnBatch
from sfumato.embedders.loader import remote_address
from sfumato.errors import ArtifactError, EndpointError, InputError, SfumatoError, StoreError
from sfumato.sealing.client.database import is_begun
from sfumato.sealing.client.place import take_place
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.store import SealedStore
from sfumato.server.collections.allowed import AllowedCollection, names_of, read_allowed
from sfumato.server.collections.watching import WatchedStore
from sfumato.server.http.logs import tell
from sfumato.server.http.problems import Problem
from sfumato.server.settings import GatewaySettings
from sfumato.server.tenancy.encoders import Encoders
from sfumato.server.tenancy.tenants import UPSTREAM, Tenants
from sfumato.server.turns.merging import MergingEmbedder
from sfumato.server.turns.work import Work
from sfumato.stores.base import Store
from sfumato.stores.opening import open_store

DEFAULT = "minilm"
"""What embeds where there is neither a protector nor a name."""
_LOOK = 0.05


class TurnEmbedder:
    """An encoder as one collection's client calls it: in the turns of the request that is under way."""

    def __init__(self, inner: MergingEmbedder) -> None:
        self.inner = inner
        self.name, self.model_id, self.dim = inner.name, inner.model_id, inner.dim
        self.work: Work | None = None

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` vectors in the order of the texts."""
        vectors = self.inner.embed(texts, on_batch=self.work)
        if self.work is not None:
            self.work.resume()
        return vectors


class ServedCollection:
    """One collection of one tenant."""

    def __init__(self, allowed: AllowedCollection, encoders: Encoders, tenants: Tenants) -> None:
        self.allowed, self._encoders, self._tenants = allowed, encoders, tenants
        self._lock = threading.Lock()
        self._store: SealedStore | None = None
        self._embedder: TurnEmbedder | None = None
        self._place = -1
        self.window: WatchedStore | None = None
        """Through which requests to the store can be watched, while it is open."""

    @contextlib.contextmanager
    def using(self, work: Work) -> Iterator[SealedStore]:
        """Be alone with the collection in this process, in turns with other tenants' work."""
        while not self._lock.acquire(timeout=_LOOK):
            work.check()
        try:
            store = self._opened()
            embedder = self._embedder
            with self._speaking(), work.step():
                try:
                    if embedder is not None:
                        embedder.work = work
                    yield store
                finally:
                    if embedder is not None:
                        embedder.work = None
        finally:
            self._lock.release()

    def embed(self, texts: Sequence[str], work: Work) -> NDArray[np.float32]:
        """The vectors of queries, in turns; together with what others wait for."""
        try:
            encoder = self._encoder()
        except SfumatoError as error:
            raise self._unavailable(error) from None
        return encoder.embed(texts, on_batch=work)

    def close(self) -> None:
        """Send what waits and let go of the store."""
        with self._lock:
            self._drop()

    def _opened(self) -> SealedStore:
        if self._store is None:
            try:
                self._embedder = TurnEmbedder(self._encoder())
                self._take_place()
                self._store = self._open(self._embedder)
            except SfumatoError as error:
                self._drop()
                raise self._unavailable(error) from None
        return self._store

    def _encoder(self) -> MergingEmbedder:
        name = self.allowed.embedder
        if name == UPSTREAM or (not name and self._tenants.has_encoder):
            return self._tenants.encoder()
        chosen = name or DEFAULT
        away = remote_address(chosen) is not None
        return self._encoders.get(chosen, lambda: load_embedder(chosen), elsewhere=away)

    def _open(self, embedder: TurnEmbedder) -> SealedStore:
        allowed = self.allowed
        key = _key(allowed)
        allowed.state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        records = open_store(allowed.store)
        self.window = WatchedStore(records)
        try:
            return SealedStore(
                cast(Store, self.window),
                key=key,
                folder=allowed.state,
                embedder=embedder,
                tenant=allowed.tenant,
                buffer=allowed.buffer,
            )
        except BaseException:
            records.close()
            raise

    def _take_place(self) -> None:
        """Keep other processes away from a store that is files: they would not see each other's changes."""
        if not self.allowed.on_this_machine:
            return
        self._place = take_place(self.allowed.state)

    def _drop(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            try:
                store.close()
            except SfumatoError as error:
                self._tell("collection not closed cleanly", error)
        if self._place >= 0:
            os.close(self._place)
            self._place = -1

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn what goes wrong into what a client may know; the log knows where, and no content either."""
        try:
            yield
        except StoreError as error:
            self._tell("store failed", error)
            self._drop()
            message = (
                "The store behind this collection cannot be used. Send the same again later: nothing is "
                "written twice."
            )
            raise Problem(503, message, code="store_failed", headers={"Retry-After": "1"}) from None
        except ArtifactError as error:
            self._tell("collection damaged", error)
            message = (
                "Rows that this needs are missing in the store or do not open. The gateway's log says more."
            )
            raise Problem(503, message, code="collection_damaged") from None
        except (InputError, EndpointError):
            raise
        except SfumatoError as error:
            self._tell("collection failed", error)
            raise Problem(503, "The collection could not be used.", code="collection_failed") from None

    def _unavailable(self, error: SfumatoError) -> Problem:
        self._tell("collection unavailable", error)
        message = "The collection behind this name cannot be opened. The gateway's log says why."
        retry = {"Retry-After": "1"}
        return Problem(503, message, code="collection_unavailable", headers=retry)

    def _tell(self, event: str, error: SfumatoError) -> None:
        own = self.allowed
        tell(event, logging.ERROR, reason=str(error), tenant=own.tenant, collection=own.name)


class ServedCollections:
    """All sealed collections of a gateway, by tenant and name."""

    def __init__(self, settings: GatewaySettings, encoders: Encoders, tenants: Tenants) -> None:
        self._allowed = read_allowed(settings)
        self._served = {
            place: ServedCollection(each, encoders, tenants) for place, each in self._allowed.items()
        }

    def names(self, tenant: str) -> list[str]:
        """The names of a tenant's collections."""
        return sorted(names_of(self._allowed, tenant))

    def get(self, tenant: str, name: str) -> ServedCollection:
        """A tenant's collection of this name; what is another's is not there."""
        found = self._served.get((tenant, name))
        if found is None:
            message = "There is no collection of this name behind this key."
            raise Problem(404, message, code="no_collection", param="name")
        return found

    def close(self) -> None:
        """Let go of every store."""
        for each in self._served.values():
            each.close()


def refuse_several(settings: GatewaySettings) -> None:
    """Refuse several processes for a collection whose store is a folder."""
    for each in read_allowed(settings).values():
        if settings.workers > 1 and each.on_this_machine:
            raise InputError(
                f"With --workers {settings.workers} every store must have a server. Found a folder for "
                f"{each.name!r} of {each.tenant!r}: use one process, or another store."
            )


def _key(allowed: AllowedCollection) -> SealingKey:
    """A tenant's key; one is made where the gateway keeps it itself and nothing was sealed yet."""
    if allowed.own_key and not os.path.lexists(allowed.key):
        folder = allowed.key.parent
        if any(is_begun(each) for each in (folder / "collections").glob("*") if each.is_dir()):
            raise InputError(
                f"The key {allowed.key} is missing, and collections were sealed with it. Put it back."
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = SealingKey.open(allowed.key)
        tell(
            "sealing key made: keep a copy of it",
            logging.WARNING,
            tenant=allowed.tenant,
            key=made.fingerprint,
        )
        return made
    return SealingKey.load(allowed.key)
