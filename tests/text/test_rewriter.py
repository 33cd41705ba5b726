"""Private text from end to end: what is drawn, what is hidden, what is kept, and never a secret."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.concepts import Concept
from sfumato.errors import InputError, ParameterError
from sfumato.randomness import InsecureSeedWarning, Source, generator
from sfumato.text import Budgets, Group, Rewriter, WordVectors
from sfumato.text.promise import LAYOUT, UNKNOWN_BLURRED, UNKNOWN_HIDDEN, UNKNOWN_KEPT, WITHIN_GROUPS
from tests.text.small import WORDS, Pattern, vocabulary

EXACT = Budgets.uniform(1000.0)
"""So much that known words come out unchanged."""
NAMES = Pattern("John|Zanzibar|Dr|Smith")


def rewriter(budgets=EXACT, **options):
    return Rewriter(vocabulary(), budgets, **{"sensitive": [NAMES], **options})


def one(text, budgets=EXACT, **options):
    return rewriter(budgets, **options).rewrite([text])[0]


def test_spacing_punctuation_and_case_come_back():
    text = "  The OIL price -- rose; Oil\tfell?!\nNorth's team didn't.  "
    made = one(text, unknown="keep")
    assert made.text == text
    assert [int(each.group) for each in made.positions] == [4] * len(made.positions)


def test_known_words_are_replaced_where_budgets_are_small():
    text = " ".join(WORDS)
    words = one(text, Budgets.uniform(0.1)).text.split()
    assert len(words) == len(WORDS) and set(words) <= set(WORDS)
    # About one word in forty comes out unchanged by chance; ten would be a miracle.
    assert sum(a == b for a, b in zip(words, WORDS, strict=True)) < 10


@pytest.mark.parametrize("unknown", ["blur", "hide", "keep"])
def test_sensitive_words_outside_the_vocabulary_are_never_copied(unknown):
    made = one("Zanzibar oil Qwertz", unknown=unknown)
    assert "Zanzibar" not in made.text and "zanzibar" not in made.text
    assert "oil" in made.text and ("Qwertz" in made.text) == (unknown == "keep")
    assert ("[hidden]" in made.text) == (unknown == "hide")
    note = {"blur": UNKNOWN_BLURRED, "hide": UNKNOWN_HIDDEN, "keep": UNKNOWN_KEPT}[unknown]
    assert {WITHIN_GROUPS, LAYOUT, note} <= set(made.promise.notes)


def test_all_unknown_words_are_alike():
    """The same seed draws the same words for any two unknown ones: nothing of them goes in."""
    with pytest.warns(InsecureSeedWarning):
        made = [
            rewriter(Budgets.uniform(3.0), sensitive=[]).rewrite([f"{word} saw"], rng=Source.seeded(5))
            for word in ("Qwertz", "Zanzibar", "אבג")
        ]
    assert len({each[0].text.lower().split()[0] for each in made}) == 1


def test_a_budget_of_nothing_is_one_placeholder_a_span():
    made = one("told John Smith, Dr and Zanzibar-Smith", Budgets(9, 0, 900, 900), sensitive=[
        Pattern("John Smith|Dr|Zanzibar-Smith")
    ])  # fmt: skip
    # The length of a span does not show.
    assert made.text.startswith("told [hidden], [hidden] ") and made.text.endswith(" [hidden]")
    assert [each.draws for each in made.positions if each.group is Group.SENSITIVE] == [0] * 5
    other = one(
        "told John Smith", Budgets(9, 0, 900, 900), placeholder="X", sensitive=[Pattern("John Smith")]
    )
    assert other.text == "told X"


def test_an_infinite_budget_keeps_words_and_says_so():
    made = one("Qwertz oil Zanzibar", Budgets(1, 1, math.inf, math.inf))
    assert made.text.startswith("Qwertz oil ") and "Zanzibar" not in made.text
    assert any("infinite budget" in note for note in made.promise.notes)


def test_capitals_of_sensitive_words_are_kept_only_when_asked():
    words = Pattern("Oil|PRICE")
    assert one("Oil PRICE", sensitive=[words]).text == "oil price"
    assert one("Oil PRICE", sensitive=[words], keep_case=True).text == "Oil PRICE"


def test_between_sensitive_words_only_a_space_is_kept():
    made = one("call (oil)-market: now", sensitive=[Pattern(r"\(oil\)-market:")], unknown="keep")
    assert made.text == "call oil market now"


def test_tasks_and_spans_come_with_the_texts():
    made = rewriter(Budgets(1, 1, 1000, 1), sensitive=[Concept.from_spans("x")]).rewrite(
        ["oil fell", "oil fell"], tasks=["oil", "fell"], spans=[[], [(0, 3, "x")]]
    )
    assert [int(each.group) for each in made[0].positions] == [3, 4]
    assert [int(each.group) for each in made[1].positions] == [2, 3]
    assert made[0].text.startswith("oil ") and made[1].text.endswith(" fell")


def test_the_promise_is_the_sum_of_what_was_drawn():
    made = one("oil fell John", Budgets(3, 2, 5, 7))
    assert made.promise.epsilon == 7 + 7 + 2
    assert made.counts == {
        Group.SENSITIVE_IMPORTANT: 0, Group.SENSITIVE: 1, Group.IMPORTANT: 0, Group.OTHER: 2,
    }  # fmt: skip


def test_pieces_are_drawn_and_priced_one_by_one():
    names = ["oil", "##ing", "price", "##s", "##y"]
    pieces = WordVectors(
        names, generator(0).standard_normal((5, 8)), continues=np.array([n[0] == "#" for n in names])
    )
    made = Rewriter(pieces, EXACT).rewrite(["Oilings price xyz"])[0]
    assert made.text.startswith("Oilings price ")
    assert made.promise.epsilon == 1000 * (3 + 1 + 1)
    assert any("number of pieces" in note for note in made.promise.notes)


def test_replacement_chances_are_those_of_the_channel():
    text = "oil John Qwertz [x] price"
    machine = rewriter(Budgets(5, 0, 1000, 1000), unknown="blur")
    made = machine.rewrite([text])[0]
    chances = machine.replacement(made, text, draws=40)
    assert chances.tolist() == pytest.approx([0, 1, 1, 1, 0])
    low = rewriter(Budgets.uniform(0.01)).with_budgets(Budgets.uniform(0.01))
    assert low.replacement(low.rewrite(["oil"])[0], "oil", draws=200)[0] > 0.8


def test_the_same_rewriter_can_change_budgets_and_threshold():
    first = rewriter(task="oil")
    other = first.with_budgets(Budgets.uniform(2.0)).with_threshold(-1.0)
    assert first.budgets == EXACT and first.groups.threshold == 0.5
    assert other.rewrite(["fell"])[0].positions[0].group is Group.IMPORTANT
    assert other.channel is first.channel


def test_streams_give_what_rewriting_gives():
    made = list(rewriter().stream([["oil"], ["price fell", ""]]))
    assert [each.text for each in made] == ["oil", "price fell", ""]


@pytest.mark.parametrize("texts", ["oil", b"oil", [1], [None]])
def test_texts_that_are_none_are_refused(texts):
    with pytest.raises(InputError):
        rewriter().rewrite(texts)
    with pytest.raises(ParameterError, match="blur, hide or keep"):
        rewriter(unknown="copy")


SECRET = "אבגदु😀👩\u200d\U0001f692\x07\x1b\u202e\u0301ЖЩjqzJQZ789\U0001d400\u1e9e"
"""Letters, digits, emoji, joiners, marks, controls: only secrets are written in these."""
PUBLIC = "oil price rose , . ! ? - _ ' \t \u2028 \xa0 🎈 字 ۱۲ é n't 's Ω ﷽ \u0300 \U000e0100 \ufeff \ud800"


def random_text(rng):
    """A text, its secrets and where they stand."""
    parts, spans, at = [], [], 0
    for _ in range(rng.integers(0, 12)):
        if rng.random() < 0.3:
            part = "".join(rng.choice(list(SECRET), rng.integers(1, 6)))
            spans.append((at, at + len(part), "secret"))
        else:
            part = str(rng.choice(PUBLIC.split(" "))) + " " * int(rng.integers(0, 3))
        parts.append(part)
        at += len(part)
    return "".join(parts), spans


def test_ten_thousand_random_texts_release_no_secret():
    rng = generator(11)
    machine = Rewriter(
        vocabulary(dim=4), Budgets(5, 2, 50, 20), sensitive=[Concept.from_spans("secret")], task="oil"
    )
    options = {"sensitive": machine.groups.sensitive, "task": "oil", "threshold": 0.1}
    names = [*WORDS, "##il", "o", "##s"]
    pieces = WordVectors(
        names, rng.standard_normal((len(names), 4)), continues=np.array([n[0] == "#" for n in names])
    )
    ways = [
        machine,
        machine.with_budgets(Budgets(0, 0, 50, 20)),
        machine.with_budgets(Budgets(3, 0, math.inf, math.inf)),
        *(
            Rewriter(machine.vocabulary, Budgets(5, 2, 50, 20), unknown=unknown, keep_case=True, **options)
            for unknown in ("blur", "hide", "keep")
        ),
        Rewriter(pieces, Budgets(5, 2, 50, 20), unknown="keep", **options),
        Rewriter(machine.vocabulary, Budgets(5, 2, 50, 20), mechanism="laplace", unknown="hide", **options),
    ]
    secret = set(SECRET)
    assert not secret & set("".join([*names, PUBLIC, *(name.upper() for name in names), machine.placeholder]))
    for start in range(0, 10_000, 250):
        texts, spans = zip(*(random_text(rng) for _ in range(250)), strict=True)
        for made in ways[start // 250 % len(ways)].rewrite(texts, spans=spans):
            assert not secret & set(made.text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "a" * 1_000_000, "oil " * 100_000, "😀" * 250_000, "\x00\x1b[31m" * 1000, "\u0301" * 99_999],
)
def test_long_and_odd_lines_are_taken(text):
    machine = Rewriter(vocabulary(dim=4), EXACT, sensitive=[Pattern("x")], unknown="keep")
    assert machine.rewrite([text])[0].text == text
    whole = Rewriter(vocabulary(dim=4), EXACT, sensitive=[Pattern("(?s).+")])
    made = whole.rewrite([text])[0].text
    assert (made == "") == (text == "") and (not text.strip() or text not in made or text.startswith("oil"))
