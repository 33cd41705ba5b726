"""Sfumato: blur what is private in a text embedding, keep what is useful, and prove both."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato import accounting, attacks, evaluation, mechanisms, randomness, sensitivity
    from sfumato.accounting import Ledger, Secret
    from sfumato.auditing import audit
    from sfumato.concepts import Concept
    from sfumato.learning import learn
    from sfumato.protector import Protector
    from sfumato.saving import load_protector as load
    from sfumato.sealing.store import SealedStore
    from sfumato.sensitivity import Mask

_HOMES = {
    "Concept": "sfumato.concepts:Concept",
    "Ledger": "sfumato.accounting:Ledger",
    "Mask": "sfumato.sensitivity:Mask",
    "Protector": "sfumato.protector:Protector",
    "SealedStore": "sfumato.sealing.store:SealedStore",
    "Secret": "sfumato.accounting:Secret",
    "audit": "sfumato.auditing:audit",
    "learn": "sfumato.learning:learn",
    "load": "sfumato.saving:load_protector",
}
_MODULES = (
    "accounting",
    "attacks",
    "certificates",
    "evaluation",
    "mechanisms",
    "metrics",
    "randomness",
    "sensitivity",
    "stores",
)

__all__ = [
    "Concept",
    "Ledger",
    "Mask",
    "Protector",
    "SealedStore",
    "Secret",
    "__version__",
    "accounting",
    "attacks",
    "audit",
    "evaluation",
    "learn",
    "load",
    "mechanisms",
    "randomness",
    "sensitivity",
]


def __getattr__(name: str) -> Any:
    """Load a part on first use, so that `import sfumato` costs next to nothing."""
    if name in _MODULES:
        return importlib.import_module(f"sfumato.{name}")
    if name in _HOMES:
        module, _, attribute = _HOMES[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
