"""The certificate of a sealed row: what a thief of the store gains over what he has after everything else."""

from __future__ import annotations

import math

from sfumato.certificates.statement import ANY_GUESS, PAIRS, Certificate, PairFigures
from sfumato.numbers import finite_number, whole_number

THIEF = "holds a copy of the store, and knows everything about a row but the term in it and the key"
_COMPUTES = (
    "computational: AES-256-GCM and HMAC-SHA256 are taken for what they are meant to be, for an attacker who "
    "cannot try all keys"
)
_AT_REST = "for one copy of the store; who watches queries or takes several copies sees more"


def shown_nothing(
    sees: str, *, candidates: int = 10, guess: float = ANY_GUESS, conditions: tuple[str, ...] = ()
) -> Certificate:
    """Of rows that a simulator makes as well from what he has anyway: counts and sizes."""
    chance = finite_number(guess, "guess", 0.0, 1.0)
    same = PairFigures(None, 0.0, 1 / whole_number(candidates, "candidates", 2, 10**9), 0.0, chance)
    return _certificate(
        candidates,
        chance,
        same,
        sees,
        (
            "a simulator that is given the number of records of each size makes the same store, for rows "
            "that were written in one call",
            "relative to what he has after everything else: counts and sizes alone may tell him something",
            *conditions,
        ),
    )


def shown_code(
    sees: str,
    bits: int,
    *,
    candidates: int = 10,
    guess: float = ANY_GUESS,
    conditions: tuple[str, ...] = (),
) -> Certificate:
    """Of rows with a code of N = 2^bits values: whatever had a chance p has at most N p, where p < 1/N.

    A view that takes N values raises the best expected gain at most N times: the sum over views of the
    largest joint probability is at most N times the largest prior (min-entropy leakage; Smith 2009).
    """
    k = whole_number(candidates, "candidates", 2, 10**9)
    width = whole_number(bits, "bits", 1, 1 << 20)
    leaked = min(float(width), math.log2(k))
    success = 2.0**leaked / k
    chance = finite_number(guess, "guess", 0.0, 1.0)
    raised = min(1.0, chance * 2.0 ** min(width, 1000))
    return _certificate(
        k,
        chance,
        PairFigures(None, 1.0, min(1.0, success), leaked, raised),
        sees,
        (
            f"a row shows {width} bits: a guess that was right with probability p is right with at most "
            f"2^{width} p, where p < 2^-{width}, relative to what he has after everything else",
            "for one row; the factors of rows that hang together, and of changes, multiply",
            "two terms may have codes that tell them apart: the total variation of the worst pair is 1",
            *conditions,
        ),
    )


def shown_geometry(
    sees: str, *, candidates: int = 10, guess: float = ANY_GUESS, conditions: tuple[str, ...] = ()
) -> Certificate:
    """Of rows that show what nobody bounds, such as which of them lie near: nothing is certified."""
    k = whole_number(candidates, "candidates", 2, 10**9)
    chance = finite_number(guess, "guess", 0.0, 1.0)
    return _certificate(k, chance, PairFigures(None, 1.0, 1.0, math.log2(k), 1.0), sees, conditions)


def _certificate(
    candidates: int, guess: float, figures: PairFigures, sees: str, conditions: tuple[str, ...]
) -> Certificate:
    return Certificate(
        candidates=candidates,
        guess=guess,
        pairs=dict.fromkeys(PAIRS, figures),
        conditions=(*conditions, _COMPUTES, _AT_REST),
        attacker=THIEF,
        sees=sees,
    )
