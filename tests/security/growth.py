"""Whether the time something takes grows with the size of a text, or with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

_REPEATS = 3
_SHORT = 0.03
_RATIO = 3.5


def least(work: Callable[[], object]) -> float:
    """The shortest of several times, in seconds."""
    taken = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
        if taken[-1] > 1.0:
            break
    return min(taken)


def grows_evenly(work: Callable[[int], object], size: int) -> bool:
    """Whether twice the size takes at most 3.5 times as long; what is over at once says nothing."""
    for _ in range(3):  # another program may have had the processor meanwhile
        once, twice = least(lambda: work(size)), least(lambda: work(2 * size))
        if twice < _SHORT or twice < _RATIO * once:
            return True
    return False
