"""What an attacker can do, from a certificate as JSON: for audits, the console, cards and commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.protector import Protector
from sfumato.trials.rows import percent

if TYPE_CHECKING:
    from sfumato.certificates import MissRate

CANDIDATES = 10
"""Terms that an attacker holds for possible, where nobody says how many."""
APART = 0.1
"""How far apart inputs are taken to be where a protector keeps no distances between terms."""


def certificate_or_none(
    made: Protector, candidates: int = CANDIDATES, detector: MissRate | None = None
) -> dict[str, Any] | None:
    """The certificate of one release as JSON; None where the protector keeps no distances between terms."""
    from sfumato.certificates import certificate_of

    try:
        return certificate_of(made, candidates=candidates, detector=detector).to_dict()
    except SfumatoError:
        return None


def release_words(made: Protector, dim: int | None = None) -> str:
    """What an attacker can do with one release; of plain noise, where inputs are `APART`.

    Args:
        made: what releases.
        dim: of its vectors, where it does not know.
    """
    found = certificate_or_none(made)
    return _noise_words(made, dim) if found is None else attacker_words(found)


def _noise_words(made: Protector, dim: int | None) -> str:
    from sfumato.certificates import candidate_success, trade_off

    metric = made.mechanism.guarantee.metric
    where = {"angular": f"{APART} radians", "chordal": f"{APART} (chord)"}.get(metric, str(APART))
    width = dim or made.dim or (None if made.embedder is None else made.encoder.dim)
    try:
        most = candidate_success(trade_off(made.mechanism, APART, width), CANDIDATES)
    except SfumatoError:
        most = 1.0
    if most == 1:
        return f"Nothing is certified: an attacker may tell inputs {where} apart from each other every time."
    return (
        f"An attacker who knows everything but which of {CANDIDATES} equally likely inputs it was, {where} "
        f"apart from each other, names it with probability at most {chance(most)}; by guessing, "
        f"{percent(1 / CANDIDATES)}."
    )


def miss_rate_of(texts: int, missed: int) -> MissRate | None:
    """How often a detector misses a term, from counts; None where nothing was counted."""
    from sfumato.certificates import MissRate
    from sfumato.metrics.intervals import exact_share

    if not 0 <= missed <= texts or not texts:
        return None
    return MissRate(texts, missed, exact_share("missed", missed, texts).high)


def attacker_words(certificate: Mapping[str, Any]) -> str:
    """What an attacker can do, in two or three sentences and without an epsilon."""
    success, prior = certificate["success"], certificate["prior"]
    count = round(1 / prior)
    guess = percent(prior)
    named = (
        f"{chance(success['median'])} (median pair of the terms learned from), {chance(success['p95'])} "
        f"(95th percentile pair), {chance(success['worst'])} (worst pair)"
    )
    if chance(success["median"]) == "100 %":
        named = "100 % already for the median pair of the terms learned from: nothing is certified"
    if certificate["pairs"]["worst"]["distance"] is None:
        who = f"An attacker who {certificate['attacker']}, with {count} equally likely terms,"
        return f"{who} names it with probability at most {chance(success['worst'])}; by guessing, {guess}."
    who = f"An attacker who knows everything but the term, with {count} equally likely terms,"
    if not certificate.get("where_found"):
        return f"{who} names it with probability at most {named}; by guessing, {guess}."
    said = (
        f"{who} names it with probability at most {guess}, which is guessing, where the detector finds the "
        f"term: the vector is the same whatever the term. Where the detector misses it, at most {named}."
    )
    if over := certificate.get("over_all_texts"):
        missed = chance(certificate["detector"]["upper"])
        said += f" Over all texts, of which it misses up to {missed}, at most {chance(over['worst'])}."
    return said


def beyond_words(certificate: Mapping[str, Any], least: float) -> str:
    """A warning where an attacker surely got more than the worst pair allows; empty where he did not.

    Args:
        certificate: as JSON.
        least: the lower end of the exact interval of what the informed attacker got.
    """
    if least <= certificate["success"]["worst"]:
        return ""
    return (
        "That is more than what is certified for the worst pair: the candidates lie further apart than the "
        "terms learned from, or something is wrong."
    )


def certified_figures(certificate: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The same as a few figures: what of, at most how often, and what that is to be compared with."""
    success, prior = certificate["success"], percent(certificate["prior"])
    pairs = f"median pair; 95th percentile {chance(success['p95'])}, worst {chance(success['worst'])}"
    if not certificate.get("where_found"):
        return [("Certified", chance(success["median"]), f"at most, for the {pairs}; guessing, {prior}")]
    return [
        ("Certified, term found", prior, "at most: the vector is the same whatever the term"),
        ("Certified, term missed", chance(success["median"]), f"at most, for the {pairs}"),
    ]


def chance(value: float) -> str:
    """A bound on a probability in percent, rounded up: what is shown is never under what is certified."""
    if value >= 1.0:
        return "100 %"
    digits = 1 if value < 0.0995 else 0
    scale = 10**digits
    # A hair's breadth down first: 0.1 is 10 %, and not 11 because of its last bit.
    tenths = -(-(100 * value - 1e-9) * scale // 1)
    return f"{tenths / scale:.{digits}f} %"
