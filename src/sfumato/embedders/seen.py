"""What an encoder sees of a text: its own normalisation, so that spellings it cannot tell apart are one.

An encoder says so by a method `seen(texts)` that returns bytes: the same bytes mean the same vector. Of one
that says nothing, only this is sure: the very same text has the same vector. Its noise is then keyed by the
text as it is written, because one noise on two vectors gives away their difference. Its account is keyed by a
form in which spellings that many encoders do not tell apart are one, because noise that is charged to many
accounts can be averaged away.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from sfumato.accounting.identity import canonical
from sfumato.composing import normal


class Seen(NamedTuple):
    """One text, as its noise and as its account know it."""

    noise: bytes
    account: bytes


def seen_by(encoder: Any, texts: Sequence[str]) -> list[Seen]:
    """Return what `encoder`, or the one inside it that does the work, sees of each text."""
    while not hasattr(encoder, "seen") and hasattr(encoder, "embedder"):
        encoder = encoder.embedder
    if hasattr(encoder, "seen"):
        return [Seen(each, each) for each in encoder.seen(texts)]
    return [Seen(canonical(text).encode(), folded(text).encode()) for text in texts]


def folded(text: str) -> str:
    """Return the text without case, accents, control and format characters, and with single spaces."""
    if not text.isascii():
        apart = normal(text, "NFKD")
        text = "".join(letter for letter in apart if unicodedata.category(letter) not in ("Mn", "Cf"))
    spaced = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(spaced.casefold().split())
