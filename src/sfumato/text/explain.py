"""Showing the owner of a text what became of it: group, budget and chance of replacement of every word.

An explanation holds the words of the text, so that it is for its owner's eyes and never part of a release.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from sfumato.text.budgets import Group
from sfumato.text.groups import group_table
from sfumato.text.rewriter import Rewriter, Rewritten

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

COLOURS = {
    Group.SENSITIVE_IMPORTANT: "magenta",
    Group.SENSITIVE: "red",
    Group.IMPORTANT: "green",
    Group.OTHER: "default",
}
_MOST_DRAWS = 64
_FEWEST_DRAWS = 8
_ALL_DRAWS = 100_000
"""Draws for one text at most, as long as each word gets the fewest."""


@dataclass(frozen=True, slots=True)
class Word:
    """One position, ready to be shown."""

    before: str
    source: str
    written: str
    group: Group
    epsilon: str
    chance: float
    """Estimated chance that the word is replaced."""
    score: float

    @property
    def replaced(self) -> bool:
        """Whether another word stands there now."""
        return self.written.lower() != self.source.lower()


@dataclass(frozen=True, slots=True)
class Explanation:
    """One text, word by word."""

    words: tuple[Word, ...]
    tail: str
    promise: str
    notes: tuple[str, ...]
    table: tuple[tuple[str, str, str], ...]
    """The 2 x 2 table of groups."""
    draws: int
    """How many draws each chance was estimated from."""


def explain(rewriter: Rewriter, source: str, rewritten: Rewritten, *, rng: object = None) -> Explanation:
    """Explain what became of `source`, with chances estimated by drawing its words again."""
    different = len({source[each.start : each.end].lower() for each in rewritten.positions})
    draws = max(_FEWEST_DRAWS, min(_MOST_DRAWS, _ALL_DRAWS // max(1, different)))
    chances = rewriter.replacement(rewritten, source, draws=draws, rng=rng)
    words = tuple(
        Word(
            each.before,
            source[each.start : each.end],
            each.written,
            each.group,
            _spent(each.epsilon),
            float(chance),
            each.score,
        )
        for each, chance in zip(rewritten.positions, chances, strict=True)
    )
    table = tuple(group_table(rewritten.counts, rewriter.budgets))
    promise = rewritten.promise
    return Explanation(words, rewritten.tail, promise.describe(), promise.notes, table, draws)


def _spent(epsilon: float) -> str:
    return "hidden" if epsilon == 0 else "kept" if math.isinf(epsilon) else f"{epsilon:g}"


def _harmless(text: str) -> str:
    """The text without what a terminal would obey rather than show."""
    return "".join(
        letter if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs", "Cf") else "\ufffd"
        for letter in text
    )


def as_text(explanation: Explanation) -> Text:
    """The private text in the colours of its groups; what was replaced is underlined."""
    from rich.text import Text

    out = Text()
    for word in explanation.words:
        out.append(_harmless(word.before))
        out.append(_harmless(word.written), f"{COLOURS[word.group]}{' underline' if word.replaced else ''}")
    out.append(_harmless(explanation.tail))
    return out


def as_table(explanation: Explanation, most: int = 60) -> Table:
    """One line a word: what it was, what it is, group, budget, chance of replacement."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("was", "is", "group", "epsilon", "replaced", "to the task"):
        table.add_column(heading, justify="left" if heading in ("was", "is", "group") else "right")
    for word in explanation.words[:most]:
        colour = COLOURS[word.group]
        table.add_row(
            escape(_harmless(word.source)),
            escape(_harmless(word.written)),
            f"[{colour}]{int(word.group)} {word.group.short}[/{colour}]",
            word.epsilon,
            f"{word.chance:.0%}",
            f"{word.score:.2f}",
        )
    if len(explanation.words) > most:
        table.caption = f"and {len(explanation.words) - most} words more"
    return table


def as_page(explanations: Sequence[Explanation]) -> str:
    """One self-contained HTML page: no script, nothing fetched, everything escaped."""
    return _environment().get_template("explain.html.j2").render(texts=explanations, groups=list(Group))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("sfumato.text", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
