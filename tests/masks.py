"""Masks that are learned quickly, for tests of what is done with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sfumato.sensitivity import MaskLearner, MaskSettings


@contextlib.contextmanager
def quick_masks(epochs: int = 20) -> Iterator[None]:
    """Every learner here stops after a few epochs of a small network; not for how well it learns."""
    true = MaskLearner.__init__

    def made(self: MaskLearner, settings: MaskSettings | None = None, *, device: str = "auto") -> None:
        given = settings or MaskSettings()
        true(self, replace(given, epochs=min(epochs, given.epochs), hidden=(32,)), device=device)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MaskLearner, "__init__", made)
        yield
