"""Checks of numbers that are given as settings: inside their range, or refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.errors import ParameterError


def finite_number(value: Any, name: str, low: float, high: float) -> float:
    """Return `value` as a float inside [low, high], or refuse it by name."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ParameterError(
            f"`{name}` must be a number in [{low:g}, {high:g}]. Found {type(value).__name__}."
        )
    number = float(value)
    if not low <= number <= high:
        raise ParameterError(f"`{name}` must be in [{low:g}, {high:g}]. Found {number:g}.")
    return number


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    """Return `value` as an int inside [low, high], or refuse it by name."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterError(
            f"`{name}` must be a whole number in [{low}, {high}]. Found {type(value).__name__}."
        )
    if not low <= int(value) <= high:
        raise ParameterError(f"`{name}` must be in [{low}, {high}]. Found {int(value)}.")
    return int(value)
