"""Coherence repair (STAMP, appendix C): a language model mends the grammar of a text that is already private.

It sees the private text only, so that it is post-processing and no part of the privacy claim: it neither adds
to it nor takes from it. A prompt binds nobody, so that every answer is checked, and refused where it breaks a
rule.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from sfumato.text.chat import Chat
from sfumato.text.rewriter import PLACEHOLDER
from sfumato.text.words import find_words

SYSTEM = (
    "You are a careful editor. Rewrite the passage into coherent, grammatical English, keeping the original "
    "meaning and tone. Do NOT add external facts, do NOT invent names, dates, locations, or entities, and do "
    "NOT expand abbreviations. Keep unusual or unknown tokens as they are. If {placeholder} appears, keep it "
    "exactly unchanged and keep it in place. Preserve paragraphing; only fix grammar, fluency and minimal "
    "function words."
)
"""The paper's instructions, with our placeholder in the place of theirs."""
USER = "Rewrite the passage below. Return ONLY the rewritten passage (no commentary).\n\n"

_LONGER, _SHORTER = 2.0, 0.4
_SENTENCE = re.compile(r"(?:^|[.!?:\n]\s*)[\"'(\[]*$")


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired text, or the text as it was and the rule that its repair broke."""

    text: str
    accepted: bool
    broken: str = ""


class Repair:
    """Mends private texts through a server.

    Args:
        chat: the model to ask.
        placeholder: what stands for hidden spans and has to survive.
    """

    def __init__(self, chat: Chat, *, placeholder: str = PLACEHOLDER) -> None:
        self.chat, self.placeholder = chat, placeholder

    def repair(self, text: str, *, row: int = 0) -> Repaired:
        """Ask for a mended text and check it; a text without words is not sent."""
        if not find_words(text):
            return Repaired(text, True)
        system = SYSTEM.format(placeholder=self.placeholder)
        answer = self.chat.ask(system, USER + text, row=row).strip()
        broken = broken_rule(text, answer, self.placeholder)
        return Repaired(text, False, broken) if broken else Repaired(answer, True)


def broken_rule(before: str, after: str, placeholder: str = PLACEHOLDER) -> str:
    """The first rule a repair breaks, or an empty string."""
    old, new = _words(before), _words(after)
    if after.count(placeholder) != before.count(placeholder):
        return "a placeholder was lost or added"
    if not len(old) * _SHORTER <= len(new) <= len(old) * _LONGER + 5:
        return "the length changed too much"
    if Counter(_numbers(after)) - Counter(_numbers(before)):
        return "a number was added"
    known = {word.lower() for word, _ in old}
    if any(word[:1].isupper() and not opens and word.lower() not in known for word, opens in new):
        return "a name was added"
    return ""


def _words(text: str) -> list[tuple[str, bool]]:
    """Words, and whether each opens a sentence, where a capital says nothing."""
    return [
        (text[start:end], bool(_SENTENCE.search(text[max(0, start - 8) : start])) or start == 0)
        for start, end in find_words(text)
    ]


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text)
