"""The samplers of `arithmetic` and `chacha` as Triton functions: the same operations in the same order.

Compiled without fused multiply-add, every operation rounds as it does in plain torch.
"""

# The compiler of these functions knows its own types and no annotations.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import triton
import triton.language as tl

from sfumato.gpu import coefficients

_S0, _S1, _S2, _S3 = (tl.constexpr(word) for word in coefficients.SIGMA)
_A0, _A1, _A2, _A3, _A4, _A5, _A6 = (tl.constexpr(term) for term in coefficients.SINE)
_B0, _B1, _B2, _B3, _B4, _B5, _B6, _B7 = (tl.constexpr(term) for term in coefficients.COSINE)
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7 = (tl.constexpr(term) for term in coefficients.LOG)
_MINUS_TWO_LN2 = tl.constexpr(coefficients.MINUS_TWO_LN2)
_HALF_ROOT_BITS = tl.constexpr(coefficients.HALF_ROOT_BITS)
_TO_UNIT = tl.constexpr(coefficients.TO_UNIT)
_TWO_OVER_PI = tl.constexpr(coefficients.TWO_OVER_PI)
_FOUR_OVER_PI = tl.constexpr(coefficients.FOUR_OVER_PI)
_HALF_PI = tl.constexpr(coefficients.HALF_PI)
_HALF_PI_REST = tl.constexpr(coefficients.HALF_PI_REST)
_TO_WHOLE = tl.constexpr(coefficients.TO_WHOLE)
_COARSE = tl.constexpr(coefficients.COARSE)
_FINE = tl.constexpr(coefficients.FINE)
_PI = tl.constexpr(math.pi)


@triton.jit
def _quarter_round(a, b, c, d):
    a = a + b
    d = d ^ a
    d = (d << 16) | (d >> 16)
    c = c + d
    b = b ^ c
    b = (b << 12) | (b >> 20)
    a = a + b
    d = d ^ a
    d = (d << 8) | (d >> 24)
    c = c + d
    b = b ^ c
    b = (b << 7) | (b >> 25)
    return a, b, c, d


@triton.jit
def _double_round(x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15):
    x0, x4, x8, x12 = _quarter_round(x0, x4, x8, x12)
    x1, x5, x9, x13 = _quarter_round(x1, x5, x9, x13)
    x2, x6, x10, x14 = _quarter_round(x2, x6, x10, x14)
    x3, x7, x11, x15 = _quarter_round(x3, x7, x11, x15)
    x0, x5, x10, x15 = _quarter_round(x0, x5, x10, x15)
    x1, x6, x11, x12 = _quarter_round(x1, x6, x11, x12)
    x2, x7, x8, x13 = _quarter_round(x2, x7, x8, x13)
    x3, x4, x9, x14 = _quarter_round(x3, x4, x9, x14)
    return x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15


@triton.jit
def _key_word(keys, place):
    return tl.load(keys + place).to(tl.uint32, bitcast=True)


