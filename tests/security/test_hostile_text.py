"""A text made to be slow costs time in step with its length, and no text is searched for ever."""

from __future__ import annotations

import importlib.util
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.composing import composed, normal
from sfumato.concepts import Concept, Dictionary, Patterns, Span
from sfumato.concepts.concept import MOST_MENTIONS
from sfumato.concepts.detectors import spacy
from sfumato.concepts.detectors.addresses import Addresses
from sfumato.concepts.detectors.names import Names
from sfumato.concepts.detectors.pieces import LONGEST, eased, pieces
from sfumato.concepts.lists import places
from sfumato.concepts.spans import merge, read_spans
from sfumato.concepts.texts.edits import cut, put
from sfumato.concepts.texts.neutral import Mention, neutral_texts, without_overlaps
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from tests.security.growth import grows_evenly

UNITS = [
    "(", ")", "'", ",", ".", "-", ":", "1", "A", " ", "\n", "é", "\u0301", "\u0315\u0300", "\u200b",
    "a@", "@a", "a.", "1-", "1.", "1,", "A-", "a_", "a:", "$1", "+1 ", "+1(", "AA1-", "0-0", "00:",
    "Rome ", "John ", "Aa ", "John. ", "10 Aa ", "Mr A ", "one ", "one hundred ", "Jan 1 ", "call me at ",
    "www.", "http://", "a@b.co ", "@sarah.connor ", "john.smith@x.org John ", "user name: ", "http://a.b/sarah/",
]  # fmt: skip

needs_spacy = pytest.mark.skipif(
    importlib.util.find_spec("spacy") is None or spacy.best_model() is None, reason="needs a spaCy pipeline"
)


def hostile(unit, size):
    return (unit * size)[:size]


@pytest.mark.parametrize(
    "detector",
    [Patterns(), Names(), Addresses(), Dictionary(places.PLACES, cased=places.CASED)],
    ids=["patterns", "names", "addresses", "places"],
)
def test_no_text_is_slow_to_search(detector):
    slow = [
        unit for unit in UNITS if not grows_evenly(lambda n, unit=unit: detector.find(hostile(unit, n)), 2000)
    ]
    assert slow == []


def mentions(count, step=5):
    return [Mention(Span(at * step, at * step + 4, "city"), ("Ashford",)) for at in range(count)]


def test_overlaps_of_many_mentions_are_settled_in_one_sweep():
    assert grows_evenly(lambda n: without_overlaps(mentions(n)), 5000)
    assert grows_evenly(lambda n: without_overlaps(mentions(n, step=1)), 5000)
    assert grows_evenly(lambda n: without_overlaps([*mentions(n), *mentions(n)]), 5000)
    assert without_overlaps(mentions(50_000)) == mentions(50_000)


def spans_of(count):
    return [Span(at * 5, at * 5 + 4, "city") for at in range(count)]


@pytest.mark.parametrize("before", ["", "(", " ", "'"])
def test_spans_are_taken_out_and_replaced_without_copying_the_text_for_each(before):
    def text(count):
        return before * (count * 5) + "Rome," * count

    def found(count):
        return [
            Span(s.start + len(before) * count * 5, s.end + len(before) * count * 5, "c")
            for s in spans_of(count)
        ]

    assert grows_evenly(lambda n: cut(text(n), found(n)), 4000)
    assert grows_evenly(lambda n: put(text(n), found(n), str.upper), 4000)
    assert grows_evenly(lambda n: cut("(" * n + "Rome" + ")" * n, [Span(n, n + 4, "c")]), 20_000)


def test_spans_are_read_and_joined_in_step_with_their_number():
    assert grows_evenly(lambda n: merge(spans_of(n)), 5000)
    assert grows_evenly(lambda n: merge(Span(0, at + 1, "c") for at in range(n)), 5000)
    assert grows_evenly(lambda n: read_spans([(at, at + 1, "c") for at in range(n)], n), 5000)
    assert grows_evenly(lambda n: neutral_texts("Rome " * n, mentions(n), 8), 2000)


MARKS = "".join(chr(code) for code in range(0x300, 0x370)) + "\u0f71\u0f72\u0f73\u0f80\u0344\uff9e"


@given(st.text(st.sampled_from(MARKS + "aé\uac00 \u2028´ﬁ"), max_size=120))
def test_normal_forms_are_the_library_s(text):
    assert composed(text) == unicodedata.normalize("NFC", text)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert normal(text, form) == unicodedata.normalize(form, text)


