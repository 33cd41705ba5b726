"""How fast a protector works here and now, and so how large a request may be that is done in time.

What texts take is learned once from made-up ones, when the gateway starts: a part for each call, each text
and each character. How many times slower real texts are is followed from then on, quickly upwards and slowly
downwards. An encoder that others run is not asked for this: until it has served something it is taken
to need a fortieth of a second a text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.protector import Protector
from sfumato.records import make_records
from sfumato.server.http.problems import Problem
from sfumato.server.settings import GatewaySettings

SHARE = 0.5
"""Part of a request's time that its own work may take: the rest is for waiting and for bad luck."""
LENGTHS = (100, 1_000, 10_000)
"""Characters of the texts for which limits are told."""
_STEP = 64
"""Texts about that are prepared in one call."""
_HEAVY = 0.25
"""Seconds of work that count fully when the speed is followed."""
_UP, _DOWN = 0.5, 0.1
_MANY, _LONG = 24, 8
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of work that a call, each text and each character add."""

    call: float = 0.0
    text: float = 1 / 40
    character: float = 1e-5

    def seconds(self, texts: int, characters: int) -> float:
        """For so many texts with so many characters together."""
        calls = 1 + texts // _STEP
        return calls * self.call + texts * self.text + characters * self.character


class ServingSpeed:
    """The speed of one protector with its encoder; used from many threads."""

    def __init__(self, settings: GatewaySettings, taken: Taken | None = None) -> None:
        self._settings, self._taken = settings, taken or Taken()
        self._slower = 1.0
        self._lock = threading.Lock()

    @classmethod
    def measured(cls, settings: GatewaySettings, protector: Protector) -> ServingSpeed:
        """Time a protector on made-up texts; nothing is charged, and nothing is kept."""
        return cls(settings, _measured(protector))

    def note(self, texts: Sequence[str], seconds: float) -> None:
        """Learn from texts that were prepared."""
        expected = self._taken.seconds(len(texts), sum(map(len, texts)))
        found = seconds / max(expected, _LEAST)
        with self._lock:
            weight = min(1.0, seconds / _HEAVY) * (_UP if found > self._slower else _DOWN)
            self._slower += weight * (found - self._slower)

    def seconds(self, texts: Sequence[str]) -> float:
        """What these will take, with nobody else there."""
        return self._slower * self._taken.seconds(len(texts), sum(map(len, texts)))

    def require(self, texts: Sequence[str]) -> float:
        """Refuse at once what could not be done in time; a single text never is."""
        seconds = self.seconds(texts)
        if len(texts) > 1 and seconds > self._budget:
            length = sum(map(len, texts)) // len(texts)
            raise Problem(
                413,
                f"`input` must be done within {self._budget:g} seconds. At the speed measured now that is "
                f"{self.texts_of(length)} texts of this length ({length} characters on average); "
                f"found {len(texts)}. Send them in several requests.",
                code="too_many_for_now",
                param="input",
            )
        return seconds

    def texts_of(self, length: int) -> int:
        """How many texts of this length one request may hold now."""
        most = self._settings.max_batch
        if length:
            most = min(most, self._settings.max_bytes // length)
        low, high = 1, max(1, most)
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._slower * self._taken.seconds(middle, middle * length) <= self._budget
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    def limits(self) -> dict[str, Any]:
        """What a client may send in one request now."""
        return {
            "texts": self._settings.max_batch,
            "characters": self._settings.max_characters,
            "bytes": self._settings.max_bytes,
            "seconds": self._settings.timeout,
            "texts_by_characters": {str(length): self.texts_of(length) for length in self._lengths()},
        }

    def _lengths(self) -> list[int]:
        return [length for length in LENGTHS if length <= self._settings.max_characters]

    @property
    def _budget(self) -> float:
        return SHARE * self._settings.timeout


def _measured(protector: Protector) -> Taken:
    made = [record.text for record in make_records(_MANY + 1)]
    one, many = made[:1], made[1:]
    long = [" ".join(many[row:] + many[:row])[: LENGTHS[1]] for row in range(_LONG)]
    _prepared(protector, [*one, *long[:1]])  # what is loaded on first use is loaded
    first, second, third = (_prepared(protector, texts) for texts in (one, many, long))
    short = sum(map(len, many)) / len(many)
    # Two unknowns from two sorts of text, beside what a call takes; none may be less than nothing.
    each, more = second / len(many), third / len(long)
    character = max((more - each) / max(LENGTHS[1] - short, 1.0), _LEAST)
    text = max(each - short * character, each / 10)
    return Taken(max(0.0, first - each), text, character)


def _prepared(protector: Protector, texts: list[str]) -> float:
    """Seconds of the clock to prepare these: the faster of two tries."""
    taken = []
    for _ in range(2):
        begun = time.monotonic()
        protector.prepare(texts)
        taken.append(time.monotonic() - begun)
    return min(taken)
