"""A card as one page, made of what is signed and of nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.cards.signing import card_digest
from sfumato.certifying import attacker_words, beyond_words, certified_figures
from sfumato.report.page import render
from sfumato.trials.rows import percent

_VERDICTS = {
    "pass": "within its limit",
    "measured": "no limit was set",
    "fail": "above its limit",
    "refused": "no verdict",
}
_TRUTHS = {
    "labels": "labels made by people",
    "detector": "the protector's own detector, whose misses do not show",
    "none": "nobody",
}


def card_page(card: Mapping[str, Any]) -> str:
    """Write the page; it holds no script and asks nothing of the network."""
    found, measured, target = card["certificate"], card["measured"], card["target"]
    return render(
        "card.html.j2",
        name=target["name"],
        made=card["made"],
        words=_unbroken(attacker_words(found)),
        figures=[
            [_unbroken(each) for each in line] for line in (*certified_figures(found), *_informed(measured))
        ],
        conditions=found["conditions"],
        verdict=measured["verdict"],
        judged=_VERDICTS[measured["verdict"]],
        truth=_TRUTHS[measured["truth"]],
        concept=measured["concept"],
        lines=_lines(measured),
        cautions=[_unbroken(each) for each in (*_beyond(card), *measured["cautions"])],
        utility=[_use(each) for each in measured["utility"]],
        facts=_facts(card),
        digests=_digests(card),
        promise=_promise(target["promise"]),
        signer=card["signer"]["public_key"],
        signature=card["signature"],
        digest=card_digest(card),
    )


def _unbroken(words: str) -> str:
    """Keep a number and its percent sign on one line."""
    return words.replace(" %", "\u00a0%")


def _between(interval: Sequence[float] | None) -> str:
    return "" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"


def _informed(measured: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    figure = measured["informed"]
    if figure is None:
        return []
    note = (
        f"named of {figure['count']} terms by who knew all else; 95 % interval {_between(figure['interval'])}"
    )
    return [("Measured beside it", percent(figure["value"]), note)]


def _beyond(card: Mapping[str, Any]) -> list[str]:
    """What has to be said where the informed attacker got more than is certified."""
    figure = card["measured"]["informed"]
    said = "" if figure is None else beyond_words(card["certificate"], figure["interval"][0])
    return [f"The informed attacker named {percent(figure['value'])}. {said}"] if said else []


def _lines(measured: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What the attacks got: a question, a figure, and what it is to be compared with."""
    lines = []
    if (row := measured["leakage"]) is not None:
        removed = "" if row["floor_is"] != "removed" else f", {percent(row['floor'])} where it is removed"
        beside = f"{percent(row['control'])} from clean vectors{removed}, {percent(row['prior'])} by a guess"
        lines.append((f"Terms named by the best attack ({row['attack']})", percent(row["released"]), beside))
        for name, key in (("Excess leakage", "excess"), ("Absolute leakage", "absolute")):
            if row[key] is not None:
                interval = row["interval" if key == "excess" else "absolute_interval"]
                lines.append((name, percent(row[key]), _between(interval)))
    if (asked := measured["oracle"]) is not None:
        named, chance = asked["named"], percent(asked["chance"])
        beside = f"{_between(named['interval'])}; {chance} by chance"
        lines.append(("Terms named by who may ask the same protector", percent(named["share"]), beside))
    if (seen := measured["presence"]) is not None:
        beside = f"AUC; {seen['clean']:.2f} from clean vectors, 0.50 a guess"
        lines.append(("That the concept was there at all", f"{seen['released']:.2f}", beside))
    if (linked := measured["linkage"]) is not None:
        beside = f"{percent(linked['prior'])} by chance"
        lines.append(("Which known text a vector is of", percent(linked["released"]), beside))
    return [(name, _unbroken(value), _unbroken(beside)) for name, value, beside in lines]


def _use(each: Mapping[str, Any]) -> tuple[str, str, str]:
    kept = "undefined" if each["kept"] is None else percent(each["kept"])
    return each["metric"], _unbroken(kept), _unbroken(_between(each["interval"]))


def _facts(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    settings = card["settings"]
    texts = (
        f"{settings['texts']} texts: {settings['learned_from']} learned from, {settings['attacked']} attacked"
    )
    versions = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in card["versions"].items())
    limits = [
        f"{percent(settings[key])} {name}"
        for key, name in (("fail_above", "excess"), ("fail_absolute_above", "absolute"))
        if settings[key] is not None
    ]
    return [
        *_target(card["target"]),
        ("audited", f"{texts}; suite {settings['suite']}, seed {settings['seed']}"),
        ("limits", _unbroken(" and ".join(limits)) or "none"),
        ("versions", versions),
    ]


def _target(target: Mapping[str, Any]) -> list[tuple[str, str]]:
    if (seen := target["sealed"]) is not None:
        checks = f"{seen['checks'] - seen['broken']} of {seen['checks']} checks hold"
        return [("shows", f"{seen['records']} sealed records of {seen['sizes']} sizes; {checks}")]
    hidden = "; ".join(f"{each['name']} (found by {each['found_by']})" for each in target["concepts"])
    return [
        ("hides", hidden or "no concept in particular"),
        ("encoder", target["embedder"] or "not known"),
        ("dimensions", "not known" if target["dim"] is None else str(target["dim"])),
        ("learned from", f"{target['learned_from']} text" if target["learned_from"] else "not known"),
        ("in a term's place", _stand_in(target)),
    ]


def _stand_in(target: Mapping[str, Any]) -> str:
    """What a text is embedded with in the place of a term that was found."""
    ways: dict[str | None, str] = {
        "copies": f"{target['neutral']} other terms in turn, averaged",
        "soft": "one soft token",
    }
    ways |= {"placeholder": "a neutral word", "removal": "nothing", None: "the term itself"}
    return ways[target["neutral_by"]]


def _digests(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    texts = card["data"]["texts"]
    said = (
        "not on this card" if texts is None else f"{texts['rows']} texts, HMAC-SHA256 {texts['commitment']}"
    )
    own = card["target"]["sha256"]
    return [
        *([] if own is None else [("protector", f"SHA-256 {own}")]),
        ("audit", f"SHA-256 {card['data']['audit_sha256']}"),
        ("texts", said),
    ]


def _promise(promise: Mapping[str, Any]) -> list[tuple[str, str]]:
    def shown(value: Any) -> str:
        return "infinite" if value == "inf" else f"{value:.6g}"

    return [
        ("mechanism", promise["mechanism"]),
        ("proof", promise["proof"]),
        ("counted in", promise["metric"]),
        ("delta", shown(promise["delta"])),
        ("worst case in l2", shown(promise["worst_case_l2"])),
        ("epsilon", shown(promise["epsilon"])),
    ]
