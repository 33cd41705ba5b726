"""A certificate: the most that an attacker can do with what he is shown, in his terms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.certificates.detection import MissRate
from sfumato.certificates.measuring import InformedTrials
from sfumato.certificates.success import candidate_success, leaked_bits, success_from
from sfumato.certificates.tradeoff import TOLD_APART, TradeOff, trade_off
from sfumato.errors import ParameterError
from sfumato.mechanisms.base import Mechanism
from sfumato.numbers import finite_number, whole_number

ATTACKER = "knows the mechanism and everything about the text but the term, and computes whatever he likes"
PAIRS = {"median": "median", "p95": "p95", "worst": "max"}
"""The pairs a certificate speaks of, and what a protector's record calls their distances."""
ANY_GUESS = 0.01
"""Chance of a guess at anything (whose text, an attribute, the words), where nobody says another."""


@dataclass(frozen=True, slots=True)
class PairFigures:
    """What he can do where no candidate is further from one of them than this."""

    distance: float | None
    """None where what he is shown does not depend on one."""
    total_variation: float
    success: float
    bits: float
    any_guess: float
    """At most this becomes a guess at anything that had the certificate's `guess` of a chance."""
    mu: float | None = None
    """Of the Gaussian curve that the exact one comes close to; None where there is no noise with a law."""
    asymptotic: float | None = None
    """The total variation of that curve: a picture beside the exact one, no bound."""

    @property
    def bayes_security(self) -> float:
        """At least this is his risk over that of chance, whatever the prior (arXiv 2011.03396)."""
        return 1 - self.total_variation

    def to_dict(self) -> dict[str, float | None]:
        """Ready for JSON."""
        return {
            "distance": self.distance,
            "total_variation": self.total_variation,
            "asymptotic": self.asymptotic,
            "mu": self.mu,
            "bayes_security": self.bayes_security,
            "success": self.success,
            "bits": self.bits,
            "any_guess": self.any_guess,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The most that is given away about which of some equally likely terms was in a text."""

    candidates: int
    guess: float = ANY_GUESS
    """Chance without a release of the guess at anything that `any_guess` of the pairs is about."""
    pairs: Mapping[str, PairFigures]
    """By the names in `PAIRS`."""
    conditions: tuple[str, ...] = ()
    """What has to hold for it."""
    attacker: str = ATTACKER
    sees: str = "one released vector"
    """What the attacker is shown."""
    found: bool = False
    """Whether a term that the detector finds never enters the vector; the pairs are then of missed ones."""
    detector: MissRate | None = None
    """How often a term is missed, where a labelled sample was given."""
    measured: InformedTrials | None = None
    """What the informed attacker got, where he was asked."""
    curves: Mapping[str, TradeOff] = field(default_factory=dict)
    """Of the noise between two terms of each pair; empty where there is none."""
    epsilon: str = ""
    """The nominal promise, to be shown last."""

    @property
    def prior(self) -> float:
        """His chance without a release."""
        return 1 / self.candidates

    def over_all_texts(self) -> dict[str, float] | None:
        """His success over found and missed texts together; None where nobody knows how many are missed.

        A text whose term is found looks the same whatever the term, so that only candidates which would be
        missed can gain: with p_0 the law of the neutral text and p_j that of a missed one, the success among
        k is the integral of max(p_0, max p_j) over k, at most 1/k + (share missed) x (total variation).
        """
        if self.detector is None or not self.found:
            return None
        missed = self.detector.upper
        return {
            name: min(each.success, self.prior + missed * each.total_variation)
            for name, each in self.pairs.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """As JSON: total variation, bits and Bayes security are of the worst pair, `pairs` holds all."""
        worst = self.pairs["worst"]
        return {
            "attacker": self.attacker,
            "sees": self.sees,
            "prior": self.prior,
            "candidates": self.candidates,
            "success": {name: figures.success for name, figures in self.pairs.items()},
            "total_variation": worst.total_variation,
            "bits": worst.bits,
            "bayes_security": worst.bayes_security,
            "any_guess": {
                "prior": self.guess,
                "success": {name: figures.any_guess for name, figures in self.pairs.items()},
            },
            "pairs": {name: each.to_dict() for name, each in self.pairs.items()},
            "where_found": {"success": self.prior, "total_variation": 0.0} if self.found else None,
            "detector": None if self.detector is None else self.detector.to_dict(),
            "over_all_texts": self.over_all_texts(),
            "measured": None if self.measured is None else self.measured.to_dict(),
            "conditions": list(self.conditions),
            "epsilon": self.epsilon or None,
        }


def certify(
    mechanism: Mechanism,
    distances: Mapping[str, float],
    *,
    candidates: int = 10,
    guess: float = ANY_GUESS,
    dim: int | None = None,
    noiseless: bool = False,
    conditions: tuple[str, ...] = (),
) -> Certificate:
    """Make the certificate of one release.

    Args:
        mechanism: the noise.
        distances: between two terms in the mechanism's metric: median, p95 and max.
        candidates: how many equally likely terms there are.
        guess: chance, without a release, of a guess at anything else.
        dim: of the vectors, where the mechanism fixes none.
        noiseless: whether a term may leave without noise; then nothing is certified.
        conditions: what else has to hold.
    """
    whole_number(candidates, "candidates", 2, 10**9)
    chance = finite_number(guess, "guess", 0.0, 1.0)
    if not isinstance(distances, Mapping) or not set(PAIRS.values()) <= set(distances):
        raise ParameterError("`distances` must hold median, p95 and max. Found other keys. Learn again.")
    made, curves = {}, {}
    for name, key in PAIRS.items():
        exact = trade_off(mechanism, distances[key], dim)
        curve = curves[name] = TOLD_APART if noiseless else exact
        made[name] = PairFigures(
            float(distances[key]),
            curve.worst_total_variation,
            candidate_success(curve, candidates),
            leaked_bits(curve, candidates),
            success_from(curve, chance),
            curve.mu if math.isfinite(curve.mu) else None,
            curve.gaussian_total_variation if math.isfinite(curve.mu) else None,
        )
    return Certificate(candidates=candidates, guess=chance, pairs=made, conditions=conditions, curves=curves)
