"""Sealed contents in bytes of files: whether a row has them, and whether a salt is left that opens them.

The head of a content holds random bytes and the commitment to its key, which is a function of the sealing
key, those random bytes and the row's salt. So a head that fits no salt is one that nobody opens any more, the
owner of the key among them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence

from sfumato.accounting.keys import KeyHolder
from sfumato.sealing.crypto.envelope import HEAD, OVERHEAD, Envelope
from sfumato.sealing.records import travelling

HEAD_CHARACTERS = travelling(HEAD)
"""Characters of a content's head in base64."""
_LEAST = travelling(OVERHEAD)
_RUNS = re.compile(rb"[A-Za-z0-9+/]{%d,}={0,2}" % _LEAST)
_BEGIN = re.compile(rb"A[Q-Za-f]")
"""How every content begins in base64, since its format is 1; and other places in it by chance."""
_KNOWN = 32
"""Characters that tell contents apart: 24 bytes, all but one of them random."""
MOST_TESTS = 30_000_000
"""Pairs of a head and a salt that are tried in one run."""


class SealedContents(KeyHolder):
    """The contents that rows have, and the salts that are left.

    Args:
        envelope: what records of the collection are sealed with.
        live: contents in the store that belong to rows.
        salts: every salt that is left.
    """

    def __init__(self, envelope: Envelope, live: Iterable[bytes], salts: Sequence[bytes]) -> None:
        self._envelope, self._salts = envelope, salts
        self._live: dict[bytes, int] = {}
        self.records = 0
        """How many contents rows have."""
        for self.records, each in enumerate(live, 1):
            text = base64.b64encode(each)
            self._live[text[:_KNOWN]] = len(text)
            # What looks like a head in the middle of a content, which a page or a block may cut before it.
            for inner in _BEGIN.finditer(text, 2, len(text) - _LEAST):
                self._live.setdefault(text[inner.start() : inner.start() + _KNOWN], 1)
        self.seen = 0
        """Contents of rows that were seen; none in a file says that nothing can be seen there."""
        self._left = MOST_TESTS
        self.untested = 0
        """Heads that were not tried, because there were too many."""

    def strangers(self, block: bytes) -> dict[bytes, tuple[bytes, ...]]:
        """Contents in a block that no row has: by the first place that may be its head, all of them."""
        found = {}
        for run in _RUNS.finditer(block):
            heads = self._heads(run.group())
            if heads:
                found[heads[0]] = heads
        return found

    def _heads(self, text: bytes) -> tuple[bytes, ...]:
        heads, place = [], 0
        while (begin := _BEGIN.search(text, place)) and len(text) - begin.start() >= _LEAST:
            head = text[begin.start() : begin.start() + HEAD_CHARACTERS]
            length = self._live.get(head[:_KNOWN])
            if length is None:
                heads.append(head)
            self.seen += (length or 0) > 1
            place = begin.start() + (length or 1)
        return tuple(heads)

    def opens(self, heads: Sequence[bytes]) -> bool | None:
        """Whether a salt that is left opens what has one of these heads; None for a count of changes."""
        found = [self._opens(head) for head in heads]
        return None if None in found else any(found)

    def _opens(self, head: bytes) -> bool | None:
        whole = base64.b64decode(head)
        random, commitment = whole[1:25], whole[25:HEAD]
        if self._envelope.commitment(random, None) == commitment:
            # Nothing of a row is sealed without a salt.
            return None
        if self._left < len(self._salts):
            self.untested += 1
            return False
        self._left -= len(self._salts)
        return any(self._envelope.commitment(random, salt) == commitment for salt in self._salts)
