"""Choosing a part by name: one table per kind of part, each member imported only when it is asked for."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Generic, TypeVar

from sfumato.errors import MissingPackageError, ParameterError

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Entry:
    """One member of a table: where it lives, what it is for and what it needs."""

    name: str
    target: str
    """Where the class is, as "module:Class"."""
    summary: str
    requires: tuple[str, ...] = ()
    """Top-level modules that have to be importable, such as "faiss"."""
    extra: str = ""
    """The optional extra of this project that brings them."""
    then: str = ""
    """A second command, for what an extra cannot say (a package to install without its dependencies)."""


class Registry(Generic[Part]):
    """A table of the members of one kind of part, read by the command line, the server and error messages."""

    def __init__(self, kind: str, entries: Iterable[Entry]) -> None:
        self.kind = kind
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            self._add(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}, {len(self)} entries)"

    def names(self) -> tuple[str, ...]:
        """Every name, in the order of the table."""
        return tuple(self._entries)

    def entry(self, name: str) -> Entry:
        """The table's row for `name`."""
        if isinstance(name, str) and name in self._entries:
            return self._entries[name]
        close = get_close_matches(name.lower(), self.names(), n=1) if isinstance(name, str) else []
        hint = f" Did you mean `{close[0]}`?" if close else ""
        known = ", ".join(self.names()) or "none"
        raise ParameterError(f"The {self.kind} has to be one of: {known}. Found {name!r:.60}.{hint}")

    def get(self, name: str) -> type[Part]:
        """The class behind `name`, imported now."""
        entry = self.entry(name)
        for module in entry.requires:
            if not _importable(module):
                raise self._missing(entry, module)
        module, _, attribute = entry.target.partition(":")
        try:
            found: type[Part] = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            # Something an optional package itself needs is absent; a gap in Sfumato is a bug and stays one.
            package = (error.name or "").partition(".")[0]
            if not entry.extra or package in ("", "sfumato"):
                raise
            raise self._missing(entry, package) from error
        return found

    def installed(self, name: str) -> bool:
        """Whether everything `name` needs can be imported, found out without importing any of it."""
        return all(_importable(module) for module in self.entry(name).requires)

    def install_line(self, name: str) -> str:
        """The command that installs what `name` needs."""
        entry = self.entry(name)
        line = f"pip install 'sfumato[{entry.extra}]'" if entry.extra else "pip install sfumato"
        return f"{line} && {entry.then}" if entry.then else line

    def _add(self, entry: Entry) -> None:
        module, _, attribute = entry.target.partition(":")
        if not module or not attribute.isidentifier():
            raise ParameterError(
                f"The target of the {self.kind} `{entry.name}` has to read module:Class. "
                f"Found {entry.target!r}."
            )
        if not all(required.isidentifier() for required in entry.requires):
            # Looking for "a.b" would import "a".
            raise ParameterError(
                f"What the {self.kind} `{entry.name}` requires has to be top-level modules. "
                f"Found {entry.requires!r}."
            )
        if entry.requires and not entry.extra:
            raise ParameterError(
                f"The {self.kind} `{entry.name}` requires packages, so it has to name an extra."
            )
        if entry.name in self._entries:
            raise ParameterError(f"Each {self.kind} has to have its own name. Found `{entry.name}` twice.")
        self._entries[entry.name] = entry

    def _missing(self, entry: Entry, package: str) -> MissingPackageError:
        purpose = f"for the {self.kind} `{entry.name}`"
        if entry.then:
            purpose += f" (which also asks for: {entry.then})"
        return MissingPackageError(package, entry.extra, purpose)


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:
        # Loaded by hand, without a spec.
        return sys.modules.get(module) is not None
