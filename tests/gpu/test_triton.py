"""The Triton kernels, in Triton's interpreter, give the plain backend's bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from sfumato.errors import ParameterError
from sfumato.gpu import privatize
from sfumato.mechanisms import Laplace

# The interpreter is chosen when Triton is imported, so the kernels run in a process of their own.
SCRIPT = Path(__file__).with_name("kernels.py")


@pytest.fixture(scope="module")
def compared() -> dict[str, bool]:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, bool] = json.loads(done.stdout)
    return found


def test_kernels_equal_the_plain_backend_bit_for_bit(compared):
    assert len(compared) == 20
    assert not [claim for claim, holds in compared.items() if not holds]


def test_triton_refuses_tensors_that_are_not_on_a_gpu(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(ParameterError, match="needs tensors on a GPU"):
        privatize(Laplace(epsilon=1.0), torch.ones(1, 3) / 2, backend="triton")
