"""One process for a collection whose store is a folder: several would not see each other's changes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sfumato.errors import InputError


def take_place(state: Path) -> int:
    """Lock a collection by its state for as long as the descriptor is open, or refuse it."""
    path = Path(f"{state}.lock")
    place = -1
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if place >= 0:
            os.close(place)
        if not isinstance(error, BlockingIOError):
            raise InputError(f"The lock {path} cannot be taken: {error.strerror}.") from None
        raise InputError(
            "Another process serves this collection, whose store is a folder: one process may. Use a "
            "store with a server, or one process."
        ) from None
    return place
