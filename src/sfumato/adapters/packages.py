"""The frameworks behind the adapters, each an optional package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.errors import MissingPackageError


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Around the imports of a framework: say how to install it where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingPackageError(package, extra, "for this adapter") from error
