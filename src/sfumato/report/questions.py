"""Two questions that people ask first, answered in plain words with the audit's own figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.auditing.result import Audit
from sfumato.trials.rows import AttackRow, percent

if TYPE_CHECKING:
    from sfumato.auditing.readable import AlsoReadable

_PLAIN = {
    ("removal", "starred"): "cutting the term out and putting a * in its place",
    ("removal", "taken out"): "cutting the term out",
}


def plain_defence(name: str, setting: str = "") -> str:
    """What a baseline does, where its name does not say it."""
    known = _PLAIN.get((name, setting))
    return known or (f"{name}, {setting}" if setting else name)


def why_not_remove(audit: Audit) -> list[str]:
    """Why not simply remove the word? Nothing where removal was not measured."""
    cut, row = audit.removal, _trained(audit)
    if cut is None or row is None:
        return []
    kept, ours = cut.utility.kept, audit.utility.kept
    use = "" if kept is None or ours is None else f" and {percent(kept)} of use is kept"
    here = "" if not use else f", and {percent(ours or 0.0)} of use is kept"
    said = [
        f"It was tried, on the same texts and with the same attack. With every sensitive term cut out, the "
        f"rest of the text still gives {percent(cut.released)} of them away (a constant guess has "
        f"{percent(row.prior)}){use}. What is audited here gives {percent(row.released)} away{here}.",
        _compared(audit),
    ]
    neutral = audit.settings["neutral_by"]
    if audit.settings["target"] == "protector" and audit.settings["neutral"]:
        how = "cuts the term out" if neutral == "removal" else "puts a neutral word in the term's place"
        said.append(
            f"It is also part of what this protector does: where its detector finds a term, it {how} before "
            "anything is embedded, and adds noise on top."
        )
    said.append(
        "What removal cannot do: it hides what is found and nothing else, and a term that is missed stands "
        "in the vector whole. It adds no noise, so nothing is promised: who knows the rest of a text "
        "recognises its vector for certain, and the same text always has the same vector. If none of that "
        "matters to you, and the figures are good enough, removing the word is simpler."
    )
    return said


def _trained(audit: Audit) -> AttackRow | None:
    """The attack that removal was measured by."""
    rows = (audit.verdict.trained(audit.attacks), audit.verdict.row)
    return next((row for row in rows if row is not None and row.floor_is == "removed"), None)


def _compared(audit: Audit) -> str:
    """Which of the two is read more, by the interval of the excess."""
    row = _trained(audit)
    interval = None if row is None else row.interval
    if interval is None:
        return "Which of the two is read more cannot be said here."
    low, high = interval
    if high < 0:
        return (
            "Less is read here than where the term is cut out: the noise hides some of what the rest tells."
        )
    if low > 0:
        return "More is read here than where the term is cut out: something of the term itself is left."
    return "The two cannot be told apart: what is left is what the rest of the text tells."


def what_else(found: AlsoReadable | None, hidden: str) -> dict[str, Any] | None:
    """What else is readable? Counts of texts, kind by kind; None where no reader fits."""
    if found is None:
        return None
    heard = [each for each in found.kinds if each.clean or each.released or each.swapped]
    rows = sorted(heard, key=lambda each: (-each.released, -each.clean, each.kind))
    silent = [each.kind for each in found.kinds if each not in heard]
    most = [each.kind for each in rows if each.released > each.swapped]
    lead = (
        f"This audit is about {hidden}. Everything else stays in the vectors, because search needs it. A "
        f"ready-made reader wrote {found.texts} of the attacked texts anew from their vectors; the table "
        "counts the texts in which it named something that really stands there."
    )
    advice = (
        f"Named more often than from another text's vector: {', '.join(most)}. To hide those as well, "
        "name them when you learn: " + " ".join(f"--concept {kind}" for kind in most) + "."
        if most
        else "Of other kinds no more was read than another text's vector gives."
    )
    table = [
        {"kind": each.kind, "texts": each.texts, "clean": each.clean, "released": each.released,
         "swapped": each.swapped}
        for each in rows
    ]  # fmt: skip
    if silent:
        advice += f" Nothing at all was named of: {', '.join(silent)}."
    return {"lead": lead, "rows": table, "advice": advice}
