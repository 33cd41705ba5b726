"""Choosing a part by name: one table per kind of part, each member imported only when it is asked for."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
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
    package: str = ""
    """The package that brings it, with its version, where it is not this one."""


class PluginWarning(UserWarning):
    """A part that another package brings cannot be used, or has a name that is taken."""


class Registry(Generic[Part]):
    """A table of the members of one kind of part, read by the command line, the server and error messages.

    Args:
        kind: What they are called in messages.
        entries: Our own.
        group: Entry points under which installed packages bring more; "" where there are none.
        others: Other words for some names, to ask whether they were meant.
    """

    def __init__(
        self,
        kind: str,
        entries: Iterable[Entry],
        group: str = "",
        others: Mapping[str, str] | None = None,
    ) -> None:
        self.kind, self.group, self._others = kind, group, dict(others or {})
        self._own: dict[str, Entry] = {}
        for entry in entries:
            self._add(entry)

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        """Our own members, then those of other packages; read once, without importing any."""
        table = dict(self._own)
        for point in entry_points(group=self.group) if self.group else ():
            if point.name in table:
                said = f"The {self.kind} `{point.name}` of {_bringer(point)} is left out: the name is taken."
                warnings.warn(said, PluginWarning, stacklevel=2)
            else:
                table[point.name] = _brought(point)
        return table

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
        from sfumato.meant import did_you_mean  # most names are right

        hint = did_you_mean(name, self.names(), self._others)
        known = ", ".join(self.names()) or "none"
        raise ParameterError(f"The {self.kind} has to be one of: {known}. Found {name!r:.60}.{hint}")

    def get(self, name: str) -> type[Part]:
        """The class behind `name`, imported now."""
        entry = self.entry(name)
        for module in entry.requires:
            if not _importable(module):
                raise self._missing(entry, module)
        if entry.package:
            return self._of_another_package(entry)
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
        if entry.package:
            return f"pip install {entry.package.partition(' ')[0]}"
        line = f"pip install 'sfumato[{entry.extra}]'" if entry.extra else "pip install sfumato"
        return f"{line} && {entry.then}" if entry.then else line

    def usable(self) -> Iterator[tuple[Entry, type[Part]]]:
        """Members with their classes, for a list of all: one that another package broke is left out."""
        for entry in self:
            if not self.installed(entry.name):
                continue
            try:
                yield entry, self.get(entry.name)
            except ParameterError as error:
                if not entry.package:
                    raise
                warnings.warn(str(error), PluginWarning, stacklevel=2)

    def _of_another_package(self, entry: Entry) -> type[Part]:
        """Import a class that another package brings; whatever goes wrong there is said in one line."""
        module, _, attribute = entry.target.partition(":")
        try:
            found: type[Part] = getattr(importlib.import_module(module), attribute)
        except Exception as error:
            raise ParameterError(
                f"The {self.kind} `{entry.name}` of the package {entry.package} cannot be loaded "
                f"({type(error).__name__}). Ask its authors, or uninstall it."
            ) from error
        return found

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
        if entry.name in self._own:
            raise ParameterError(f"Each {self.kind} has to have its own name. Found `{entry.name}` twice.")
        self._own[entry.name] = entry

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


def _bringer(point: EntryPoint) -> str:
    """The package of an entry point, with its version."""
    return "an unnamed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _brought(point: EntryPoint) -> Entry:
    return Entry(point.name, point.value, f"from the package {_bringer(point)}", package=_bringer(point))


def brought_names(group: str) -> tuple[str, ...]:
    """The names under which installed packages bring parts of a kind."""
    return tuple(point.name for point in entry_points(group=group))
