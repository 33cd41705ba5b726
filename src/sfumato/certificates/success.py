"""What an attacker can do with a release, from its trade-off curve T.

All of these hold for the best attacker there is, with any computation, who knows the mechanism, its
parameters and everything about the input but which candidate it is. They are taken at the unkind end of the
curve's band.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.certificates.tradeoff import TradeOff
from sfumato.numbers import finite_number, whole_number

MOST_CANDIDATES = 10**9


def binary_success(curve: TradeOff, prior: float = 0.5) -> float:
    """How often an attacker is right who must say which of two inputs it was, the first with this prior.

    1 - min over alpha of prior alpha + (1 - prior) T(alpha): the Bayes risk of the two. The least is where T
    has slope -prior/(1 - prior); two tangents around that point bound it from below.
    """
    p = finite_number(prior, "prior", 0.0, 1.0)
    if p in (0.0, 1.0):
        return 1.0
    wanted = math.log((1 - p) / p)
    after = int(np.searchsorted(curve.losses, wanted))
    if after in (0, len(curve.losses)) and wanted != curve.losses[0]:
        # Beyond the last threshold the best test is next to none: the tangent there at either end.
        ends = curve.beta(np.array([0.0, 1.0]))
        return min(1.0, max(1 - (1 - p) * float(ends[0]), 1 - p - (1 - p) * float(ends[1])))
    pair = [max(after - 1, 0), after]
    slopes = np.exp(-curve.losses[pair])
    aim = p / (1 - p)
    gap = float(slopes[0] - slopes[1])
    share = (aim - float(slopes[1])) / gap if gap > 0 else 1.0
    heights = curve.low[::-1][pair] + slopes * curve.low[pair]  # of the tangents, at alpha = 0
    risk = (1 - p) * float(share * heights[0] + (1 - share) * heights[1])
    return min(1.0, max(1 - risk, p, 1 - p))


def success_from(curve: TradeOff, baseline: float) -> float:
    """Most that a success of `baseline` without the release can become with it: 1 - T(baseline).

    One form for re-identification, attribute inference and reconstruction alike (Kulynych et al., arXiv
    2507.06969; for reconstruction Kaissis et al., arXiv 2307.03928): the baseline is the best chance of any
    guess made without looking, whatever counts as a success. The curve must be that of the widest pair.
    """
    chance = finite_number(baseline, "baseline", 0.0, 1.0)
    return 1 - float(curve.beta(chance)[0])


def candidate_success(curve: TradeOff, candidates: int) -> float:
    """Most often that an attacker names the right one of k equally likely candidates.

    No candidate may be further from one of them, say the first, than the curve's distance. With Q the law of
    the first and E_i the releases for which candidate i is named, the success is (1/k) (Q(E_1) + the sum over
    the others of P_i(E_i)), and P_i(E_i) <= 1 - T(Q(E_i)), which is concave: it is at most
    1/k + (k - 1)/k max over x <= 1/(k - 1) of 1 - x - T(x). Tight for k = 2; never above 1 - T(1/k), the
    bound of `success_from`.
    """
    k = whole_number(candidates, "candidates", 1, MOST_CANDIDATES)
    if k == 1:
        return 1.0
    most = 1 / (k - 1)
    middle = len(curve.losses) // 2
    if float(curve.low[middle]) <= most:
        gain = curve.worst_total_variation
    else:
        gain = 1 - most - float(curve.beta(most)[0])
    return min(1.0, 1 / k + (k - 1) / k * max(gain, 0.0))


def leaked_bits(curve: TradeOff, candidates: int) -> float:
    """Min-entropy leakage: log2 of how many times likelier one of k candidates is named (Smith 2009)."""
    return math.log2(candidate_success(curve, candidates) * candidates)


def bayes_security(curve: TradeOff) -> float:
    """1 - total variation of the worst pair: the attacker's risk over that of chance (arXiv 2011.03396).

    It does not depend on the prior: two equally likely inputs are the worst case.
    """
    return 1 - curve.worst_total_variation
