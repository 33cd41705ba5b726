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
    at: Callable[[float], Detector] | None = None
    """Makes it with a threshold of likelihood, where it has one."""
    fallback: bool = False
    """Whether it is only used where the first way cannot be made."""
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

    def detector(self, *, wide: bool = False, threshold: float | None = None) -> Detector:
        """Return the union of every part that can be made here; `wide` adds capitalised words of any kind."""
        parts = self._used()
        if threshold is not None and not any(part.at for part in parts):
            raise ParameterError(
                f"A threshold is for what the tagger finds. Found none for `{self.name}`: leave it out, or "
                "install the tagger."
            )
        made = [part.make() if part.at is None or threshold is None else part.at(threshold) for part in parts]
        if wide:
            if not self.names:
                raise ParameterError(f"`wide` is for kinds of names. Found `{self.name}`: leave it out.")
            made.append(Capitals(label=self.name))
        return made[0] if len(made) == 1 else Union(*made)

    def found_by(self) -> list[str]:
        """Name the parts that can be made here."""
        return [part.name for part in self._used()]

    def languages(self) -> tuple[str, ...]:
        """The languages in which something here finds it; none where one part reads any language."""
        ready = [part.languages for part in self._used()]
        return () if () in ready else tuple(dict.fromkeys(code for codes in ready for code in codes))

    def missing(self) -> list[WayToFind]:
        """Return the parts whose package is not installed."""
        return [part for part in self._wanted() if not part.ready()]

    def _used(self) -> list[WayToFind]:
        return [part for part in self._wanted() if part.ready()]

    def _wanted(self) -> list[WayToFind]:
        first = self.parts[0].ready()
        return [part for part in self.parts if not (first and part.fallback)]
