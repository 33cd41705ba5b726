"""Sealed contents in bytes of files: whether a row has them, and whether a salt is left that opens them.

The head of a content holds random bytes and the commitment to its key, which is a function of the sealing
key, those random bytes and the row's salt. So a head that fits no salt is one that nobody opens any more, the
owner of the key among them.

Pages and blocks cut contents anywhere, and a byte beside one may be a character of base64 by chance, so there
are places that look like heads and are none. What rows have is known by pieces of it, wherever they stand: a
place where a piece stands is no head. The head of a content that no row has is random, and holds no piece.
"""

from __future__ import annotations

import base64
import re
from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

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
_PIECE = 16
"""Characters of a piece, 96 bits: no other content has them by chance."""
_WITHIN = 3 * _PIECE - 1
"""Characters of a head that a piece is looked for in: the end of a content, too short to hold a whole one,
and the first piece of the next."""
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
        self._live: set[int] = set()
        self.records = 0
        """How many contents rows have."""
        # Hashes of one piece after the other: whatever is twice as long holds a whole one.
        pieces = array("q")
        for self.records, each in enumerate(live, 1):
            text = base64.b64encode(each)
            self._live.add(hash(text[:_KNOWN]))
            starts = range(0, len(text) - _PIECE + 1, _PIECE)
            pieces.extend(hash(text[start : start + _PIECE]) for start in starts)
        self._pieces = np.array(pieces, np.int64)
        self._pieces.sort()
        self.seen = 0
        """Contents of rows that were seen; none in a file says that nothing can be seen there."""
        self._left = MOST_TESTS
        self.untested = 0
        """Heads that were not tried, because there were too many."""

    def gather(self, block: bytes, into: dict[bytes, tuple[bytes, ...]]) -> None:
        """Add contents in a block that no row has: by the first place that may be its head, all of them."""
        runs = [self._places(block, run.start(), run.end()) for run in _RUNS.finditer(block)]
        strange = set(self._strange(block, [each for places in runs for each in places]))
        for places in runs:
            heads = [block[place : place + HEAD_CHARACTERS] for place, _ in places if place in strange]
            if heads:
                # What follows it elsewhere may be another content.
                into[heads[0]] = tuple(dict.fromkeys((*into.get(heads[0], ()), *heads)))

    def _places(self, block: bytes, start: int, end: int) -> list[tuple[int, int]]:
        """Where heads may stand in a run of characters, all but those that rows have.

        With each of them comes where a piece begins, if the content before it that a row has is whole.
        """
        places, last = [], start
        for begin in _BEGIN.finditer(block, start, end - _LEAST + 2):
            place = begin.start()
            if hash(block[place : place + _KNOWN]) in self._live:
                self.seen += 1
                last = place
            else:
                places.append((place, place + (last - place) % _PIECE))
        return places

    def _strange(self, block: bytes, places: list[tuple[int, int]]) -> list[int]:
        """The places where no piece stands of what a row has."""
        known = self._are_pieces(block, [piece for _, piece in places])
        left = [place for (place, _), each in zip(places, known, strict=True) if not each]
        tried = range(_WITHIN - _PIECE + 1)
        known = self._are_pieces(block, [place + at for place in left for at in tried])
        return [left[at] for at in np.flatnonzero(~known.reshape(-1, len(tried)).any(axis=1))]

    def _are_pieces(self, block: bytes, starts: list[int]) -> NDArray[np.bool_]:
        hashes = np.array([hash(block[start : start + _PIECE]) for start in starts], np.int64)
        if not len(self._pieces):
            return np.zeros(len(starts), bool)
        near = np.minimum(np.searchsorted(self._pieces, hashes), len(self._pieces) - 1)
        return np.asarray(self._pieces[near] == hashes)

    def opens(self, heads: Sequence[bytes]) -> bool | None:
        """Whether a salt that is left opens what has one of these heads; None for a count of changes."""
        found = [self._opens(head) for head in heads]
        return True if True in found else None if None in found else False

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
