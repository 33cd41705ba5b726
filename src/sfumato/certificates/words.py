"""A certificate in sentences, for people who read no curve."""

from __future__ import annotations

import math

from sfumato.certificates.detection import CONFIDENCE
from sfumato.certificates.statement import Certificate

NAMES = {"median": "a median pair", "p95": "95 of 100 pairs", "worst": "the worst pair seen"}
"""The pairs of terms, in the words of sentences and pictures."""
SHORT = {"median": "median", "p95": "95 of 100", "worst": "worst seen"}
"""And of tables."""


def at_most(share: float) -> str:
    """A bound in percent, rounded up: what is shown is never under what is certified."""
    # A hair's breadth down first: 0.1 is 10.0 %, and not more because of its last bit.
    return f"{math.ceil(1000 * share - 1e-9) / 10:.1f}%"


def over_coin(advantage: float) -> str:
    """The same of a total variation."""
    return f"{math.ceil(1000 * advantage - 1e-9) / 1000:.3f}"


def at_least(advantage: float) -> str:
    """What is left of 1, rounded down: what is shown is never over what is certified."""
    return f"{math.floor(1000 * (1 - advantage) + 1e-9) / 1000:.3f}"


def paragraphs(found: Certificate) -> list[str]:
    """What an attacker can do: where a term is found, where it is missed, and over all texts."""
    if found.pairs["worst"].distance is None:
        return [_of_store(found)]
    said = []
    if found.found:
        said.append(
            "Where the detector finds the term, the vector is the same whatever the term was: an attacker "
            f"learns nothing about it and names the right one of {found.candidates} equally likely terms in "
            f"{found.prior:.1%} of cases, as he would without the vector."
        )
    said += [_of_noise(found), *_of_anything(found)]
    over = found.over_all_texts()
    if found.detector is not None and over is not None:
        rate = found.detector
        said.append(
            f"The detector missed a term in {rate.missed} of {rate.texts} labelled texts, so in at most "
            f"{at_most(rate.upper)} of texts like those ({CONFIDENCE:.1%} confidence). Over found and missed "
            f"texts together he names the term in at most {_three(over)}."
        )
    return said


def _of_noise(found: Certificate) -> str:
    success = {name: each.success for name, each in found.pairs.items()}
    if all(each.success == 1 for each in found.pairs.values()):
        bound = "nothing is certified: he may name the term every time"
    else:
        bound = (
            f"he names the right one of {found.candidates} equally likely terms in at most {_three(success)}"
            f"; guessing, in {found.prior:.1%}"
        )
    apart = [over_coin(each.total_variation) for each in found.pairs.values()]
    same = len(set(apart)) == 1
    told = apart[0] if same else f"{apart[0]}, {apart[1]} and {apart[2]}"
    where = "Where it misses the term, take" if found.found else "Take"
    left = at_least(found.pairs["worst"].total_variation)
    return (
        f"{where} an attacker who {found.attacker}: {bound}. Between two terms he is at most {told} better "
        f"than a coin (0 is a coin, 1 is always right); Bayes security is {left}, by the worst pair."
    )


def _of_anything(found: Certificate) -> list[str]:
    """Any other success: re-identification, an attribute, the words themselves."""
    raised = {name: each.any_guess for name, each in found.pairs.items()}
    if all(each == 1 for each in raised.values()):
        return []
    return [
        "Whatever else he wants to know (whose text it is, an attribute, the words): among texts no further "
        f"apart, a guess that is right in {found.guess:.1%} of cases without the vector is right with it in "
        f"at most {_three(raised)}."
    ]


def _of_store(found: Certificate) -> str:
    worst = found.pairs["worst"]
    if worst.total_variation == 0:
        bound = (
            f"names the right one of {found.candidates} equally likely terms in {found.prior:.1%} of cases, "
            "as he would without the store"
        )
    elif worst.success < 1:
        bound = (
            f"names the right one of {found.candidates} equally likely terms in at most "
            f"{at_most(worst.success)} of cases; guessing, in {found.prior:.1%}"
        )
    else:
        bound = "is held back by nothing that is certified: he may name the term every time"
    return f"The store shows {found.sees}. An attacker who {found.attacker}, {bound}."


def _three(shares: dict[str, float]) -> str:
    """Three shares with their pairs; one where all are the same."""
    said = [at_most(each) for each in shares.values()]
    if len(set(said)) == 1:
        return f"{said[0]} of cases"
    named = [f"{each} ({NAMES[name]})" for name, each in zip(shares, said, strict=True)]
    return f"{', '.join(named[:-1])} and {named[-1]} of cases"
