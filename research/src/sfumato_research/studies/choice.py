"""Which cells of a study are run: some encoders, defences and attacks, by short names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sfumato.errors import ParameterError


@dataclass(frozen=True, slots=True)
class CellChoice:
    """What was chosen; all of a kind where nothing is named."""

    encoders: tuple[str, ...] = ()
    defences: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything was chosen."""
        return bool(self.encoders or self.defences or self.attacks)


def short(label: str) -> str:
    """A label as it is typed: `Laplace .7` is laplace-0.7."""
    words = re.sub(r"[^a-z0-9.]+", "-", label.lower())
    return re.sub(r"(?<!\d)\.(?=\d)", "0.", words).strip("-.")


def resolve(given: Sequence[str], table: Mapping[str, str] | Iterable[str], what: str) -> list[str]:
    """Labels of what was typed, or refuse: a label itself, or its short name."""
    named = dict(table) if isinstance(table, Mapping) else {short(label): label for label in table}
    found = []
    for each in given:
        if each not in named and each not in named.values():
            close = get_close_matches(short(each), named, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise ParameterError(f"The {what} must be one of {', '.join(named)}. Found {each!r:.40}.{hint}")
        found.append(named.get(each, each))
    return list(dict.fromkeys(found))
