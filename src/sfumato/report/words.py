"""What a page says in words: headings, the promise, limits, and other people's frameworks."""

from __future__ import annotations

from typing import Any

from sfumato.auditing.result import Audit
from sfumato.certifying import attacker_words, beyond_words
from sfumato.queries import WHAT_IS_LOST
from sfumato.report.questions import plain_defence
from sfumato.trials.questions.presence import Presence
from sfumato.trials.rivals import MATCHED
from sfumato.trials.rows import AttackRow, percent

_HEADINGS = {
    "pass": "Within the limit of {limit}",
    "fail": "Above the limit of {limit}",
    "refused": "No verdict",
    "measured": "Measured; no limit was set",
}

STANDARDS = (
    (
        "OWASP LLM09:2026, Vector and Embedding Weaknesses (LLM08:2025 before)",
        "The attacks that name terms or write texts test its risk 2, embedding inversion; linkage and bits "
        "bear on its risk 5, membership, for whoever holds the vectors. Poisoning, jamming, caches and "
        "separation of tenants are not tested here.",
    ),
    (
        "MITRE ATLAS AML.T0024, Exfiltration via AI Inference API",
        "Applies where the vectors are handed out by an interface that others can query; its "
        "sub-techniques speak of a model's training data, which this audit does not touch. For vectors "
        "taken from a store or a backup it does not apply.",
    ),
    (
        "GDPR, Article 33: notification of a personal data breach",
        "Whether a leak of vectors has to be notified depends on the risk to the people in the texts. That "
        "only the embeddings leaked does not settle it. The figures above say what the attacks tried here "
        "could read; they are evidence for that assessment, not the assessment, and no legal advice.",
    ),
)

_METRICS = {
    "l2": "Euclidean distance",
    "mahalanobis": "Mahalanobis distance, which counts the concept's directions more",
    "angular": "angle, in radians",
    "chordal": "chordal distance",
    "chordal+radius": "chordal distance and difference in length",
    "bounded": "any two vectors",
}


def heading(audit: Audit) -> str:
    """The verdict in a few words; a pass that hides something says so here."""
    by = "excess" if audit.verdict.row is None else audit.verdict.row.by
    limits = [
        f"{percent(limit)} for {name} leakage"
        for name, limit in (
            (by, audit.settings["fail_above"]),
            ("absolute", audit.settings["fail_absolute_above"]),
        )
        if limit is not None
    ]
    between = " or of " if audit.outcome == "fail" else " and of "
    said = _HEADINGS[audit.outcome].format(limit=between.join(limits))
    if audit.outcome == "pass" and audit.cautions:
        said += ", but read on"
    return said


def reason(audit: Audit) -> str:
    """Why, under the heading, which already says that there is no verdict."""
    said = audit.verdict.reason.removeprefix("No verdict: ")
    return said[:1].upper() + said[1:]


def certificate_words(audit: Audit) -> str:
    """What no attacker exceeds who knows all but the term; or why nothing is certified."""
    if audit.certificate is not None:
        return attacker_words(audit.certificate)
    if audit.settings["target"] == "embeddings":
        return "Nothing is certified: nobody said how these vectors were made."
    return (
        "Nothing is certified of this concept: the protector was not learned for it, keeps no distances "
        "between its terms, or its noise has no law."
    )


def informed_words(audit: Audit) -> str:
    """What the informed attacker got beside it; empty where he was not asked."""
    figure, row = audit.informed, audit.worst_case
    if figure is None or row is None:
        return ""
    said = (
        f"Measured: who knew all but the term named {percent(figure.value)} of {figure.count} terms (exact "
        f"95 % interval {percent(figure.low)} to {percent(figure.high)}), {percent(row.control)} from clean "
        f"vectors, {percent(row.floor or 0.0)} by chance."
    )
    beyond = "" if audit.certificate is None else beyond_words(audit.certificate, figure.low)
    return f"{said} {beyond}".strip()


