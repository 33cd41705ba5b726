"""Whether the time something takes grows with the size of a text, or with its square."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

_REPEATS = 3
_SHORT = 0.02
_TIMES, _RATIO = 4, 10.0


def least(work: Callable[[], object], enough: float = 0.0) -> float:
    """The shortest of several times, or the first below what is enough: seconds of the processor alone."""
    taken = []
    gc.disable()  # its time is nobody's
    try:
        for _ in range(_REPEATS):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
            if taken[-1] > 1.0 or taken[-1] < enough:
                break
    finally:
        gc.enable()
    return min(taken)


def grows_evenly(work: Callable[[int], object], size: int) -> bool:
    """Whether four times the size takes less than ten times as long: in step it takes 4, by the square 16.

    What is over at once says nothing, and passes.
    """
    for _ in range(3):  # another program may have had the processor's caches meanwhile
        enough = max(_SHORT, _RATIO * least(lambda: work(size)))
        if least(lambda: work(_TIMES * size), enough) < enough:
            return True
    return False
