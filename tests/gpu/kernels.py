"""Run in a process of its own with TRITON_INTERPRET=1: kernels against the plain backend, on a CPU.

Prints one JSON object, claim -> whether it holds.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import torch

from sfumato.errors import VectorError
from sfumato.gpu import fused, on_device, plain, privatize
from sfumato.gpu.chacha import keystream
from sfumato.gpu.coefficients import FACTORS, NORMALS
from sfumato.gpu.plans import plan_of
from sfumato.gpu.streams import Streams
from sfumato.mechanisms import Gaussian, Laplace, Mahalanobis, Mechanism, Polar, Purkayastha
from sfumato.randomness import InsecureSeedWarning, RowKeys
from sfumato.sensitivity import Dense, Factored

ROWS = 2


def mechanisms(dim: int) -> dict[str, Mechanism]:
    """Every kind of release, in a dimension whose blocks do not come out even."""
    rng = np.random.Generator(np.random.PCG64(dim))
    covariance = np.eye(dim) + 0.1
    return {
        "laplace": Laplace(epsilon=20.0),
        "gaussian": Gaussian(sigma=0.3),
        "mask": Mahalanobis(epsilon=20.0, shape=np.linspace(0.1, 2.0, dim)),
        "dense": Mahalanobis(epsilon=20.0, shape=Dense(covariance)),
        "factored": Mahalanobis(epsilon=20.0, shape=Factored(np.ones(dim), rng.standard_normal((dim, 2)))),
        "polar with radius": Polar(epsilon=30.0, radius_epsilon=5.0),
        "purkayastha": Purkayastha(epsilon=30.0),
    }


def vectors(dim: int) -> torch.Tensor:
    rng = np.random.Generator(np.random.PCG64(1))
    rows = rng.standard_normal((ROWS, dim))
    return torch.tensor(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=torch.float32)


def norms_are_seen(dim: int) -> bool:
    """Norms that the kernels return on their way; the last program is not full."""
    rng = np.random.Generator(np.random.PCG64(dim))
    x = torch.tensor(rng.standard_normal((5, dim)) * np.array([[1e-3], [1], [1e15], [0], [2]]))
    out, streams = torch.empty(5, dim), Streams(torch.arange(8, dtype=torch.int32)[None], 5, False)
    scales, turned = torch.ones(1, dtype=torch.float64), torch.ones(3, 5, dtype=torch.float64)
    wanted = torch.linalg.vector_norm(x, dim=1)
    for rows, close in ((x, 1e-14), (x.float(), 1e-6)):
        added = fused.add(rows, out, streams, scales, None, None, True, 2.0**-20)
        turning = fused.turn(rows, out, streams, turned, 0.0, 2.0**-20)
        for seen in (added, turning):
            if not torch.allclose(seen.double(), wanted, rtol=close, atol=0.0):
                return False
    return True


def refuses(mechanism: Mechanism) -> bool:
    """One bad row, and nothing is handed over."""
    for bad in (float("nan"), float("inf"), -float("inf"), 9.0, 0.0):
        x = vectors(13)
        x[1] = torch.where(torch.arange(13) == 3, bad, x[1]) if bad else bad
        try:
            privatize(mechanism, x, backend="triton")
        except VectorError as error:
            if error.row == 1:
                continue
        return False
    return True


def checks() -> Iterator[tuple[str, bool]]:
    for keyed, first in ((False, 0), (False, 2**33 + 5), (True, 0)):
        keys = torch.arange(8 * ROWS, dtype=torch.int32).reshape(ROWS, 8) * 123456789
        streams = Streams(keys if keyed else keys[:1], ROWS, keyed, first)
        words = keystream(streams, FACTORS, 5).permute(1, 2, 0)
        same = torch.equal(fused.keystream(streams, FACTORS, 5), words)
        yield f"keystream, keyed {keyed}, from row {first}", same
    streams = Streams(torch.arange(8, dtype=torch.int32)[None], 100, False)
    # Before the grid, which would hide a last bit. A small shape rejects some of 100 rows at the first try.
    same = torch.equal(fused.row_scales(streams, 1, 1.0), plain.row_scales(streams, 1, 1.0))
    yield "row scales, second tries", same
    same = torch.equal(fused.normals(streams, 8, NORMALS), plain.normals(streams, 8, NORMALS))
    yield "normals", same
    for name in ("polar with radius", "purkayastha"):
        law = plan_of(mechanisms(13)[name], 13, torch.device("cpu")).law
        yield f"turns of {name}", torch.equal(fused.turns(streams, law), plain.turns(streams, law))
    for name, mechanism in mechanisms(13).items():
        x = vectors(13)
        first, second = (privatize(mechanism, x, 7, backend=backend) for backend in ("triton", "plain"))
        yield f"{name}, 13 dimensions", torch.equal(first, second)
    for dim in (7, 96, 520):
        yield f"norms seen, {dim} dimensions", norms_are_seen(dim)
    for name in ("laplace", "polar with radius"):
        yield f"{name} refuses a bad row after the noise", refuses(mechanisms(13)[name])
    placed = on_device(Laplace(epsilon=20.0), "cpu")
    keys = RowKeys(np.arange(32 * ROWS, dtype=np.uint8).reshape(ROWS, 32))
    wide = vectors(96).double()
    first, second = (privatize(placed, wide, keys, backend=backend) for backend in ("triton", "plain"))
    yield "laplace, keyed, float64, 96 dimensions", torch.equal(first, second)


if __name__ == "__main__":
    warnings.simplefilter("ignore", InsecureSeedWarning)
    sys.stdout.write(json.dumps(dict(checks())))