def guarantee_words(audit: Audit) -> dict[str, Any]:
    """The promise in plain words, and what goes with it."""
    promise, noise = audit.guarantee, audit.noise
    facts: list[tuple[str, str]] = [("mechanism", str(promise["mechanism"]))]
    if noise["ratio"] is not None and noise["cosine"] is not None:
        facts.append(("noise ratio", f"{noise['ratio']:.2f} lengths of a vector"))
        facts.append(("cosine kept", f"about {noise['cosine']:.2f}, before any public filter"))
    if promise["proof"] == "none" or promise["epsilon"] == "inf":
        text = (
            "Nothing is promised: there is no differential privacy here. Whatever protection there is, it is "
            "only what the attacks above measured."
        )
        facts.append(("epsilon", "infinite"))
    else:
        text = (
            "One release lets nobody tell two texts apart better than this: whatever is concluded from the "
            "released vector, its odds change by at most a factor of e^(epsilon x distance), where the "
            f"distance is that of the two clean vectors in {_METRICS[promise['metric']]}. Texts that lie far "
            "apart are told apart easily; that is what search needs. Another release of the same text with "
            "fresh noise costs as much again."
        )
        facts += [
            ("proof", promise["proof"]),
            ("delta", f"{promise['delta']:.3g}"),
            ("worst case in l2", _number(promise["worst_case_l2"])),
            ("epsilon", f"{promise['epsilon']:.6g} per unit"),
        ]
    return {"text": text, "facts": facts, "notes": list(promise["notes"])}


def _number(value: Any) -> str:
    return "infinite" if value == "inf" else f"epsilon {value:.6g} per unit of Euclidean distance"


def matched_words(audit: Audit) -> str:
    """What the baselines say at the same utility."""
    if not audit.baselines:
        return ""
    found, metric = audit.matched(), audit.utility.metric
    best, ours = found["baseline"], found["audited"]
    name = "" if best is None else plain_defence(*best["name"].split(", ", 1))
    at = f"At {percent(MATCHED)} or more of clean {metric}"
    said = (
        f"{at} no baseline tried has a place."
        if best is None
        else f"{at} the other defence that leaks least is {name}: an excess of {percent(best['excess'])}."
    )
    if ours is not None:
        return f"{said} What is audited here has {percent(ours['excess'])} at {percent(ours['kept'])}."
    if not audit.attacks or audit.outcome == "refused" or audit.excess is None:
        return f"{said} What is audited here has no figure to compare."
    kept = audit.utility.kept
    here = "does not have a defined utility" if kept is None else f"keeps {percent(kept)}"
    return f"{said} What is audited here {here}, so it is not compared at that level."


def presence_words(found: Presence) -> tuple[str, str]:
    """How well texts with the concept are told from others, and what that is to be compared with."""
    removed = "" if found.removed is None else f", {found.removed:.2f} where it is removed"
    beside = (
        f"AUC of telling texts with the concept from others: {found.clean:.2f} clean{removed}, 0.50 a guess"
    )
    return f"{found.released:.2f}", beside


def linkage_words(row: AttackRow) -> str:
    """What the share of vectors whose text was named is to be compared with."""
    known, chance = round(1 / row.prior), percent(row.prior)
    return f"vectors whose text was picked out of {known} known ones; {chance} by chance"


def lost_words(audit: Audit) -> str:
    """What no figure of utility here says: that what is hidden is not searched for any more; else empty."""
    return WHAT_IS_LOST if audit.settings["neutral"] else ""


def limits(audit: Audit) -> list[str]:
    """What the figures do not say."""
    settings = audit.settings
    found = [
        "An attack that fails proves nothing about a better one: this page says what was tried and what "
        "it got.",
        f"The figures are of one concept, {settings['concept']['name']}, as found by "
        f"{settings['concept']['found_by']}. What that does not find is neither removed from the floor nor "
        "counted as a term.",
        f"The attacker learned from {settings['learned_from']} texts like yours and was tried on "
        f"{settings['attacked']} others. Somebody with more of them may read more.",
        "Excess leakage is counted from what the rest of the text gives away, absolute leakage from a "
        "constant guess. Cutting the concept out of the text has an excess of 0 % by definition.",
        "Intervals cover 95 % of samples like this one; whole groups of near-duplicates are drawn.",
    ]
    if settings["target"] == "embeddings":
        found.append(
            "Nobody said how these vectors were made, so the attacker trained on pairs of a text and its "
            "vector and could not draw fresh noise. One who knows the mechanism may do better."
        )
    if settings["embedder"] is None:
        found.append(
            "No encoder was named, so the floor was not measured, and there is no excess leakage. Name the "
            "encoder to have it."
        )
    if settings["concept"]["source"] == "spans":
        found.append(
            "The terms come from labelled spans and are private, so they are numbered here and not named."
        )
    return [*found, *audit.notes]
