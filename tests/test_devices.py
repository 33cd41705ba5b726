"""A device that is not there is refused in one line, wherever it is asked for."""

from __future__ import annotations

import pytest
import torch

from sfumato.attacks.writers.minilm import ReadyMade
from sfumato.devices import chosen_device
from sfumato.embedders import load_embedder
from sfumato.errors import ParameterError


def test_none_takes_what_there_is():
    assert chosen_device(None).type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert chosen_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["nonsense", "cuda"])
@pytest.mark.parametrize(
    "ask",
    [
        chosen_device,
        lambda name: ReadyMade(device=name).fit(),
        lambda name: load_embedder("minilm", device=name),
    ],
)
def test_a_device_that_is_not_there_is_refused(ask, name, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ParameterError, match="device"):
        ask(name)
