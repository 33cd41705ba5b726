"""The quick suite of an audit with as little of everything as still shows a difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.attacks.terms import perceptron
from sfumato.auditing import settings

FEW = {
    "epochs": 10, "copies": 2, "informed": 15, "candidates": 8, "linked": 15, "averaged": 2, "draws": 1,
    "searches": 80,
}  # fmt: skip
STEPS = 10
"""Steps of an epoch."""


def shrink(monkeypatch: pytest.MonkeyPatch, **fields: object) -> None:
    """Put it in the place of the quick suite, for audits that run in this process."""
    plan = replace(settings.SUITES["quick"], **(FEW | fields))
    monkeypatch.setitem(settings.SUITES, "quick", plan)
    # What an attack costs on so few texts is its steps, however few texts there are in each.
    monkeypatch.setattr(perceptron, "SMALLEST_STEPS", STEPS)
