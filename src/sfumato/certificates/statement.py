"""A certificate: what an attacker who lacks one term can do with a release, over the terms learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.certificates.success import candidate_success, leaked_bits
from sfumato.certificates.tradeoff import TOLD_APART, trade_off
from sfumato.errors import ParameterError
from sfumato.mechanisms.base import Mechanism
from sfumato.numbers import whole_number

ATTACKER = "knows the mechanism and everything about the text but the term, and computes whatever he likes"
PAIRS = {"median": "median", "p95": "p95", "worst": "max"}
"""The pairs a certificate speaks of, and what a protector's record calls their distances."""


@dataclass(frozen=True, slots=True)
class PairFigures:
    """What he can do where no candidate is further from one of them than this."""

    distance: float
    total_variation: float
    success: float
    bits: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """The most that one release gives away about which of some equally likely terms was in the text."""

    candidates: int
    pairs: Mapping[str, PairFigures]
    conditions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON: total variation and bits are those of the worst pair, `pairs` holds all."""
        worst = self.pairs["worst"]
        return {
            "attacker": ATTACKER,
            "prior": 1 / self.candidates,
            "candidates": self.candidates,
            "success": {name: figures.success for name, figures in self.pairs.items()},
            "total_variation": worst.total_variation,
            "bits": worst.bits,
            "pairs": {
                name: {
                    "distance": each.distance,
                    "total_variation": each.total_variation,
                    "success": each.success,
                    "bits": each.bits,
                }
                for name, each in self.pairs.items()
            },
            "conditions": list(self.conditions),
        }

    def paragraph(self) -> str:
        """The same in two sentences."""
        median, p95, worst = (self.pairs[name] for name in PAIRS)
        return (
            f"An attacker who {ATTACKER}, names the right one of {self.candidates} equally likely terms in "
            f"at most {median.success:.1%} of releases where these lie no further apart than the median pair "
            f"of terms learned from, {p95.success:.1%} where no further than the 95th percentile, and "
            f"{worst.success:.1%} where no further than the worst pair found; guessing, "
            f"{1 / self.candidates:.1%}. Between two terms his advantage over a coin is at most "
            f"{median.total_variation:.3f}, {p95.total_variation:.3f} and {worst.total_variation:.3f}."
        )


def certify(
    mechanism: Mechanism,
    distances: Mapping[str, float],
    *,
    candidates: int = 10,
    dim: int | None = None,
    noiseless: bool = False,
    conditions: tuple[str, ...] = (),
) -> Certificate:
    """Make the certificate of one release.

    Args:
        mechanism: the noise.
        distances: between two terms in the mechanism's metric: median, p95 and max.
        candidates: how many equally likely terms there are.
        dim: of the vectors, where the mechanism fixes none.
        noiseless: whether a term may leave without noise; then nothing is certified.
        conditions: what else has to hold.
    """
    whole_number(candidates, "candidates", 2, 10**9)
    if not isinstance(distances, Mapping) or not set(PAIRS.values()) <= set(distances):
        raise ParameterError("`distances` must hold median, p95 and max. Found other keys. Learn again.")
    made = {}
    for name, key in PAIRS.items():
        exact = trade_off(mechanism, distances[key], dim)
        curve = TOLD_APART if noiseless else exact
        made[name] = PairFigures(
            float(distances[key]),
            curve.worst_total_variation,
            candidate_success(curve, candidates),
            leaked_bits(curve, candidates),
        )
    return Certificate(candidates, made, conditions)
