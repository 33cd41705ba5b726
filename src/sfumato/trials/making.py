"""Making any attack of the table: its settings by field name, and what loads it when it was kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from inspect import isabstract
from typing import Any, get_type_hints

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Attack, Inverter
from sfumato.errors import InputError, ParameterError


def settings_of(kind: type[Attack]) -> list[str]:
    """The names of an attack's settings."""
    return [field.name for field in fields(kind) if field.init]  # type: ignore[arg-type]


def make_attack(name: str, asked: Mapping[str, Any], offered: Mapping[str, Any]) -> Attack:
    """Make the attack of this name.

    Args:
        name: a name of the table.
        asked: settings the caller insists on; one that the attack does not have is refused.
        offered: settings for those attacks that have them; None is not passed on.
    """
    kind = ATTACKS.get(name)
    known = settings_of(kind)
    unknown = next((key for key in asked if key not in known), None)
    if unknown is not None:
        raise ParameterError(
            f"The attack `{name}` has these settings: {', '.join(known)}. Found `{unknown}`."
        )
    given = {key: value for key, value in offered.items() if key in known and value is not None}
    listed = {key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()}
    try:
        return kind(**{**given, **listed})
    except TypeError as error:
        raise ParameterError(f"The attack `{name}` cannot be made like this: {error}.") from None


def inverter_of(kind: type[Attack]) -> type[Inverter]:
    """The class of what an attack's `fit` returns, which is what loads it."""
    found = get_type_hints(kind.fit)["return"]
    if isabstract(found):
        raise InputError(f"The attack `{kind.name}` cannot be loaded: it does not say what it returns.")
    return found  # type: ignore[no-any-return]
