"""The encoders of a gateway: each is loaded once, for all who use it; none remembers a text."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sfumato.embedders.base import Embedder
from sfumato.server.turns.merging import MergingEmbedder
from sfumato.server.turns.shares import Shares


class Encoders:
    """Encoders by name, in turns; those that others run have turns of their own."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._lock = threading.Lock()
        self._made: dict[str, MergingEmbedder] = {}

    def get(self, name: str, load: Callable[[], Embedder], *, elsewhere: bool = False) -> MergingEmbedder:
        """The encoder of this name, loaded if nobody asked for it before."""
        with self._lock:
            if name not in self._made:
                # Waiting for somebody else's server takes nothing from anybody here.
                shares = Shares() if elsewhere else self._shares
                self._made[name] = MergingEmbedder(load(), shares)
            return self._made[name]
