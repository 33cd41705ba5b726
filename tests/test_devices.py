"""A device that is not there is refused in one line; half the digits only where they are multiplied fast."""

from __future__ import annotations

import pytest
import torch

from sfumato import devices
from sfumato.attacks.writers.minilm import ReadyMade
from sfumato.devices import all_digits, autocast, chosen_device
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


CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("told", "halves"),
    [({"avx512_bf16": True}, True), ({"amx_bf16": True}, True), ({"avx512_f": True}, False), ({}, False)],
)
def test_a_processor_multiplies_halves_where_it_has_instructions_for_them(told, halves, monkeypatch):
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: told, raising=False)
    devices._multiplies_halves.cache_clear()
    try:
        one = torch.ones(2, 2)
        with autocast(CPU):
            assert ((one @ one).dtype == torch.bfloat16) == halves
            with all_digits(CPU):
                assert (one @ one).dtype == torch.float32
    finally:
        devices._multiplies_halves.cache_clear()


def test_a_torch_that_says_nothing_of_its_processor_keeps_all_digits(monkeypatch):
    monkeypatch.delattr("torch.cpu.get_capabilities", raising=False)
    devices._multiplies_halves.cache_clear()
    try:
        with autocast(CPU):
            assert torch.ones(2, 2).mm(torch.ones(2, 2)).dtype == torch.float32
    finally:
        devices._multiplies_halves.cache_clear()