def test_accents_piled_on_one_letter_are_composed_in_step_with_their_number():
    for unit in ("\u0315\u0300", "\u0301\u0316", "\u0315\u0f73", "\u0308\u0316\u0301"):
        assert grows_evenly(lambda n, unit=unit: composed("a" + hostile(unit, n)), 20_000)
        assert grows_evenly(lambda n, unit=unit: normal("a" + hostile(unit, n), "NFKD"), 20_000)
        assert grows_evenly(lambda n, unit=unit: Dictionary(["Rome"]).find("a" + hostile(unit, n)), 10_000)


@given(st.text(), st.integers(10, 40))
def test_pieces_are_the_text(text, longest):
    parts = list(pieces(text, longest))
    assert "".join(part for part, _ in parts) == text
    assert [at for _, at in parts] == [sum(len(part) for part, _ in parts[:k]) for k in range(len(parts))]
    assert max(len(part) for part, _ in parts) <= longest


@given(st.text(st.sampled_from("(,.a1 _'\n"), max_size=400))
def test_easing_a_text_moves_no_character_and_touches_no_letter(text):
    copy = eased(text)
    assert len(copy) == len(text)
    assert all(new == old or (new == " " and not old.isalnum()) for new, old in zip(copy, text, strict=True))
    assert eased(text[:90]) == text[:90] or "(" in text[:90] or set(text[:90]) & set(",.'_")


@needs_spacy
def test_brackets_are_not_taken_off_one_by_one():
    detector = spacy.Spacy()
    for unit in ("(", ",", "'", ":)", "_", "!", "…", "US$"):
        assert grows_evenly(lambda n, unit=unit: detector.find(hostile(unit, n) + str(n)), 2000)
    text = "(" * 20_000 + " John Smith went to Paris. " + "'s" * 200 + " Mary Jones stayed."
    found = [text[span.start : span.end] for span in detector.find(text)]
    assert {"John Smith", "Paris", "Mary Jones"} <= set(found)


@needs_spacy
def test_new_words_do_not_fill_the_memory_of_a_pipeline(monkeypatch):
    monkeypatch.setattr(spacy, "_NEW_WORDS", 200)
    detector = spacy.Spacy(labels=["person"])
    detector.find("John Smith")
    words = spacy.load(detector.model).vocab.strings
    before = len(words)
    texts = [" ".join(f"q{turn}x{word}z" for word in range(300)) for turn in range(12)]
    for text in texts:
        list(detector.find_many([text, "John Smith stayed."]))
    assert len(words) - before < 1000
    assert detector.find("We met Sarah Connor there.") == [Span(7, 19, "person")]


class Stop(Exception):
    pass


class Patience:
    """Raises when it is asked once too often, as a time limit would."""

    def __init__(self, times):
        self.left = times

    def __call__(self):
        if self.left == 0:
            raise Stop
        self.left -= 1


class Counting:
    name, blind_to = "counting", "Everything."

    def __init__(self):
        self.seen = 0

    def find(self, text):
        self.seen += 1
        return []


def test_a_search_ends_between_texts_when_it_is_told_to():
    counting = Counting()
    concept = Concept.from_detector("x", counting)
    with pytest.raises(Stop):
        list(concept.find_all(["a"] * 100, check=Patience(7)))
    assert counting.seen == 7
    labelled = Concept.from_spans("PER")
    with pytest.raises(Stop):
        list(labelled.find_all(["a"] * 9, [[]] * 9, check=Patience(3)))
    assert list(concept.find_all(["a"] * 3, check=Patience(-1))) == [[], [], []]


@needs_spacy
def test_a_search_ends_inside_a_long_text_when_it_is_told_to(monkeypatch):
    turns = []
    search = spacy._search

    def counted(model, batch, check):
        found = search(model, batch, check)
        turns.append(sum(len(piece) for piece, _ in batch))
        return found

    monkeypatch.setattr(spacy, "_search", counted)
    text = "Nothing happened here at all today. " * 20_000
    with pytest.raises(Stop):
        list(Concept.named("person").find_all([text], check=Patience(4)))
    assert sum(turns) <= 4 * 2 * LONGEST < len(text)


def test_a_text_full_of_mentions_is_refused_by_its_row():
    concept = Concept.from_terms("city", ["Rome", "Oslo"])
    protector = Protector(Laplace(epsilon=50.0), Fake(dim=16), (concept,))
    assert len(protector.mentions(["Rome " * MOST_MENTIONS])[0]) == MOST_MENTIONS
    with pytest.raises(InputError, match=r"at most 4,096 mentions of `city`. Found 20,000 in row 1") as error:
        protector.embed(["a quiet day", "Rome " * 20_000])
    assert "Rome" not in str(error.value)