@triton.jit
def chacha(keys, row, first, counter, PURPOSE: tl.constexpr, KEYED: tl.constexpr, ROUNDS: tl.constexpr):
    """One block for each row and counter: `keys` points at the key, or, one a row, at the first of them.

    What does not depend on the lane stays a scalar and goes through the first rounds once for all lanes.
    """
    if KEYED:
        keys = keys + row * 8
        low = tl.zeros_like(row).to(tl.uint32)
        high = low
    else:
        number = first + row.to(tl.int64)
        low = number.to(tl.uint32)
        high = (number >> 32).to(tl.uint32)
    k0, k1, k2, k3 = _key_word(keys, 0), _key_word(keys, 1), _key_word(keys, 2), _key_word(keys, 3)
    k4, k5, k6, k7 = _key_word(keys, 4), _key_word(keys, 5), _key_word(keys, 6), _key_word(keys, 7)
    count = counter.to(tl.uint32)
    s0, s1 = tl.full((), _S0, tl.uint32), tl.full((), _S1, tl.uint32)
    s2, s3 = tl.full((), _S2, tl.uint32), tl.full((), _S3, tl.uint32)
    use = tl.full((), PURPOSE, tl.uint32)
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15 = _double_round(
        s0, s1, s2, s3, k0, k1, k2, k3, k4, k5, k6, k7, count, low, high, use
    )
    for _ in range(ROUNDS // 2 - 1):
        x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15 = _double_round(
            x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15
        )
    return (
        x0 + s0, x1 + s1, x2 + s2, x3 + s3, x4 + k0, x5 + k1, x6 + k2, x7 + k3,
        x8 + k4, x9 + k5, x10 + k6, x11 + k7, x12 + count, x13 + low, x14 + high, x15 + use,
    )  # fmt: skip


@triton.jit
def long_word(low, high):
    """Two little-endian words as one of 64 bits."""
    return (high.to(tl.uint64) << 32) | low.to(tl.uint64)


@triton.jit
def unit_interval(word):
    """Map words to (0, 1], with 63 bits."""
    return ((word & 0x7FFFFFFFFFFFFFFF) | 1).to(tl.int64).to(tl.float64) * _TO_UNIT


@triton.jit
def _mantissa(values):
    bits = values.to(tl.int64, bitcast=True)
    exponent = (bits - _HALF_ROOT_BITS) >> 52
    mantissa = (bits - (exponent << 52)).to(tl.float64, bitcast=True)
    # An exponent has few bits: from 32 of them the conversion is exact and cheap.
    return exponent.to(tl.int32).to(tl.float64), mantissa - 1.0, mantissa + 1.0


@triton.jit
def _from_ratio(exponent, s):
    z = s * s
    p = z * _L7 + _L6
    p = p * z + _L5
    p = p * z + _L4
    p = p * z + _L3
    p = p * z + _L2
    p = p * z + _L1
    p = p * z + _L0
    return exponent * _MINUS_TWO_LN2 + s * p


@triton.jit
def minus_two_log(values):
    """-2 ln(values) of positive, normal float64 numbers."""
    exponent, below, above = _mantissa(values)
    return _from_ratio(exponent, below / above)


@triton.jit
def _minus_two_logs(u0, u1, u2, u3):
    e0, a0, b0 = _mantissa(u0)
    e1, a1, b1 = _mantissa(u1)
    e2, a2, b2 = _mantissa(u2)
    e3, a3, b3 = _mantissa(u3)
    b01 = b0 * b1
    b23 = b2 * b3
    inverse = 1.0 / (b01 * b23)
    i01 = inverse * b23
    i23 = inverse * b01
    return (
        _from_ratio(e0, (a0 * b1) * i01),
        _from_ratio(e1, (a1 * b0) * i01),
        _from_ratio(e2, (a2 * b3) * i23),
        _from_ratio(e3, (a3 * b2) * i23),
    )


@triton.jit
def eighth_turn(t):
    """Cosine and sine of pi/4 t, for t in [-1, 1]."""
    z = t * t
    p = z * _B7 + _B6
    p = p * z + _B5
    p = p * z + _B4
    p = p * z + _B3
    p = p * z + _B2
    p = p * z + _B1
    p = p * z + _B0
    q = z * _A6 + _A5
    q = q * z + _A4
    q = q * z + _A3
    q = q * z + _A2
    q = q * z + _A1
    q = q * z + _A0
    return p, t * q


@triton.jit
def cosine_sine(angle):
    """Cosine and sine of angles in [0, pi]."""
    quarter = (angle * _TWO_OVER_PI + _TO_WHOLE) - _TO_WHOLE
    rest = (angle - quarter * _HALF_PI) - quarter * _HALF_PI_REST
    cos, sin = eighth_turn(rest * _FOUR_OVER_PI)
    turned_cos = tl.where(quarter == 1.0, -sin, tl.where(quarter == 2.0, -cos, cos))
    turned_sin = tl.where(quarter == 1.0, cos, tl.where(quarter == 2.0, -sin, sin))
    return turned_cos, turned_sin


@triton.jit
def _on_circle(squared, cos, sin, bits):
    length = tl.sqrt(squared)
    length = tl.where((bits & 2) != 0, -length, length)
    swap = (bits & 1) != 0
    return length * tl.where(swap, sin, cos), length * tl.where(swap, cos, sin)


@triton.jit
def _turn_of(low, high):
    return eighth_turn(long_word(low, high).to(tl.int64).to(tl.float64) * _TO_UNIT)


@triton.jit
def normal_pair(w0, w1, w2, w3):
    """Two independent standard normals from four words (Box and Muller 1958)."""
    cos, sin = _turn_of(w2, w3)
    return _on_circle(minus_two_log(unit_interval(long_word(w0, w1))), cos, sin, w2)


@triton.jit
def eight_normals(w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15):
    """The eight normals of one block of words."""
    r0, r1, r2, r3 = _minus_two_logs(
        unit_interval(long_word(w0, w1)),
        unit_interval(long_word(w4, w5)),
        unit_interval(long_word(w8, w9)),
        unit_interval(long_word(w12, w13)),
    )
    c0, s0 = _turn_of(w2, w3)
    c1, s1 = _turn_of(w6, w7)
    c2, s2 = _turn_of(w10, w11)
    c3, s3 = _turn_of(w14, w15)
    n0, n1 = _on_circle(r0, c0, s0, w2)
    n2, n3 = _on_circle(r1, c1, s1, w6)
    n4, n5 = _on_circle(r2, c2, s2, w10)
    n6, n7 = _on_circle(r3, c3, s3, w14)
    return n0, n1, n2, n3, n4, n5, n6, n7


@triton.jit
def coarse_part(term):
    """The multiple of 2^-20 nearest to a term; sums of them are exact in any order."""
    return (term + _COARSE) - _COARSE


@triton.jit
def fine_part(term):
    """What the coarse part leaves, as a multiple of 2^-60."""
    return ((term - coarse_part(term)) + _FINE) - _FINE


@triton.jit
def snap(values, magic, largest):
    """Round to the grid, cut at `largest`, and cast to float32; NaN stays NaN."""
    rounded = ((values + magic) - magic).to(tl.float32)
    rounded = tl.maximum(rounded, -largest, propagate_nan=tl.PropagateNan.ALL)
    return tl.minimum(rounded, largest, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def log_weight(angle, sine_factor, tilt, PLANE: tl.constexpr, BY_COSINE: tl.constexpr):
    """Log of the density sin^(n-2) exp(tilt) at `angle`."""
    inside = (angle > 0.0) & (angle < _PI)
    cos, sin = cosine_sine(tl.where(inside, angle, 1.0))
    weight = minus_two_log(sin) * sine_factor
    if not PLANE:
        weight = tl.where(inside, weight, float("-inf"))
    cos = tl.where(inside, cos, tl.where(angle > 1.0, -1.0, 1.0))
    if BY_COSINE:
        weight = weight + cos * tilt
    else:
        weight = weight + angle * tilt
    return weight
