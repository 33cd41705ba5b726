"""Several concepts in one release: one mask made of many, and what it still promises each of them.

A release through `Mahalanobis(epsilon=e, shape=combined)` promises e per unit of the *combined* metric. Seen
in the metric of one concept's own mask, the same release promises e * max_i sqrt(own_i/combined_i), where own
and combined are the variances of the noise. `epsilon_for` turns this round: the largest epsilon that keeps
what every concept was promised alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from sfumato.errors import ParameterError
from sfumato.numbers import finite_number
from sfumato.sensitivity.mask import DELTA, Mask
from sfumato.types import Floats

Rule = Literal["max", "sum", "budgets"]
"""How masks are combined; see `combine_masks`."""


def combine_masks(
    masks: Sequence[Mask],
    rule: Rule = "max",
    *,
    weights: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    name: str = "",
) -> Mask:
    """Combine the masks of several concepts into one for a single release.

    Args:
        masks: at least one, all of one dimension.
        rule: "max" opens a dimension as far as the concept that needs it most, scores first scaled to a
            largest of 1; no promise to a single concept is built in. "sum" shares the noise out: variances
            are averaged by `weights`, and a concept of weight w is promised epsilon/sqrt(w) in its own
            metric. "budgets" gives every concept its own epsilon: each dimension gets the largest variance
            that any concept's own release would give it, the least noise of this form that keeps all
            promises; `epsilon_for` is the epsilon to use.
        weights: for "sum", one a mask, equal if left out; their scale does not matter.
        epsilons: for "budgets", one a mask: what each concept would be given alone.
        name: of the result; the names of the masks joined by "+" if left out.
    """
    variances = _variances(masks)
    if rule not in get_args(Rule):
        raise ParameterError(f"`rule` must be one of {', '.join(get_args(Rule))}. Found {rule!r:.40}.")
    if (weights is not None and rule != "sum") or (epsilons is not None and rule != "budgets"):
        raise ParameterError("`weights` belong to the rule sum and `epsilons` to the rule budgets.")
    if rule == "max":
        scores = np.max([mask.scores / mask.scores.max() for mask in masks], axis=0)
    elif rule == "sum":
        shares = _numbers(np.ones(len(masks)) if weights is None else weights, "weights", len(masks))
        scores = _scores(np.average(variances, axis=0, weights=shares))
    else:
        if epsilons is None:
            raise ParameterError("The rule budgets needs `epsilons`, one a mask. Found none.")
        budgets = _numbers(epsilons, "epsilons", len(masks))
        scores = _scores((variances / budgets[:, None] ** 2).max(axis=0))
    joined = "+".join(mask.name for mask in masks if mask.name)
    return Mask(scores, source=_source(masks), name=name or joined)


def epsilon_for(combined: Mask, masks: Sequence[Mask], epsilons: Sequence[float]) -> float:
    """Return the largest epsilon at which a release through `combined` keeps each mask's own epsilon.

    Along axis i a unit of a mask's own metric is sqrt(own_i/combined_i) units of the combined one, and no
    direction costs more than the worst axis.
    """
    own = _variances([combined, *masks])
    budgets = _numbers(epsilons, "epsilons", len(masks))
    stretch = np.sqrt((own[1:] / own[0]).max(axis=1))
    return float((budgets / stretch).min())


def _scores(variances: Floats) -> Floats:
    """Return scores that a mask turns into these variances, scaled to trace n: it adds delta once more."""
    return np.asarray(np.maximum(variances / variances.mean() - DELTA, 0.0))


def _variances(masks: Sequence[Mask]) -> Floats:
    if not masks or len({mask.dim for mask in masks}) != 1:
        found = ", ".join(str(mask.dim) for mask in masks) or "no mask"
        raise ParameterError(f"Masks must be at least one, all of one dimension. Found {found}.")
    return np.stack([mask.variances() for mask in masks])


def _numbers(values: Sequence[float] | Floats, name: str, count: int) -> Floats:
    if len(values) != count:
        raise ParameterError(f"`{name}` must hold one number a mask. Found {len(values)} for {count} masks.")
    return np.array([finite_number(value, name, math.ulp(0.0), 1e12) for value in values])


def _source(masks: Sequence[Mask]) -> str:
    """The least harmless of the sources: what one mask gives away, the combined one gives away as well."""
    sources = {mask.source for mask in masks}
    if len(sources) == 1:
        return sources.pop()
    if "private" in sources:
        return "private"
    return "public" if sources <= {"public", "synthetic"} else "unknown"
