"""The certificate of a protector: of its noise, its detector, and what both rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from sfumato.certificates.detection import MissRate
from sfumato.certificates.measuring import InformedTrials, informed_success
from sfumato.certificates.statement import ANY_GUESS, PAIRS, Certificate, certify
from sfumato.errors import InputError
from sfumato.metrics.intervals import Figure
from sfumato.promise import on_terms
from sfumato.protector import Protector

_STICKY = (
    "where noise is made sticky by a secret: the release rests on HMAC-SHA256 and AES, and whoever may ask "
    "the same protector can confirm a guess of anything but a found term"
)


def certificate_of(
    protector: Protector,
    *,
    candidates: int = 10,
    guess: float = ANY_GUESS,
    distance: float | None = None,
    detector: MissRate | None = None,
    trials: int = 0,
    seed: int | None = None,
) -> Certificate:
    """Say what an attacker can do with one release of a protector.

    Args:
        protector: what releases.
        candidates: how many terms the attacker holds for possible, all alike likely.
        guess: chance, without a release, of a guess at anything else: whose text, an attribute, the words.
        distance: between two inputs in the mechanism's metric, instead of those kept at learning.
        detector: how often the protector misses a term, from `miss_rate`.
        trials: how many releases the informed attacker is asked about, beside the certificate; 0 for none.
        seed: for trials that can be repeated.
    """
    apart = protector.learned.substitution_distances
    if distance is not None:
        apart = dict.fromkeys(PAIRS.values(), distance)
    if apart is None:
        raise InputError("This protector keeps no distances between terms. Give one with --distance.")
    made = certify(
        protector.mechanism,
        apart,
        candidates=candidates,
        guess=guess,
        dim=protector.dim,
        noiseless=protector.only_matching,
        conditions=conditions_of(protector, given=distance is not None, sampled=detector is not None),
    )
    guarantee = protector.guarantee
    nominal = f"{guarantee.epsilon:.4g}" if math.isfinite(guarantee.epsilon) else "infinite"
    return replace(
        made,
        found=protector.embeds_neutral,
        detector=detector,
        measured=_measured(protector, apart, candidates, trials, seed) if trials else None,
        epsilon=f"Epsilon {nominal} ({guarantee.metric}, {guarantee.proof})",
    )


def conditions_of(protector: Protector, *, given: bool = False, sampled: bool = False) -> tuple[str, ...]:
    """What the certificate of one release rests on.

    Args:
        protector: what releases.
        given: whether the distance was given, and not kept at learning.
        sampled: whether it is known from a labelled sample how often a term is missed.
    """
    guarantee = protector.guarantee
    # What one term costs in nats is no condition, and is said better by the certificate itself.
    aside = on_terms(guarantee.substitutions, protector.embeds_neutral)
    found = [note for note in guarantee.notes if note not in aside]
    if protector.embeds_neutral:
        found.append(
            "where a term is found nothing is told among terms that the detector would find in its place; "
            "that a term was found at all, and a term which it would miss there, may show"
        )
    if sampled:
        found.append(
            "the share of missed terms holds for texts like the labelled sample, drawn at random, in 39 of "
            "40 samples; a missed text is taken to lie no further from its neutral text than a pair of terms"
        )
    elif protector.embeds_neutral:
        found.append("how often the detector misses a term is not known here: nothing is assumed of it")
    if protector.learned.distances_by_removal and not given:
        found.append(
            "some distances are twice those between a text and itself without its term, because no other "
            "term was learned from"
        )
    found += [
        "the distance is the one that was given; inputs further apart are not covered"
        if given
        else "distances are those of the pairs of terms learned from; other terms may lie further apart",
        "for one release; fresh noise on a text that was released before adds to it",
        *([] if protector.secret is not None else [_STICKY]),
        f"in exact arithmetic; floating point may add {guarantee.slack:.2g} to the privacy loss",
    ]
    return tuple(found)


def _measured(
    protector: Protector, apart: Mapping[str, float], candidates: int, trials: int, seed: int | None
) -> InformedTrials:
    """Ask him about the noise alone: whatever follows it only hides more."""
    found: dict[float, Figure | None] = {}
    for each in {apart[key] for key in PAIRS.values()}:
        found[each] = informed_success(
            protector.mechanism,
            each,
            candidates=candidates,
            trials=trials,
            dim=protector.dim,
            seed=seed,
        )
    return InformedTrials(trials, candidates, {name: found[apart[key]] for name, key in PAIRS.items()})
