"""What a protector promises: its mechanism's guarantee, with every condition the rest of it adds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.accounting.guarantee import Guarantee, Substitutions
from sfumato.errors import InputError
from sfumato.learned import Learned
from sfumato.mechanisms import Mechanism

if TYPE_CHECKING:
    from sfumato.accounting.curves import GridLoss
    from sfumato.sensitivity import Background, Eraser

_OPEN = ("public", "synthetic")


def promised(
    mechanism: Mechanism,
    *,
    neutral: bool,
    only_matching: bool,
    sticky: bool,
    background: Background | None,
    learned: Learned,
    eraser: Eraser | None = None,
) -> Guarantee:
    """Return what one release promises.

    Args:
        mechanism: the noise.
        neutral: whether texts in which a concept is found are embedded without it.
        only_matching: whether texts without a concept leave without noise.
        sticky: whether noise is derived from a secret.
        background: what the public filter was made from.
        learned: how the protector was learned.
        eraser: what is taken out of every release after the noise.
    """
    base = mechanism.guarantee
    apart = learned.substitution_distances
    swapped = None if apart is None else mechanism.substitutions(apart)
    notes = [*base.notes, *_on_texts(neutral, only_matching), *on_terms(swapped, neutral)]
    if eraser is not None:
        notes.append(_on_eraser(eraser))
    assumed = [] if only_matching else _learned_from_private(mechanism, background, eraser)
    if sticky:
        notes.append(
            "noise is sticky: it rests on HMAC-SHA256 and AES, texts that are embedded alike are seen to be "
            "so, and whoever may ask the same protector can confirm a guess of anything but a found term"
        )
    found = replace(base, notes=(*notes, *assumed), substitutions=swapped)
    if only_matching:
        return replace(found, epsilon=math.inf, delta=0.0, worst_case_l2=math.inf, proof="none")
    return replace(found, proof="conditional") if assumed and base.proof == "proved" else found


def counted_loss(
    mechanism: Mechanism, learned: Learned, dim: int, *, distance: float | None, only_matching: bool
) -> GridLoss | None:
    """The privacy loss of one release between two terms, for a ledger that counts curves.

    Args:
        mechanism: the noise.
        learned: how far apart terms are; the worst pair counts.
        dim: of the vectors.
        distance: in the mechanism's metric, in the place of that.
        only_matching: whether texts may leave without noise; then there is no law of the loss.
    """
    from sfumato.accounting.curves import loss_of

    apart = learned.substitution_distances
    between = distance if distance is not None else None if apart is None else float(apart["max"])
    if not between:
        raise InputError(
            "A ledger that counts curves needs to know how far apart two inputs are, and this protector "
            "keeps no distances between terms. Give one with --distance (distance=)."
        )
    return None if only_matching else loss_of(mechanism, between, dim)


def _on_texts(neutral: bool, only_matching: bool) -> list[str]:
    notes = []
    if neutral:
        missed = (
            "a term the detector misses leaves in the vector as it is"
            if only_matching
            else "a term the detector misses, and a vector that comes without its text, has the noise alone"
        )
        notes += [
            f"where a concept is found in the text its term does not enter the vector at all; {missed}",
            "distances are between the vectors of neutral texts: two texts that differ in found terms alone "
            "are at distance 0",
        ]
    if only_matching:
        notes.append(
            "texts in which no concept is found are released as they are, without noise, and anyone can see "
            "which texts those are: nothing is promised for any of them"
        )
    return notes


def on_terms(swapped: Substitutions | None, neutral: bool) -> list[str]:
    """What one term put for another costs, as a note of the promise."""
    if swapped is None:
        return []
    where = "where the detector misses it, " if neutral else ""
    return [
        f"{where}one term put for another costs a privacy loss of {swapped.median:.3g} (median), "
        f"{swapped.p95:.3g} (95 %) to {swapped.worst:.3g} (worst found); above 5 that rules out little"
    ]


def _on_eraser(eraser: Eraser) -> str:
    kinds = {
        "the presence of a concept": eraser.presence,
        "the context of a term": eraser.context,
        "names that may be missed": eraser.missed,
    }
    listed = ", ".join(f"{count} for {what}" for what, count in kinds.items() if count)
    return (
        f"a public linear map takes {eraser.directions} directions out of every release ({listed}), as they "
        "are in texts like those it was learned from; it takes nothing from the promise and adds nothing "
        "that is proved"
    )


def _learned_from_private(
    mechanism: Mechanism, background: Background | None, eraser: Eraser | None
) -> list[str]:
    """What was learned from text that nobody declared public, as conditions of the promise."""
    sources = {"shape of the noise": mechanism.learned_from}
    if background is not None and mechanism.additive:
        sources["public filter"] = background.source
    if eraser is not None:
        sources["public eraser"] = eraser.source
    return [
        f"conditional: the {what} was learned from {source} text, and what it gives away of that text is not "
        "counted; declare the source public or synthetic if it is"
        for what, source in sources.items()
        if source is not None and source.split()[0] not in _OPEN
    ]
