"""What a row of the catalog holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.concepts.base import Detector
from sfumato.concepts.detectors.capitals import Capitals
from sfumato.concepts.detectors.union import Union
from sfumato.concepts.texts.swaps import Swap
from sfumato.errors import ParameterError


@dataclass(frozen=True, slots=True)
class WayToFind:
    """One way to find a concept: what it is, how it is made, whether it can be made here."""

    name: str
    make: Callable[[], Detector]
    ready: Callable[[], bool] = lambda: True
    package: str = ""
    """What it needs, where that is not part of Sfumato."""
    languages: tuple[str, ...] = ("en",)
    """The languages it was made for, as codes; none where the language does not matter."""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A concept by name: its parts, the terms that can stand in for each other, and what is missed."""

    name: str
    summary: str
    parts: tuple[WayToFind, ...]
    terms: tuple[str, ...]
    placeholder: str
    swap: Swap
    blind_to: str
    names: bool = False
    """Whether its terms are names, which are written with a capital."""

    def detector(self, *, wide: bool = False) -> Detector:
        """Return the union of every part that can be made here; `wide` adds capitalised words of any kind."""
        made = [part.make() for part in self.parts if part.ready()]
        if wide:
            if not self.names:
                raise ParameterError(f"`wide` is for kinds of names. Found `{self.name}`: leave it out.")
            made.append(Capitals(label=self.name))
        return made[0] if len(made) == 1 else Union(*made)

    def found_by(self) -> list[str]:
        """Name the parts that can be made here."""
        return [part.name for part in self.parts if part.ready()]

    def languages(self) -> tuple[str, ...]:
        """The languages in which something here finds it; none where one part reads any language."""
        ready = [part.languages for part in self.parts if part.ready()]
        return () if () in ready else tuple(dict.fromkeys(code for codes in ready for code in codes))

    def missing(self) -> list[WayToFind]:
        """Return the parts whose package is not installed."""
        return [part for part in self.parts if not part.ready()]
