"""Vectorised float64 samplers over random words: normals, uniforms, exponentials and gammas.

Every sampler reads a fixed number of words a row, and draws more only for the few rows it rejects, so the
noise of a row with its own key never depends on the rows around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.errors import RandomnessError
from sfumato.randomness import Draws, Words
from sfumato.types import Floats

_TO_UNIT = 2.0**-63
_MOST_ROUNDS = 1000


def unit_interval(words: Words) -> Floats:
    """Map words to (0, 1]; small values keep full relative precision, so tails are not cut short."""
    # 63 bits, because a signed conversion is vectorised on more processors than an unsigned one.
    odd = np.right_shift(words, np.uint64(1))
    odd |= np.uint64(1)
    return np.multiply(odd.view(np.int64), _TO_UNIT)


def _box_muller(radius: Words, angle: Words, cos: Floats, sin: Floats, scratch: Floats) -> None:
    """Fill `cos` and `sin` with independent standard normals (Box and Muller 1958).

    The angle enters through t = tan(theta / 2): cos = (1 - t^2)/(1 + t^2), sin = 2t/(1 + t^2). One tangent is
    vectorised on more processors than a sine and a cosine, and costs less than half.
    """
    np.right_shift(radius, np.uint64(1), out=radius)
    np.bitwise_or(radius, np.uint64(1), out=radius)
    length = np.multiply(radius.view(np.int64), _TO_UNIT, out=scratch)
    np.log(length, out=length)
    length *= -2.0
    np.sqrt(length, out=length)
    tangent = np.multiply(angle.view(np.int64), math.pi / 2 * _TO_UNIT, out=sin)
    np.tan(tangent, out=tangent)
    share = np.multiply(tangent, tangent, out=cos)
    share += 1.0
    np.divide(length, share, out=share)
    share += share
    np.multiply(share, tangent, out=sin)
    np.subtract(share, length, out=cos)


def normals(draws: Draws, dim: int, buffer: str = "normals") -> Floats:
    """Draw a `(rows, dim)` array of independent standard normals, valid until `buffer` is used again."""
    even = dim + dim % 2
    words = draws.words(even)
    out = draws.space.take(buffer, words.shape)
    if draws.flat:
        words, halves = words.reshape(-1), out.reshape(-1)
        half = words.size // 2
        _box_muller(
            words[:half], words[half:], halves[:half], halves[half:], draws.space.take("scratch", (half,))
        )
    else:
        half = even // 2
        scratch = draws.space.take("scratch", (len(words), half))
        _box_muller(words[:, :half], words[:, half:], out[:, :half], out[:, half:], scratch)
    return out[:, :dim]


def uniforms(draws: Draws, rows: list[int] | None = None) -> Floats:
    """Draw one number in (0, 1] for each row."""
    return unit_interval(draws.words(1, rows)[:, 0])


def exponentials(draws: Draws, dim: int) -> Floats:
    """Draw a `(rows, dim)` array of standard exponentials."""
    out = unit_interval(draws.words(dim))
    np.log(out, out=out)
    return np.negative(out, out=out)


def rejection_rounds(rows: int) -> Iterator[int]:
    """Count the rounds of a rejection sampler; one that does not end is a bug and must not hang a release."""
    yield from range(_MOST_ROUNDS if rows else 0)
    if rows:
        raise RandomnessError(
            f"A sampler rejected {_MOST_ROUNDS} times in a row. Please report this as a bug."
        )


def gammas(draws: Draws, shape: float) -> Floats:
    """Draw one Gamma(shape, 1) number for each row (Marsaglia and Tsang 2000; shape at least 1)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    out = np.empty(draws.rows)
    open_rows = np.arange(draws.rows)
    for _ in rejection_rounds(open_rows.size):
        words = draws.words(3, None if open_rows.size == draws.rows else open_rows.tolist())
        x, unused, scratch = np.empty((3, open_rows.size))
        _box_muller(words[:, 0], words[:, 1], x, unused, scratch)
        v = (1.0 + c * x) ** 3
        positive = np.maximum(v, np.finfo(np.float64).tiny)
        log_u = np.log(unit_interval(words[:, 2]))
        accepted = (v > 0) & (log_u < 0.5 * x * x + d - d * v + d * np.log(positive))
        out[open_rows[accepted]] = d * v[accepted]
        open_rows = open_rows[~accepted]
        if not open_rows.size:
            break
    return out
