"""Triton kernels: each lane makes one ChaCha20 block, eight normals of it, and eight released numbers."""

# The compiler of these functions knows its own types and no annotations.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import triton
import triton.language as tl

from sfumato.gpu import coefficients
from sfumato.gpu.kernel_math import (
    chacha,
    coarse_part,
    cosine_sine,
    eight_normals,
    fine_part,
    log_weight,
    long_word,
    minus_two_log,
    normal_pair,
    snap,
    unit_interval,
)

_NORMALS = tl.constexpr(coefficients.NORMALS)
_GAMMA = tl.constexpr(coefficients.GAMMA)
_ANGLE = tl.constexpr(coefficients.ANGLE)
_RADIUS = tl.constexpr(coefficients.RADIUS)
_TINY = tl.constexpr(coefficients.TINY)
_MOST_ROUNDS = tl.constexpr(coefficients.MOST_ROUNDS)


@triton.jit(do_not_specialize=["first"])
def words_kernel(out, keys, first, lanes, BLOCKS: tl.constexpr, PURPOSE: tl.constexpr, KEYED: tl.constexpr,
                 ROUNDS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """The keystream itself, `[lanes, 16]`, for known answers."""
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    there = lane < lanes
    row = tl.where(there, lane // BLOCKS, 0)
    words = chacha(keys, row, first, lane % BLOCKS, PURPOSE, KEYED, ROUNDS)
    for place in tl.static_range(16):
        tl.store(out + lane * 16 + place, words[place].to(tl.int32, bitcast=True), mask=there)


@triton.jit(do_not_specialize=["first"])
def add_kernel(vectors, out, squares, keys, scales, deviations, extra, numbers, first, lanes,
               DIM: tl.constexpr, BLOCKS: tl.constexpr, GROUP: tl.constexpr, OWN: tl.constexpr,
               SCALED: tl.constexpr, SHAPED: tl.constexpr, EXTRA: tl.constexpr, KEYED: tl.constexpr,
               ROUNDS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Draw, shape, add, round to the grid and cast, reading each input and writing each output once.

    On its way it sums the squares of each row over groups of lanes, for the check of norms.
    """
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = lane < lanes
    row = tl.where(inside, lane // BLOCKS, 0)
    column = lane % BLOCKS
    start = row * DIM + column
    magic, largest = tl.load(numbers), tl.load(numbers + 1).to(tl.float32)
    if SCALED:
        scale = tl.load(scales + row)
    else:
        scale = tl.load(scales)
    if OWN:
        w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15 = chacha(
            keys, row, first, column, _NORMALS, KEYED, ROUNDS
        )
        normals = eight_normals(w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15)
    total = tl.zeros((LANES,), vectors.dtype.element_ty)
    for number in tl.static_range(8):
        there = inside
        if DIM != 8 * BLOCKS:
            there = inside & (column < DIM - number * BLOCKS)
        if OWN:
            noise = normals[number]
            if SHAPED:
                noise = noise * tl.load(deviations + column + number * BLOCKS, mask=there, other=0.0)
            if EXTRA:
                noise = noise + tl.load(extra + start + number * BLOCKS, mask=there, other=0.0)
        else:
            noise = tl.load(extra + start + number * BLOCKS, mask=there, other=0.0)
        value = tl.load(vectors + start + number * BLOCKS, mask=there, other=0.0)
        total += value * value
        released = snap(noise * scale + value.to(tl.float64), magic, largest)
        tl.store(out + start + number * BLOCKS, released, mask=there)
    # Groups do not straddle rows. Those of a row are stored apart, so that a sum over them reads in order.
    group = tl.program_id(0) * (LANES // GROUP) + tl.arange(0, LANES // GROUP)
    sums = tl.sum(tl.reshape(total, (LANES // GROUP, GROUP)), 1)
    own, rows = group // (BLOCKS // GROUP), lanes // BLOCKS
    tl.store(squares + group % (BLOCKS // GROUP) * rows + own, sums, mask=own < rows)


@triton.jit(do_not_specialize=["first"])
def normals_kernel(out, keys, first, lanes, COUNT: tl.constexpr, BLOCKS: tl.constexpr, PURPOSE: tl.constexpr,
                   KEYED: tl.constexpr, ROUNDS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Standard normals in float64, `[rows, COUNT]`, for a matrix product."""
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = lane < lanes
    row = tl.where(inside, lane // BLOCKS, 0)
    column = lane % BLOCKS
    w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15 = chacha(
        keys, row, first, column, PURPOSE, KEYED, ROUNDS
    )
    normals = eight_normals(w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15)
    for number in tl.static_range(8):
        own = column + number * BLOCKS
        tl.store(out + row * COUNT + own, normals[number], mask=inside & (own < COUNT))


@triton.jit(do_not_specialize=["first"])
def scales_kernel(out, keys, numbers, first, rows, KEYED: tl.constexpr, ROUNDS: tl.constexpr,
                  LANES: tl.constexpr):  # fmt: skip
    """The factor of each row that makes normals Laplace noise (Marsaglia and Tsang 2000)."""
    row = tl.program_id(0) * LANES + tl.arange(0, LANES)
    there = row < rows
    safe = tl.where(there, row, 0)
    shape, slope = tl.load(numbers), tl.load(numbers + 1)
    double, factor = tl.load(numbers + 2), tl.load(numbers + 3)
    made = tl.full((LANES,), float("nan"), tl.float64)
    waiting = there
    attempt = 0
    going = 1
    while (going > 0) & (attempt < _MOST_ROUNDS):
        w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15 = chacha(
            keys, safe, first, tl.zeros_like(safe) + attempt, _GAMMA, KEYED, ROUNDS
        )
        x, unused = normal_pair(w0, w1, w2, w3)
        t = 1.0 + x * slope
        v = t * t * t
        log_v = minus_two_log(tl.where(v > _TINY, v, _TINY))
        log_u = minus_two_log(unit_interval(long_word(w4, w5)))
        accepted = (v > 0.0) & (-log_u < (x * x + (1.0 - v) * double) - log_v * shape)
        made = tl.where(waiting & accepted, tl.sqrt(tl.where(v > 0.0, v, 0.0) * double) * factor, made)
        waiting = waiting & (accepted == 0)
        going = tl.max(waiting.to(tl.int32), 0)
        attempt += 1
    tl.store(out + row, made, mask=there)


@triton.jit(do_not_specialize=["first"])
def turns_kernel(out, keys, cumulative, edges, widths, bounds, numbers, first, rows, cells,
                 STEPS: tl.constexpr, PLANE: tl.constexpr, BY_COSINE: tl.constexpr, RADIUS: tl.constexpr,
                 KEYED: tl.constexpr, ROUNDS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Cosine and sine of each row's angle, and the noise of its radius."""
    row = tl.program_id(0) * LANES + tl.arange(0, LANES)
    there = row < rows
    safe = tl.where(there, row, 0)
    total, sine_factor = tl.load(numbers), tl.load(numbers + 1)
    tilt, radius_factor = tl.load(numbers + 2), tl.load(numbers + 3)
    angle = tl.full((LANES,), float("nan"), tl.float64)
    waiting = there
    attempt = 0
    going = 1
    while (going > 0) & (attempt < _MOST_ROUNDS):
        w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15 = chacha(
            keys, safe, first, tl.zeros_like(safe) + attempt, _ANGLE, KEYED, ROUNDS
        )
        wanted = unit_interval(long_word(w0, w1)) * total
        low = tl.zeros_like(safe)
        high = low + cells
        for _ in range(STEPS):
            middle = (low + high) // 2
            below = tl.load(cumulative + tl.minimum(middle, cells - 1)) < wanted
            searching = low < high
            low = tl.where(searching & below, middle + 1, low)
            high = tl.where(searching & (below == 0), middle, high)
        cell = tl.minimum(low, cells - 1)
        tried = tl.load(edges + cell) + unit_interval(long_word(w2, w3)) * tl.load(widths + cell)
        weight = log_weight(tried, sine_factor, tilt, PLANE, BY_COSINE) - tl.load(bounds + cell)
        accepted = minus_two_log(unit_interval(long_word(w4, w5))) * -0.5 <= weight
        angle = tl.where(waiting & accepted, tried, angle)
        waiting = waiting & (accepted == 0)
        going = tl.max(waiting.to(tl.int32), 0)
        attempt += 1
    cos, sin = cosine_sine(angle)
    shift = tl.zeros((LANES,), tl.float64)
    if RADIUS:
        w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15 = chacha(
            keys, safe, first, tl.zeros_like(safe), _RADIUS, KEYED, ROUNDS
        )
        one = minus_two_log(unit_interval(long_word(w0, w1)))
        shift = (one - minus_two_log(unit_interval(long_word(w2, w3)))) * radius_factor
    tl.store(out + row, cos, mask=there)
    tl.store(out + rows + row, sin, mask=there)
    tl.store(out + 2 * rows + row, shift, mask=there)


@triton.jit(do_not_specialize=["first"])
def turn_kernel(vectors, out, norms, keys, turned, numbers, first, rows,
                DIM: tl.constexpr, BLOCKS: tl.constexpr, RADIUS: tl.constexpr, KEYED: tl.constexpr,
                ROUNDS: tl.constexpr, LANES: tl.constexpr):  # fmt: skip
    """Turn one row towards a uniform tangent direction, the whole row in registers."""
    row = tl.program_id(0)
    column = tl.arange(0, LANES)
    inside = column < BLOCKS
    magic, largest, longest = tl.load(numbers), tl.load(numbers + 1).to(tl.float32), tl.load(numbers + 2)
    cos, sin = tl.load(turned + row), tl.load(turned + rows + row)
    w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15 = chacha(
        keys, row, first, column, _NORMALS, KEYED, ROUNDS
    )
    normals = eight_normals(w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15)
    peak = tl.zeros((LANES,), tl.float64)
    for number in tl.static_range(8):
        own = column + number * BLOCKS
        value = tl.load(vectors + row * DIM + own, mask=inside & (own < DIM), other=0.0).to(tl.float64)
        peak = tl.maximum(peak, tl.abs(value))
    highest = tl.max(peak, 0)
    power = ((2046 - (highest.to(tl.int64, bitcast=True) >> 52)) << 52).to(tl.float64, bitcast=True)
    blank = tl.zeros((LANES,), tl.float64)
    xx, xx_rest, nx, nx_rest, nn, nn_rest = blank, blank, blank, blank, blank, blank
    for number in tl.static_range(8):
        own = column + number * BLOCKS
        there = inside & (own < DIM)
        value = tl.load(vectors + row * DIM + own, mask=there, other=0.0).to(tl.float64) * power
        normal = tl.where(there, normals[number], 0.0)
        xx += coarse_part(value * value)
        xx_rest += fine_part(value * value)
        nx += coarse_part(normal * value)
        nx_rest += fine_part(normal * value)
        nn += coarse_part(normal * normal)
        nn_rest += fine_part(normal * normal)
    norm = tl.sqrt(tl.sum(xx, 0) + tl.sum(xx_rest, 0))
    tl.store(norms + row, norm / power)
    along = (tl.sum(nx, 0) + tl.sum(nx_rest, 0)) / norm
    rest = (tl.sum(nn, 0) + tl.sum(nn_rest, 0)) - along * along
    sideways = sin / tl.sqrt(tl.where(rest > _TINY, rest, _TINY))
    forward = (cos - sideways * along) / norm
    if RADIUS:
        radius = tl.abs(norm / power + tl.load(turned + 2 * rows + row))
        radius = tl.where(radius > longest, longest, radius)
        forward = forward * radius
        sideways = sideways * radius
    for number in tl.static_range(8):
        own = column + number * BLOCKS
        there = inside & (own < DIM)
        value = tl.load(vectors + row * DIM + own, mask=there, other=0.0).to(tl.float64) * power
        released = snap(value * forward + normals[number] * sideways, magic, largest)
        tl.store(out + row * DIM + own, released, mask=there)
