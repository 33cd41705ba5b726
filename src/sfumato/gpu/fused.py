"""The Triton backend: the same functions as `plain`, each one launch of a kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from sfumato import grid
from sfumato.gpu import coefficients as c
from sfumato.gpu import kernels
from sfumato.gpu.laws import Turning
from sfumato.gpu.streams import Streams

Tensor = Any

SEES_NORMS = True
"""`add` and `turn` return the norms of the rows they read."""

LARGEST_LAUNCH = 1 << 30
"""Numbers in one launch, so that every place in it fits 32 bits."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is cut into programs: blocks of the generator a program, and warps that share them."""

    lanes: int = 128
    warps: int = 4
    registers: int | None = None
    """Most registers a thread may take; the compiler's choice if None."""


ADD = Launch(128, 2, 96)
ROWS = Launch()
TURN_WARPS = 2


def chunk_rows(dim: int, device: torch.device) -> int:
    """How many rows to release at a time."""
    return max(1, LARGEST_LAUNCH // (dim + c.NORMALS_PER_BLOCK))


def _options(launch: Launch) -> dict[str, Any]:
    # Fused multiply-adds would round otherwise than plain torch does.
    return {
        "LANES": launch.lanes,
        "num_warps": launch.warps,
        "maxnreg": launch.registers,
        "enable_fp_fusion": False,
    }


def _grid(count: int, launch: Launch) -> tuple[int]:
    return (-(-count // launch.lanes),)


@lru_cache(maxsize=1024)
def _numbers(device: torch.device, *values: float) -> Tensor:
    # Through memory, because a Python float becomes a float32 on its way into a kernel. Kept, because putting
    # them there waits for all that is queued.
    return torch.tensor(values, dtype=torch.float64, device=device)


def keystream(streams: Streams, purpose: int, blocks: int, rounds: int = c.ROUNDS) -> Tensor:
    """Words of the first blocks of every row, as `[rows, blocks, 16]` int32."""
    device, lanes = streams.keys.device, streams.rows * blocks
    out = torch.empty((streams.rows, blocks, 16), dtype=torch.int32, device=device)
    kernels.words_kernel[_grid(lanes, ROWS)](
        out, streams.keys, streams.first, lanes, BLOCKS=blocks, PURPOSE=purpose, KEYED=streams.keyed,
        ROUNDS=rounds, **_options(ROWS),
    )  # fmt: skip
    return out


def normals(streams: Streams, count: int, purpose: int, launch: Launch | None = None) -> Tensor:
    """Draw `[rows, count]` standard normals."""
    launch = launch or ADD
    blocks = -(-count // c.NORMALS_PER_BLOCK)
    lanes = streams.rows * blocks
    out = torch.empty((streams.rows, count), dtype=torch.float64, device=streams.keys.device)
    kernels.normals_kernel[_grid(lanes, launch)](
        out, streams.keys, streams.first, lanes, COUNT=count, BLOCKS=blocks, PURPOSE=purpose,
        KEYED=streams.keyed, ROUNDS=c.ROUNDS, **_options(launch),
    )  # fmt: skip
    return out


def row_scales(streams: Streams, dim: int, factor: float) -> Tensor:
    """Draw the factor of each row that turns normals into Laplace noise."""
    shape = (dim + 1) / 2 - 1.0 / 3.0
    device = streams.keys.device
    numbers = _numbers(device, shape, 1.0 / math.sqrt(9.0 * shape), 2.0 * shape, factor)
    out = torch.empty(streams.rows, dtype=torch.float64, device=device)
    kernels.scales_kernel[_grid(streams.rows, ROWS)](
        out, streams.keys, numbers, streams.first, streams.rows, KEYED=streams.keyed, ROUNDS=c.ROUNDS,
        **_options(ROWS),
    )  # fmt: skip
    return out


def add(
    vectors: Tensor,
    out: Tensor,
    streams: Streams,
    scales: Tensor,
    deviations: Tensor | None,
    extra: Tensor | None,
    own: bool,
    step: float,
    *,
    launch: Launch | None = None,
    rounds: int = c.ROUNDS,
) -> Tensor:
    """Write the release of additive noise to `out`; see `plain.add`. Fewer rounds are for timing only."""
    launch = launch or ADD
    rows, dim = vectors.shape
    blocks = -(-dim // c.NORMALS_PER_BLOCK)
    # The largest power of two that divides the lanes of a row, and is no more than the lanes of a warp.
    group = min(blocks & -blocks, 32)
    squares = torch.empty((blocks // group, rows), dtype=vectors.dtype, device=vectors.device)
    numbers = _numbers(vectors.device, c.TO_WHOLE * step, grid.LARGEST * step)
    kernels.add_kernel[_grid(rows * blocks, launch)](
        vectors, out, squares, streams.keys, scales, numbers if deviations is None else deviations,
        numbers if extra is None else extra, numbers, streams.first, rows * blocks,
        DIM=dim, BLOCKS=blocks, GROUP=group, OWN=own, SCALED=len(scales) > 1, SHAPED=deviations is not None,
        EXTRA=extra is not None, KEYED=streams.keyed, ROUNDS=rounds, **_options(launch),
    )  # fmt: skip
    return squares.sum(0).sqrt_()


def turns(streams: Streams, law: Turning) -> Tensor:
    """Draw cosine and sine of each row's angle, and the noise of its radius, as `[3, rows]`."""
    device, cells = streams.keys.device, len(law.cumulative)
    numbers = _numbers(device, law.total, law.sine_factor, law.tilt, law.radius_factor)
    out = torch.empty((3, streams.rows), dtype=torch.float64, device=device)
    kernels.turns_kernel[_grid(streams.rows, ROWS)](
        out, streams.keys, law.cumulative, law.edges, law.widths, law.bounds, numbers, streams.first,
        streams.rows, cells, STEPS=cells.bit_length(), PLANE=law.sine_factor == 0.0, BY_COSINE=law.by_cosine,
        RADIUS=law.radius_factor != 0.0, KEYED=streams.keyed, ROUNDS=c.ROUNDS, **_options(ROWS),
    )  # fmt: skip
    return out


def turn(
    vectors: Tensor, out: Tensor, streams: Streams, turned: Tensor, longest: float, step: float
) -> Tensor:
    """Write turned directions to `out`; see `plain.turn`."""
    rows, dim = vectors.shape
    norms = torch.empty(rows, dtype=torch.float64, device=vectors.device)
    blocks = -(-dim // c.NORMALS_PER_BLOCK)
    numbers = _numbers(vectors.device, c.TO_WHOLE * step, grid.LARGEST * step, longest)
    # A whole row sits in the registers of one program; a program has at least one warp of lanes.
    lanes = max(32, 1 << (blocks - 1).bit_length())
    launch = Launch(lanes, min(TURN_WARPS, lanes // 32) if lanes < 512 else 8)
    kernels.turn_kernel[(rows,)](
        vectors, out, norms, streams.keys, turned, numbers, streams.first, rows, DIM=dim, BLOCKS=blocks,
        RADIUS=longest > 0.0, KEYED=streams.keyed, ROUNDS=c.ROUNDS, **_options(launch),
    )  # fmt: skip
    return norms
