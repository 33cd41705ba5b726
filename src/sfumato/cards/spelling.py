"""Read a card that a stranger may have written: bounded, every key once, every number spelled in one way."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from sfumato.errors import ArtifactError, InputError

LARGEST = 1 << 20
"""Bytes of a card."""
LARGEST_AUDIT = 64 << 20
"""Bytes of what an audit wrote."""
_DEEPEST = 16


def read_bounded(path: Path, largest: int, what: str) -> bytes:
    """All bytes of a plain file, or refuse one that is longer."""
    try:
        # Without waiting: opening a named pipe would hang.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError(f"The {what} {path} must be a plain file.")
            content = file.read(largest + 1)
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read: {error.strerror}.") from None
    if len(content) > largest:
        raise ArtifactError(f"The {what} {path.name} must be at most {largest} bytes. Found more.")
    return content


def parse(content: bytes) -> Any:
    """The values of a JSON text, or refuse one that two readers might read differently."""
    try:
        text = content.decode("utf-8")
        _refuse_deep(text)
        return json.loads(
            text, object_pairs_hook=_once, parse_float=_float, parse_int=_int, parse_constant=_no_constant
        )
    except ArtifactError:
        raise
    except (ValueError, RecursionError):
        raise _odd("is not JSON in UTF-8") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _odd("has a key twice")
    return found


def _float(spelled: str) -> float:
    value = float(spelled)
    if repr(value) != spelled:
        raise _odd("spells a number in another way than it is signed")
    return value


def _int(spelled: str) -> int:
    # Longer ones are slow to read, and no figure of a card.
    if len(spelled) > 20 or str(int(spelled)) != spelled:
        raise _odd("spells a number in another way than it is signed")
    return int(spelled)


def _no_constant(spelled: str) -> float:
    raise _odd(f"holds {spelled}, which is no number")


def _refuse_deep(text: str) -> None:
    """Refuse nesting that no card has, before a parser follows it; brackets in strings count, too."""
    depth = 0
    for letter in text:
        if letter in "[{":
            depth += 1
            if depth > _DEEPEST * 8:
                raise _odd("is nested without end")
        elif letter in "]}":
            depth -= 1


def _odd(what: str) -> ArtifactError:
    return ArtifactError(f"The card {what}. Ask for it anew.")
