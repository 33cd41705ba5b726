"""Packages whose names are loaded on first use: importing a module does not import its neighbours."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make a package's `__getattr__` and `__dir__` (PEP 562).

    Args:
        package: the package's own `__name__`.
        homes: for each module of the package, or of another one by its full name, the names it gives, with
            spaces between them.
    """
    places = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = places[name] if places[name].startswith("sfumato.") else f"{package}.{places[name]}"
        return getattr(importlib.import_module(home), name)

    return load, lambda: sorted(sys.modules[package].__all__)
