"""Pairs: the same text with and without a concept, split so that near-duplicates stay together."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.concepts import Concept, Patterns, build_pairs
from sfumato.concepts.detectors.dictionary import folded
from sfumato.concepts.texts.duplicates import near_duplicates, split
from sfumato.errors import InputError, ParameterError
from sfumato.randomness import generator

CITIES = ("Paris", "Rome", "Oslo", "Lima", "Cairo")
CITY = Concept.from_terms("city", CITIES)
OPENINGS = ["she", "my old teacher", "the tall man", "nobody here", "a friend of mine"]
MIDDLES = ["bought a boat in", "lost three keys near", "learned to cook in", "wrote long letters from"]
ENDINGS = ["last winter", "before the war", "and never told", "with great joy", "for no reason"]
TEXTS = [
    f"{opening} {middle} {CITIES[number % 5]} {ending}"
    for number, (opening, middle, ending) in enumerate(
        (opening, middle, ending) for opening in OPENINGS for middle in MIDDLES for ending in ENDINGS
    )
]


def test_every_row_is_the_text_with_and_without_the_concept():
    texts = ["no city at all", *TEXTS, "Paris", "again none"]
    pairs = build_pairs(texts, CITY, seed=1)
    assert pairs.kinds == ("removal", "substitution", "placeholder")
    assert len(pairs) == len(TEXTS) and pairs.rows == tuple(range(1, 101))
    assert pairs.plus == tuple(TEXTS) and pairs.clean == (0, 102) and pairs.emptied == 1
    for plus, minus, other, neutral, terms in zip(
        pairs.plus, pairs.minus, pairs.substitutes, pairs.placeholders, pairs.terms, strict=True
    ):
        (term,) = terms
        assert term in plus.lower() and term not in minus.lower() and term not in other.lower()
        assert minus.split() == [word for word in plus.split() if folded(word) != term]
        assert len(other.split()) == len(plus.split()) and CITY.find(other)
        assert neutral == CITY.replace(plus)


def test_the_same_seed_gives_the_same_pairs():
    one, two, other = (build_pairs(TEXTS, CITY, seed=seed) for seed in (3, 3, 4))
    assert one.substitutes == two.substitutes and np.array_equal(one.test, two.test)
    assert one.substitutes != other.substitutes
    rng = build_pairs(TEXTS, CITY, rng=generator(3))
    assert rng.substitutes == one.substitutes
    with pytest.raises(ParameterError, match="not both"):
        build_pairs(TEXTS, CITY, rng=generator(3), seed=3)


def test_kinds_copies_and_limit():
    only = build_pairs(TEXTS, CITY, kinds=["removal"], seed=0)
    assert only.minus and not only.substitutes and not only.placeholders and only.kinds == ("removal",)
    many = build_pairs(TEXTS, CITY, copies=3, seed=0)
    assert len(many.substitutes) == 3 * len(many)
    assert many.substitutes[: len(many)] != many.substitutes[len(many) : 2 * len(many)]
    few = build_pairs(["none"] * 50 + TEXTS, CITY, limit=10, seed=0)
    assert len(few) == 10 and list(few.rows) == sorted(few.rows)
    assert len(few.clean) < 50 and few.statistics()["checked"] == 10 + len(few.clean)
    for wrong in ({"kinds": ["magic"]}, {"kinds": []}, {"copies": 0}, {"limit": 0}, {"test_share": 1.0}):
        with pytest.raises(ParameterError):
            build_pairs(TEXTS, CITY, **wrong)


def test_figures_hold_counts_and_no_text():
    texts = ["Paris and Rome rule", "Paris and Rome rules", "Oslo is cold and dark", "nothing", "Lima"]
    pairs = build_pairs(texts, CITY, seed=0)
    figures = pairs.statistics()
    assert figures == {
        "concept": "city",
        "found_by": "5 listed terms",
        "checked": 5,
        "rows": 3,
        "share": 0.8,
        "spans_per_text": 5 / 3,
        "distinct_terms": 3,
        "top_term_counts": [2, 2, 1],
        "groups": 3,
        "duplicates": 0,
        "emptied": 1,
        "train": len(pairs.train),
        "test": len(pairs.test),
    }
    assert json.loads(json.dumps(figures)) == figures
    assert not any(city.lower() in json.dumps(figures).lower() for city in CITIES)
    assert pairs.statistics(top=2)["top_terms"] == {"paris": 2, "rome": 2}
    assert "rule" not in repr(pairs) and "Paris" not in repr(pairs)


def test_templates_that_differ_in_the_concept_alone_are_one_group():
    texts = [f"we flew to {city} on monday" for city in CITIES] + ["the weather in Oslo was cold"]
    pairs = build_pairs(texts, CITY, seed=0)
    assert len(set(pairs.groups[:5].tolist())) == 1 and pairs.groups[5] != pairs.groups[0]
    assert pairs.statistics()["duplicates"] == 4


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.2, 0.5]))
def test_near_duplicates_are_never_on_both_sides(seed, share):
    rng = generator(seed)
    texts = []
    for _ in range(12):
        text = TEXTS[int(rng.integers(len(TEXTS)))]
        texts.append(text)
        # The same sentence with another city, other case and punctuation, and a number.
        city = CITIES[int(rng.integers(5))]
        twin = " ".join(city if word in CITIES else word for word in text.split())
        texts += [twin.upper() + "!", f"{twin} {int(rng.integers(100))}", f"{twin} {int(rng.integers(100))}"]
    pairs = build_pairs(texts, CITY, test_share=share, seed=seed)
    train = {frozenset(folded(pairs.minus[row]).strip("!").split()) for row in pairs.train}
    test = {frozenset(folded(pairs.minus[row]).strip("!").split()) for row in pairs.test}
    assert not train & test
    assert sorted([*pairs.train, *pairs.test]) == list(range(len(pairs)))
    assert not set(pairs.groups[pairs.train].tolist()) & set(pairs.groups[pairs.test].tolist())


WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=25), st.sampled_from([0.5, 0.7, 0.9, 1.0]))
def test_groups_are_exactly_those_that_comparing_every_pair_gives(texts, threshold):
    groups = near_duplicates(texts, threshold=threshold)
    sets = [set(text.split()) for text in texts]
    joined = list(range(len(texts)))
    for one, other in combinations(range(len(texts)), 2):
        if len(sets[one] & sets[other]) >= threshold * len(sets[one] | sets[other]):
            joined = [joined[one] if mark == joined[other] else mark for mark in joined]
    for one, other in combinations(range(len(texts)), 2):
        assert (groups[one] == groups[other]) == (joined[one] == joined[other])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.floats(0, 0.9), st.integers(0, 99))
def test_a_split_keeps_groups_whole_and_something_to_learn_from(marks, share, seed):
    _, groups = np.unique(marks, return_inverse=True)
    train, test = split(groups, share, generator(seed))
    assert sorted([*train, *test]) == list(range(len(groups)))
    assert not set(groups[train].tolist()) & set(groups[test].tolist())
    assert len(train) > 0
    assert len(test) <= share * len(groups) + max(np.bincount(groups)) / 2


def test_a_split_is_about_as_large_as_asked_for():
    groups = near_duplicates(
        [f"{number} {'xyz'[number % 3]} word{chr(97 + number % 26)}" for number in range(3000)]
    )
    _, test = split(groups, 0.2, generator(0))
    assert abs(len(test) / 3000 - 0.2) < 0.05


def test_nothing_found_says_what_was_tried():
    with pytest.raises(InputError) as failed:
        build_pairs(["secret words", "more of them"], CITY)
    message = str(failed.value)
    assert message.startswith("No text contains the concept `city`: checked 2 texts with 5 listed terms.")
    assert "--terms" in message and "secret" not in message
    with pytest.raises(InputError, match="and 1 held nothing else"):
        build_pairs(["Paris", "x"], CITY)
    with pytest.raises(InputError, match="checked 0 texts"):
        build_pairs([], CITY)


def test_bad_texts_are_refused_by_row():
    with pytest.raises(InputError, match="Found int in row 1"):
        build_pairs(["Paris it is", 3], CITY)
    with pytest.raises(InputError, match="Found one string"):
        build_pairs("Paris", CITY)
    with pytest.raises(InputError, match="Found 1 for 2 texts"):
        build_pairs(["a", "b"], CITY, spans=[[]])


def test_spans_that_come_with_the_data():
    texts = ["Ann sings well", "Bob paints walls", "nobody here"]
    spans = [[{"start": 0, "end": 3, "label": "PER"}], [(0, 3, "PER")], []]
    pairs = build_pairs(texts, Concept.from_spans("PER"), spans=spans, seed=0)
    assert pairs.minus == ("sings well", "paints walls") and pairs.terms == (("ann",), ("bob",))
    # Without terms of its own, what was found in one text stands in for what was found in another.
    assert pairs.substitutes == ("Bob sings well", "Ann paints walls")
    with pytest.raises(ParameterError, match="takes its spans from the data"):
        build_pairs(texts, Concept.from_spans("PER"))


def test_without_a_second_value_there_are_no_substitutes():
    pairs = build_pairs(["write to a@b.org now"], Concept.from_detector("email", Patterns("email")), seed=0)
    assert pairs.kinds == ("removal", "placeholder") and pairs.substitutes == ()
