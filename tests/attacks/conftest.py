"""What tests of several attacks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.places import DEVICE


@pytest.fixture(scope="module")
def few_steps() -> Iterator[None]:
    """Fewer and larger steps an epoch for the token classifier, whose time is the number of its steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.attacks.terms.perceptron.SMALLEST_STEPS", 16)
        yield


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The way of a GPU, on a CPU too; lists the rows that were noised as tensors."""
    from sfumato.attacks import on_device as placed
    from sfumato.release import Release

    rows: list[torch.Tensor] = []
    true = Release._on_device

    def watched(release: Release, own: torch.Tensor, source: object) -> torch.Tensor:
        rows.append(own)
        return true(release, own, source)

    monkeypatch.setattr(placed, "NOISED_ON", (DEVICE,))
    monkeypatch.setattr(Release, "_on_device", watched)
    return rows
