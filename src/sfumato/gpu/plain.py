"""The backend without kernels: plain torch operations, on a CPU or a GPU, bit for bit what `fused` gives."""

from __future__ import annotations

import math

import torch

from sfumato import grid
from sfumato.gpu import coefficients as c
from sfumato.gpu.arithmetic import (
    Tensor,
    cosine_sine,
    eight_normals,
    exact_sum,
    minus_two_log,
    normal_pair,
    power_below,
    root,
    snap,
    unit_interval,
)
from sfumato.gpu.chacha import keystream, long_word
from sfumato.gpu.laws import Turning
from sfumato.gpu.streams import Streams

SEES_NORMS = False
"""Norms are checked before."""

ROWS_ON_CPU, ROWS_ON_DEVICE = 1 << 18, 1 << 24
"""Numbers drawn at a time: the generator's states stay in a cache, or fit beside the vectors."""


def chunk_rows(dim: int, device: torch.device) -> int:
    """How many rows to release at a time."""
    return max(1, (ROWS_ON_CPU if device.type == "cpu" else ROWS_ON_DEVICE) // dim)


def normals(streams: Streams, count: int, purpose: int) -> Tensor:
    """Draw `[rows, count]` standard normals; block b of a row fills columns b, b + blocks and so on."""
    blocks = -(-count // c.NORMALS_PER_BLOCK)
    words = keystream(streams, purpose, blocks)
    columns = torch.stack(eight_normals([long_word(words, place) for place in range(8)]), 1)
    return columns.reshape(streams.rows, -1)[:, :count]


def row_scales(streams: Streams, dim: int, factor: float) -> Tensor:
    """Draw the factor of each row that turns normals into Laplace noise: `factor` sqrt(2 v), v a gamma.

    v ~ Gamma((n + 1)/2, 1) by Marsaglia and Tsang 2000, one block of words a try.
    """
    shape = (dim + 1) / 2 - 1.0 / 3.0
    slope = 1.0 / math.sqrt(9.0 * shape)
    out = torch.full((streams.rows,), math.nan, dtype=torch.float64, device=streams.keys.device)
    open_rows = torch.ones_like(out, dtype=torch.bool)
    for attempt in range(c.MOST_ROUNDS):
        words = keystream(streams, c.GAMMA, 1, attempt)[:, :, 0]
        x = normal_pair(long_word(words, 0), long_word(words, 1))[0]
        t = 1.0 + x * slope
        v = t * t * t
        log_v = minus_two_log(torch.where(v > c.TINY, v, c.TINY))
        log_u = minus_two_log(unit_interval(long_word(words, 2)))
        accepted = (v > 0.0) & (-log_u < (x * x + (1.0 - v) * (2.0 * shape)) - log_v * shape)
        out = torch.where(open_rows & accepted, root(v * (2.0 * shape)) * factor, out)
        open_rows &= ~accepted
        if not bool(open_rows.any()):
            break
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
) -> None:
    """Write the release of additive noise to `out`.

    Args:
        vectors: `[rows, d]` float32 or float64.
        out: `[rows, d]` float32.
        streams: where the noise comes from.
        scales: `[rows]` or `[1]` factors of the noise.
        deviations: `[d]` factors of the columns.
        extra: `[rows, d]` noise that was drawn before, added to the normals.
        own: whether normals of its own are drawn at all.
        step: the grid.
    """
    noise = extra
    if own:
        noise = normals(streams, vectors.shape[1], c.NORMALS)
        if deviations is not None:
            noise = noise * deviations
        if extra is not None:
            noise = noise + extra
    out.copy_(snap(noise * scales[:, None] + vectors.to(torch.float64), step, grid.LARGEST * step))


def turns(streams: Streams, law: Turning) -> Tensor:
    """Draw cosine and sine of each row's angle, and the noise of its radius, as `[3, rows]`."""
    device = streams.keys.device
    angle = torch.full((streams.rows,), math.nan, dtype=torch.float64, device=device)
    open_rows = torch.ones_like(angle, dtype=torch.bool)
    for attempt in range(c.MOST_ROUNDS):
        words = keystream(streams, c.ANGLE, 1, attempt)[:, :, 0]
        pick, place, keep = (unit_interval(long_word(words, number)) for number in range(3))
        cell = torch.searchsorted(law.cumulative, pick * law.total)
        tried = law.edges[cell] + place * law.widths[cell]
        accepted = minus_two_log(keep) * -0.5 <= _log_weight(tried, law) - law.bounds[cell]
        angle = torch.where(open_rows & accepted, tried, angle)
        open_rows &= ~accepted
        if not bool(open_rows.any()):
            break
    cos, sin = cosine_sine(angle)
    if law.radius_factor == 0.0:
        return torch.stack([cos, sin, torch.zeros_like(cos)])
    words = keystream(streams, c.RADIUS, 1)[:, :, 0]
    first, second = (minus_two_log(unit_interval(long_word(words, number))) for number in range(2))
    return torch.stack([cos, sin, (first - second) * law.radius_factor])


def _log_weight(angle: Tensor, law: Turning) -> Tensor:
    """Log of the density sin^(n-2) exp(tilt) at `angle`."""
    inside = (angle > 0.0) & (angle < math.pi)
    safe = torch.where(inside, angle, 1.0)
    cos, sin = cosine_sine(safe)
    weight = minus_two_log(sin) * law.sine_factor
    if law.sine_factor != 0.0:
        weight = torch.where(inside, weight, -math.inf)
    cos = torch.where(inside, cos, torch.where(angle > 1.0, -1.0, 1.0))
    return weight + (cos if law.by_cosine else angle) * law.tilt


def turn(vectors: Tensor, out: Tensor, streams: Streams, turned: Tensor, longest: float, step: float) -> None:
    """Write directions turned by their angle towards a uniform tangent; with a radius if `longest` is set."""
    wide = vectors.to(torch.float64)
    power = power_below(wide.abs().amax(1))
    wide = wide * power[:, None]
    tangent = normals(streams, wide.shape[1], c.NORMALS)
    cos, sin, shift = turned
    norm = root(exact_sum(wide * wide))
    along = exact_sum(tangent * wide) / norm
    rest = exact_sum(tangent * tangent) - along * along
    sideways = sin / root(torch.where(rest > c.TINY, rest, c.TINY))
    forward = (cos - sideways * along) / norm
    if longest > 0.0:
        radius = (norm / power + shift).abs()
        radius = torch.where(radius > longest, longest, radius)
        forward, sideways = forward * radius, sideways * radius
    released = wide * forward[:, None] + tangent * sideways[:, None]
    out.copy_(snap(released, step, grid.LARGEST * step))
