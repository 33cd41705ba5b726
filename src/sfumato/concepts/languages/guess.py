"""A cheap guess of a text's language: its script, and frequent words where the letters are Latin."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from sfumato.concepts.languages.profiles import LETTERS, WEIGHTS, WHOLE

_READ = 4000
"""Characters that are looked at: enough to tell, whatever the length of a text."""
_WORD = re.compile(r"[^\W\d_]+")
_ENOUGH, _AHEAD = 2 * WHOLE, 13
"""What the best language must reach, and how far before the next it has to be, in tenths."""
_LETTER, _MOST_BY_LETTERS = WHOLE // 2, 3 * WHOLE
_FOREIGN = 0.3
"""The share of letters in another script from which a text is in that script's language."""
_SCRIPTS = (
    ("kana", "\u3040-\u30ff\uff66-\uff9d"),
    ("han", "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"),
    ("ko", "\u1100-\u11ff\uac00-\ud7af"),
    ("cyrl", "\u0400-\u052f"),
    ("grek", "\u0370-\u03ff\u1f00-\u1fff"),
    ("arab", "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc"),
    ("hebr", "\u0590-\u05ff"),
    ("deva", "\u0900-\u097f"),
    ("thai", "\u0e00-\u0e7f"),
)
_OF_SCRIPT = [(name, re.compile(f"[{span}]")) for name, span in _SCRIPTS]
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_LETTER_OF_ANY = re.compile(r"[^\W\d_]")


@lru_cache(maxsize=1)
def guess(text: str) -> str | None:
    """Return the code of the language a text seems to be in, or None where little tells.

    The last answer is kept, as several detectors ask about a text in turn.
    """
    part = text[:_READ]
    if part.isascii():
        return _latin(part)
    return _by_script(part) or _latin(part)


def _by_script(text: str) -> str | None:
    """The language of the script that a good share of the letters is in, unless that is Latin."""
    letters = len(_LETTER_OF_ANY.findall(text))
    counts = {name: len(found) for name, kind in _OF_SCRIPT if (found := kind.findall(text))}
    east = counts.pop("han", 0)
    kana = counts.pop("kana", 0)
    if east + kana:
        counts["ja" if kana * 10 >= east + kana else "zh"] = east + kana
    unknown = letters - sum(counts.values()) - len(_LATIN.findall(text))
    counts["scri"] = unknown if unknown > 0 else 0
    name, count = max(counts.items(), key=lambda each: each[1])
    return name if count >= 2 and count >= _FOREIGN * letters else None


def _latin(text: str) -> str | None:
    """The language whose frequent words and letters are there, if one is well ahead of the others."""
    scores: Counter[str] = Counter()
    for word in set(_WORD.findall(text.lower())):
        for code, weight in WEIGHTS.get(word, ()):
            scores[code] += weight
    told: Counter[str] = Counter()
    if not text.isascii():
        for letter in text.lower():
            for code in (codes := LETTERS.get(letter, ())):
                told[code] += _LETTER // len(codes)
    for code, weight in told.items():
        scores[code] += min(weight, _MOST_BY_LETTERS)
    if not scores:
        return None
    (best, most), *rest = scores.most_common(2)
    return best if most >= _ENOUGH and (not rest or 10 * most >= _AHEAD * rest[0][1]) else None
