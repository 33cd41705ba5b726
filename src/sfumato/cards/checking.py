"""Is this card what it says? Its form, its signature, and, given the inputs, its figures made again."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.cards.making import commit, describe_audit, file_digest
from sfumato.cards.page import card_page
from sfumato.cards.schema import problems
from sfumato.cards.signing import signature_holds
from sfumato.cards.spelling import parse
from sfumato.cards.targets import CardTarget
from sfumato.errors import ArtifactError

SAME = 1e-9
"""Figures that are computed again differ by no more than this."""
TOLERANCE = 0.005
"""Shares that are measured again, with the same seed on another machine, differ by no more than this."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    holds: bool
    words: str

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"name": self.name, "holds": self.holds, "words": self.words}


def check_card(content: bytes, public: str) -> tuple[dict[str, Any] | None, list[Check]]:
    """Look at a card by itself; returns what it holds, or None where it is none that was signed with the key.

    Args:
        content: of its file.
        public: the key that should have signed it, in hex.
    """
    try:
        card = parse(content)
    except ArtifactError as error:
        return None, [Check("form", False, str(error))]
    if wrong := problems(card):
        return None, [Check("form", False, f"{len(wrong)} places are not as in a card: {wrong[0]}")]
    checks = [Check("form", True, "every field of a card and no other, each within its bounds")]
    signed = signature_holds(card, public)
    checks.append(Check("signature", signed, _on_signature(card, public, signed)))
    if not signed:
        return None, checks
    odd = list(_contradictions(card))
    said = "no figure contradicts another" if not odd else f"figures contradict each other: {odd[0]}"
    return card, [*checks, Check("figures", not odd, said)]


def check_page(card: Mapping[str, Any], content: bytes) -> Check:
    """Whether a page is the one that is made of this card."""
    same = hmac.compare_digest(card_page(card).encode(), content)
    said = "what is shown is what is signed" if same else "it is not the page that this version makes of it"
    return Check("page", same, said)


def check_target(card: Mapping[str, Any], target: CardTarget) -> list[Check]:
    """Whether the card is of this protector or collection, and its certificate what that gives again."""
    again = target.certificate(card["certificate"], card["certificate"]["candidates"])
    own = target.described | {"name": card["target"]["name"]}  # folders and stores may move
    return [
        _compared(card["target"]["kind"], card["target"], own, SAME),
        _compared("certificate", card["certificate"], again, SAME),
    ]


def check_audit(card: Mapping[str, Any], content: bytes) -> list[Check]:
    """Whether the card's figures are those of this audit, and the file the very one."""
    same = file_digest(content) == card["data"]["audit_sha256"]
    found = Check("audit's file", same, "its SHA-256 is the card's" if same else "its SHA-256 is another")
    return [found, check_figures(card, parse_audit(content), 0.0, "audit")]


def check_figures(
    card: Mapping[str, Any], audit: Mapping[str, Any], tolerance: float, name: str = "audit again"
) -> Check:
    """Whether an audit's figures are the card's, as far as shares can be repeated."""
    measured, settings = describe_audit(audit)
    # How it was called is not part of what came out.
    left = {key: value for key, value in card["settings"].items() if key not in ("candidates", "options")}
    settings.pop("options")
    if name == "audit again":  # sentences with figures in them
        measured["cautions"] = card["measured"]["cautions"]
    found = audit.get("certificate")
    missed = found.get("detector") if isinstance(found, dict) else None
    return _compared(
        name,
        {"measured": card["measured"], "settings": left, "detector": card["certificate"]["detector"]},
        {"measured": measured, "settings": settings, "detector": missed},
        tolerance,
    )


def check_texts(card: Mapping[str, Any], texts: Sequence[str], salt: bytes | None) -> Check:
    """Whether these are the texts that the card was made with."""
    said = card["data"]["texts"]
    if said is None:
        return Check("texts", False, "the card does not say which texts it was made with")
    if salt is None:
        same = len(texts) == said["rows"]
        return Check(
            "texts", same, f"{len(texts)} texts, {said['rows']} on the card; give --opening for more"
        )
    same = hmac.compare_digest(commit(texts, salt)["commitment"], said["commitment"])
    return Check("texts", same, "the very texts" if same else "other texts, or another opening")


