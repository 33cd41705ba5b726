"""A store: here the one in memory, in a folder named by place and collection."""

from __future__ import annotations

from typing import Any

from sfumato.stores import Memory


class Shelf(Memory):
    """`shelf:PLACE#COLLECTION`; write the methods of `sfumato.stores.base.Store` for a store of your own."""

    name = "shelf"

    def __init__(
        self, place: str, collection: str, *, label: str = "", metric: Any = None, create: bool = True
    ) -> None:
        super().__init__(f"{place}.{collection}", metric=metric, create=create)
