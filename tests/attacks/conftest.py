"""What tests of several attacks share."""

from __future__ import annotations

import pytest
import torch

from tests.places import DEVICE


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
