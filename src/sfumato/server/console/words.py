"""A tenant's promise and ledger in plain words, for the console."""

from __future__ import annotations

import math
from typing import Any

from sfumato.certifying import attacker_words, certificate_or_none, certified_figures, release_words
from sfumato.protector import Protector
from sfumato.server.tenancy.tenants import Tenant

_DISTANCES = {
    "l2": "distance between two texts' vectors",
    "mahalanobis": "distance between two texts' vectors, in which the concept's directions count most",
    "angular": "angle between two texts' vectors",
    "chordal": "straight-line distance between two texts' directions",
    "chordal+radius": "straight-line distance between two directions, and difference in length",
}


def certificate(protector: Protector) -> dict[str, Any]:
    """What an attacker can do: in words, in a few figures, and under which conditions."""
    found = certificate_or_none(protector)
    if found is None:
        return {"words": _unbroken(release_words(protector)), "cards": [], "conditions": []}
    return {
        "words": _unbroken(attacker_words(found)),
        "cards": [[_unbroken(each) for each in card] for card in certified_figures(found)],
        "conditions": found["conditions"],
    }


def _unbroken(words: str) -> str:
    """Keep a number and its percent sign on one line."""
    return words.replace(" %", "\u00a0%")


def promise(protector: Protector) -> str:
    """What one release promises, for somebody who has never heard of epsilon."""
    found = protector.guarantee
    if not found.is_private:
        return (
            "Nothing is promised: there is no differential privacy proof for all that leaves here. It may "
            "still hide something; only an audit can say how much."
        )
    if found.metric == "bounded":
        said = (
            f"From one released vector nobody can tell any two texts apart by more than a factor of "
            f"{_factor(found.epsilon)} in the odds (epsilon {found.epsilon:.4g}"
            + (f", but for a chance of {found.delta:.2g})." if found.delta else ").")
        )
    else:
        said = (
            "The closer two texts are in meaning, the harder a released vector makes it to tell which of "
            "them it came from: the odds move by at most a factor of e to the power of "
            f"{found.epsilon:.4g} times the {_DISTANCES[found.metric]}. Texts that are far apart may "
            "still be told apart."
        )
    return said + _conditions(protector)


def _conditions(protector: Protector) -> str:
    """What the promise rests on, in the same breath."""
    said = ""
    if protector.concepts and protector.neutral:
        said += (
            " Where a concept is found, the vectors are those of the neutral texts; a term that is not found "
            "has this promise and nothing else."
        )
    if protector.guarantee.proof == "conditional":
        said += " It holds under the conditions listed below."
    return said


def facts(tenant: Tenant) -> list[tuple[str, str]]:
    """Names and values that go with the promise."""
    protector, dim = tenant.protector, tenant.protector.encoder.dim
    found = protector.guarantee
    hidden = ", ".join(concept.name for concept in protector.concepts) or "no concept in particular"
    rows = [
        ("mechanism", found.mechanism),
        ("hides", hidden),
        ("noise ratio", f"{protector.mechanism.noise_ratio(dim):.3g} times a vector's length"),
        ("proof", found.proof),
        ("encoder", protector.encoder.name),
        ("dimensions", str(tenant.dim)),
        (
            "worst case",
            "none" if math.isinf(found.worst_case_l2) else f"{found.worst_case_l2:.4g} per unit of length",
        ),
        (
            "epsilon",
            "none" if math.isinf(found.epsilon) else f"{found.epsilon:.4g}, counted in {found.metric}",
        ),
    ]
    return rows


def ledger(tenant: Tenant) -> dict[str, Any]:
    """What a tenant may know of its ledger: how much was asked for, roughly.

    Nothing here depends on whether a text was released before: who holds a key must not be able to ask that
    by watching what is charged. The exact figures are in the ledger itself.
    """
    calls: dict[tuple[str, str, str], list[int]] = {}
    for row in tenant.ledger.summary()["spends"]:
        noise = "fresh" if row["key_id"] == "fresh" else "sticky"
        added = calls.setdefault((noise, row["mechanism"], row["metric"].partition(":")[0]), [0, 0])
        added[0] += row["calls"]
        added[1] += row["rows"]
    return {
        "ceiling": tenant.ledger.ceiling,
        "ceiling_advantage": tenant.ledger.ceiling_advantage,
        "calls": [
            {
                "noise": noise,
                "mechanism": mechanism,
                "metric": metric,
                "calls": _about(n),
                "texts": _about(rows),
            }
            for (noise, mechanism, metric), (n, rows) in calls.items()
        ],
    }


def _about(count: int) -> str:
    """A count to the power of ten."""
    power = len(str(max(count, 1)))
    return f"under {10**power:,}" if power == 1 else f"{10 ** (power - 1):,} to {10**power:,}"


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 50 else f"e to the power of {epsilon:.4g}"
