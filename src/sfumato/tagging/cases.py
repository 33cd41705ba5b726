"""How a stretch of text is written, which an encoder without capitals does not see."""

from __future__ import annotations

CASES = 5


def case_of(written: str) -> int:
    """No letters, lower case, one capital at the start, all capitals, or mixed: 0 to 4."""
    letters = [mark for mark in written if mark.isalpha()]
    if not letters:
        return 0
    upper = sum(mark.isupper() for mark in letters)
    if upper == 0:
        return 1
    if upper == len(letters) and upper > 1:
        return 3
    return 2 if upper == 1 and written[0].isupper() else 4
