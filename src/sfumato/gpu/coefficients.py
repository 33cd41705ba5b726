"""Constants of the samplers that both backends evaluate, operation by operation, in the same order.

The polynomials are minimax fits (Remez, 60 digits) whose error is below 4e-17 of their leading term. Neither
backend calls a library's logarithm or sine: those differ in the last bit between processors.
"""

from __future__ import annotations

import math

NOISE_VERSION = 1
"""Raised whenever the same key would give other noise on a device."""

# ChaCha20, RFC 8439, section 2.3: "expand 32-byte k".
SIGMA = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
ROUNDS = 20

# What a keystream is for: the last word of the nonce, so that no two uses of a key share a block.
NORMALS, GAMMA, FACTORS, ANGLE, RADIUS = range(5)

NORMALS_PER_BLOCK = 8
MOST_ROUNDS = 1000
"""A row that a sampler rejects this often becomes NaN: a bug must neither hang nor release anything."""

# sin(pi/4 t)/t and cos(pi/4 t) as polynomials in t^2, for t in [-1, 1].
SINE = (
    0.7853981633974483,
    -0.08074551218828054,
    0.002490394570188846,
    -3.657620415892392e-05,
    3.133616225627193e-07,
    -1.7571500919225769e-09,
    6.8773663144363984e-12,
)
COSINE = (
    1.0,
    -0.30842513753404244,
    0.01585434424381542,
    -0.0003259918869267379,
    3.590860446028774e-06,
    -2.4611364034857796e-08,
    1.1500512115865309e-10,
    -3.858191511496696e-13,
)
# -4 atanh(s)/s as a polynomial in s^2, for |s| up to 3 - 2 sqrt(2).
LOG = (
    -4.0,
    -1.3333333333333532,
    -0.7999999999858504,
    -0.5714285752547996,
    -0.444443936874027,
    -0.3636728551927307,
    -0.30624485867947027,
    -0.29625179897981657,
)
MINUS_TWO_LN2 = -2.0 * math.log(2.0)
HALF_ROOT_BITS = 0x3FE6A09E00000000
"""The float64 just below sqrt(1/2): mantissas are taken between it and twice it."""

TO_UNIT = 2.0**-63

TWO_OVER_PI = 2.0 / math.pi
FOUR_OVER_PI = 4.0 / math.pi
HALF_PI = math.pi / 2
HALF_PI_REST = 6.123233995736766e-17
"""What float64 leaves off pi/2."""

TO_WHOLE = 1.5 * 2.0**52
"""Added and taken away again, it rounds to whole numbers, ties to even, and never leaves a negative zero.

Times a power of two, it rounds to multiples of that: the grid, without a division."""

# Sums of which no partial sum rounds, so that their order does not matter: multiples of 2^-20, then 2^-60.
COARSE = 1.5 * 2.0**32
FINE = 1.5 * 2.0**-8

TINY = 2.0**-1022
