"""Unicode's normal forms in time that grows with the text, whatever the text.

Putting a text into a normal form sorts the accents that stand on one letter, and the library does so by
insertion: 40,000 accents on one letter take seconds, 400,000 minutes. Long runs are sorted beforehand here,
which changes nothing in the result: sorting is stable, and sorted once is sorted.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

# More than the characters that are sorted: of letters and digits only two sound marks of Japanese are.
_RUN = re.compile(r"(?:[^\w\x00-\u02ff]|[\uff9e\uff9f]){32,}")


def composed(text: str) -> str:
    """Return the text in Unicode's composed form, NFC."""
    return normal(text, "NFC")


def normal(text: str, form: Form) -> str:
    """Return the text in one of Unicode's normal forms."""
    if text.isascii():
        return text
    apart: Form = "NFKD" if "K" in form else "NFD"
    return unicodedata.normalize(form, _RUN.sub(lambda run: _sorted(run.group(), apart), text))


def _sorted(run: str, form: Form) -> str:
    apart = "".join(unicodedata.normalize(form, mark) for mark in run)
    pieces = []
    for _, marks in groupby(apart, key=lambda mark: unicodedata.combining(mark) == 0):
        pieces += sorted(marks, key=unicodedata.combining)
    return "".join(pieces)
