"""Who a release belongs to: one rule for the key of its noise and for the account it is charged to.

The identity is that of what was embedded, never of the text as it was written. Texts with other terms, or in
other spellings, that come down to the same vector are one and the same: they share one noise and one account,
so that asking for all of them tells nothing and averages nothing. Two vectors that differ in any bit are two
identities, whatever they are called, because one noise on two vectors gives away their difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from math import gcd
from typing import Any

import numpy as np

from sfumato.composing import composed

VERSION = 2
"""Raised whenever a release would get another identity, and with it other noise and another account."""
_AT_ONCE = 1024


def canonical(text: str) -> str:
    """Return the form (Unicode NFC) in which a text is keyed and counted; embed this very form."""
    return composed(text)


def of_vectors(vectors: Any) -> list[str]:
    """The identity of each row that came as numbers: a digest of its exact values, whatever their type."""
    rows = np.asarray(vectors)
    start = sha256(_fields(b"%d" % VERSION, b"vector"))
    found = []
    for first in range(0, len(rows), _AT_ONCE):
        # Adding 0 makes -0 and 0 one number.
        for row in rows[first : first + _AT_ONCE].astype("<f8", order="C") + 0.0:
            digest = start.copy()
            digest.update(row.data)
            found.append(digest.hexdigest())
    return found


def of_embedded(model_id: str, copies: Sequence[bytes]) -> str:
    """The identity of the mean vector of `copies`, each as the encoder `model_id` saw it.

    Neither the order of the copies nor how often all of them are repeated changes their mean.
    """
    counts = Counter(copies)
    common = gcd(*counts.values())
    parts = [part for seen, count in sorted(counts.items()) for part in (seen, b"%d" % (count // common))]
    return sha256(_fields(b"%d" % VERSION, b"embedded", model_id.encode(), *parts)).hexdigest()


def _fields(*fields: bytes) -> bytes:
    # Each field carries its length, so that no two lists of fields spell the same message.
    return b"".join(len(field).to_bytes(8, "big") + field for field in fields)
