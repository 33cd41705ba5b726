"""Files of the client that are sealed and never half written: codebooks and counters."""

from __future__ import annotations

import os
import stat

from sfumato.errors import ArtifactError, InputError
from sfumato.files import PathLike, write_atomic
from sfumato.sealing.crypto.envelope import LARGEST, OVERHEAD, Bound, Envelope


def write_sealed(path: PathLike, data: bytes, envelope: Envelope, bound: Bound) -> None:
    """Write a sealed file, closed to others: under its name it is always absent, the old or the new one."""
    write_atomic(path, envelope.seal(data, bound), permissions=0o600)


def read_sealed(path: PathLike, envelope: Envelope, bound: Bound, *, largest: int = LARGEST) -> bytes:
    """What a sealed file holds; one that is too large, changed, or of another place or key is refused."""
    try:
        # Without waiting: opening a named pipe would hang.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > largest + OVERHEAD:
                raise ArtifactError(
                    f"`{path}` must be a plain file of at most {largest + OVERHEAD} bytes. "
                    f"Found {status.st_size}: give the file that was sealed."
                )
            sealed = file.read(largest + OVERHEAD + 1)
    except OSError as error:
        raise InputError(f"The sealed file `{path}` cannot be read: {error.strerror}.") from None
    (plain,) = envelope.open_all([sealed], [bound])
    if plain is None:
        raise ArtifactError(
            f"The sealed file `{path}` must open under this key, in the place it was sealed for. It was "
            "changed, belongs elsewhere, or has another key: check the key and the collection."
        )
    return plain
