"""Sfumato: blur what is private in a text embedding, keep what is useful, and prove both."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato import accounting, mechanisms, randomness, sensitivity
    from sfumato.accounting import Guarantee, Ledger, Secret, Sticky
    from sfumato.sensitivity import Mask

_HOMES = {
    "Guarantee": "sfumato.accounting",
    "Ledger": "sfumato.accounting",
    "Mask": "sfumato.sensitivity",
    "Secret": "sfumato.accounting",
    "Sticky": "sfumato.accounting",
}
_MODULES = ("accounting", "mechanisms", "randomness", "sensitivity")

__all__ = [
    "Guarantee",
    "Ledger",
    "Mask",
    "Secret",
    "Sticky",
    "__version__",
    "accounting",
    "mechanisms",
    "randomness",
    "sensitivity",
]


def __getattr__(name: str) -> Any:
    """Load a part on first use, so that `import sfumato` costs next to nothing."""
    if name in _MODULES:
        return importlib.import_module(f"sfumato.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