def parse_audit(content: bytes) -> dict[str, Any]:
    """What `sfumato audit --json` wrote."""
    import json

    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ArtifactError(
            "The audit must be the JSON that `sfumato audit --json` writes. Found something else."
        )
    return found


def _on_signature(card: Mapping[str, Any], public: str, signed: bool) -> str:
    if signed:
        return f"by the key {public[:16]}…, over everything on the card"
    if card["signer"]["public_key"] != public:
        return f"it was signed with another key, {card['signer']['public_key'][:16]}…"
    return "the card was changed after it was signed, or its signature belongs to another card"


def _contradictions(card: Mapping[str, Any]) -> Iterator[str]:
    """What no card can say that was made of a protector and an audit, whoever signed it."""
    found, target = card["certificate"], card["target"]
    success = found["success"]
    yield from _odd_pairs(found)
    if abs(found["prior"] * found["candidates"] - 1) > SAME:
        yield "the prior is not one in as many candidates"
    if not found["prior"] - SAME <= success["median"] <= success["p95"] <= success["worst"]:
        yield "the success does not grow from the median pair to the worst"
    if (target["kind"] == "protector") != (target["sealed"] is None) or (
        (target["sha256"] is None or target["settings_digest"] is None) != (target["sealed"] is not None)
    ):
        yield "the target is neither a protector nor a sealed collection"
    if (found["where_found"] is not None) != bool(target["neutral"]):
        yield "what holds of found terms does not go with the neutral texts"
    if target["only_matching"] and success["median"] < 1:
        yield "texts leave without noise, and yet something is certified"
    if card["settings"]["candidates"] != found["candidates"]:
        yield "the settings name another number of candidates"
    if card["settings"]["protector"] != target["settings_digest"]:
        yield "the audit is of another protector"


def _odd_pairs(found: Mapping[str, Any]) -> Iterator[str]:
    """Figures of a certificate that are not those of its pairs, or that no pair has."""
    pairs = found["pairs"]
    if any(pairs[name]["success"] != value for name, value in found["success"].items()):
        yield "the success is not that of its pairs"
    if any(pairs[name]["any_guess"] != value for name, value in found["any_guess"]["success"].items()):
        yield "the success of a guess is not that of its pairs"
    if any(found[name] != pairs["worst"][name] for name in ("total_variation", "bits", "bayes_security")):
        yield "total variation, bits or Bayes security are not those of the worst pair"
    for each in pairs.values():
        if abs(each["total_variation"] + each["bayes_security"] - 1) > SAME:
            yield "Bayes security is not what the total variation leaves"
        if abs(2 ** each["bits"] - each["success"] * found["candidates"]) > SAME * found["candidates"]:
            yield "the bits are not those of the success"


def _compared(name: str, said: Any, found: Any, tolerance: float) -> Check:
    differing = list(_differences(said, found, tolerance, ""))
    if not differing:
        return Check(name, True, "the same again")
    return Check(name, False, f"{len(differing)} places differ, the first at {differing[0]}")


def _differences(said: Any, found: Any, tolerance: float, where: str) -> Iterator[str]:
    if isinstance(said, dict) and isinstance(found, dict):
        for key in sorted(said.keys() | found.keys()):
            if key not in said or key not in found:
                yield f"{where}.{key}".lstrip(".")
            else:
                yield from _differences(said[key], found[key], tolerance, f"{where}.{key}")
    elif isinstance(said, list | tuple) and isinstance(found, list | tuple) and len(said) == len(found):
        for number, (one, other) in enumerate(zip(said, found, strict=True)):
            yield from _differences(one, other, tolerance, f"{where}[{number}]")
    elif _number(said) and _number(found):
        if abs(said - found) > tolerance:
            yield where.lstrip(".")
    elif type(said) is not type(found) or said != found:
        yield where.lstrip(".")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
