"""Stores: where vectors are kept and searched, and a protector in front of them."""

from sfumato.stores.address import Address, parse_address
from sfumato.stores.base import Store, StoreError
from sfumato.stores.kinds.memory import Memory
from sfumato.stores.migrate import Migrated, migrate
from sfumato.stores.opening import STORES, open_store
from sfumato.stores.protected import ProtectedStore
from sfumato.stores.rows import TEXT_FIELD, Hit, Metric, Rows, Where

__all__ = [
    "STORES",
    "TEXT_FIELD",
    "Address",
    "Hit",
    "Memory",
    "Metric",
    "Migrated",
    "ProtectedStore",
    "Rows",
    "Store",
    "StoreError",
    "Where",
    "migrate",
    "open_store",
    "parse_address",
]
