"""Unicode's composed form (NFC) in time that grows with the text, whatever the text.

Putting a text into composed form sorts the accents that stand on one letter, and the library does so by
insertion: 40,000 accents on one letter take seconds, 400,000 minutes. Long runs are sorted beforehand here,
which changes nothing in the result: sorting is stable, and sorted once is sorted.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

# A superset of the characters that can be sorted: none of them is a letter or a digit, none is Latin.
_RUN = re.compile(r"[^\w\x00-\u02ff]{32,}")


def composed(text: str) -> str:
    """Return the text in Unicode's composed form, NFC."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _RUN.sub(lambda run: _sorted(run.group()), text))


def _sorted(run: str) -> str:
    apart = "".join(unicodedata.normalize("NFD", mark) for mark in run)
    pieces = []
    for _, marks in groupby(apart, key=lambda mark: unicodedata.combining(mark) == 0):
        pieces += sorted(marks, key=unicodedata.combining)
    return "".join(pieces)
