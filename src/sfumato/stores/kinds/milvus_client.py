"""Milvus's client, kept quiet, and the language that it is spoken to in: names, values and conditions."""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

from sfumato.stores.names import NameRule
from sfumato.stores.rows import Scalar

NAMES = NameRule(
    "A collection or field of Milvus",
    r"[A-Za-z_][A-Za-z0-9_]{0,254}",
    "a letter or _ and up to 254 letters, digits and _",
)
_WORDS = frozenset("and or not in like is null true false exists between".split())
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def client_class() -> Any:
    """Pymilvus without its log, which quotes expressions with their values, and without a file .env."""
    before = os.environ.get("PYTHON_DOTENV_DISABLED")
    os.environ["PYTHON_DOTENV_DISABLED"] = "1"
    try:
        module: Any = importlib.import_module("pymilvus")
    finally:
        if before is None:
            del os.environ["PYTHON_DOTENV_DISABLED"]
        else:
            os.environ["PYTHON_DOTENV_DISABLED"] = before
    for name in ("pymilvus", "pymilvus.milvus_client", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return module.MilvusClient


def among(name: str, values: list[Scalar]) -> str:
    """The condition that a field has one of some values; it may pass more than ours, never less."""
    wanted = [literal(value) for value in values]
    if NAMES.allows(name) and name.lower() not in _WORDS:
        return f"{name} in [{', '.join(wanted)}]"
    return f"({' or '.join(f'$meta[{literal(name)}] == {each}' for each in wanted)})"


def literal(value: Scalar) -> str:
    """A value as Milvus writes it, whatever is in it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value.translate(_ESCAPED)}"' if isinstance(value, str) else repr(value)
