"""Leakage and Confidence on cases with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.metrics import (
    confidence_figure,
    count_confidence,
    count_leaked,
    count_prior,
    leakage_figure,
    share,
    tradeoff_rate,
)
from sfumato.metrics.leakage import constant_guess, named, pool
from sfumato.randomness import generator

PLACES = ["Paris", "New York", "Rome", "Lima", "York", "Oslo"]
SENSITIVE = [("New York", "Paris"), ("Rome",), (), ("Lima", "lima")]


def test_a_text_leaks_spans_and_tokens():
    texts = ["the new york office and york", "Rome.", "Paris", "She left LIMA, then Oslo"]
    spans = count_leaked(SENSITIVE, texts)
    assert spans.found.tolist() == [1, 1, 0, 1] and spans.total.tolist() == [2, 1, 0, 1]
    assert spans.rate == 3 / 4
    tokens = count_leaked(SENSITIVE, texts, level="token")
    assert tokens.found.tolist() == [2, 1, 0, 1] and tokens.total.tolist() == [3, 1, 0, 1]
    # The words of a span have to stand together, in order and as whole words.
    for text in ("york new", "new old york", "new yorker", "renew york"):
        assert count_leaked([("New York",)], [text]).rate == 0.0
    assert count_leaked([("St. Louis",)], ["in st louis"]).rate == 1.0


def test_only_the_first_guesses_count():
    guesses = [["Rome", "new york", "Paris"], ["rome"], ["Paris"], ["Oslo", "Lima"]]
    assert count_leaked(SENSITIVE, guesses).found.tolist() == [1, 1, 0, 0]
    # The same guess twice is one guess; |C_i| = 2 leaves room for the second one.
    assert count_leaked(SENSITIVE[:1], [["Rome", "ROME", "paris"]]).found.tolist() == [1]
    # Three tokens: rome, new, york.
    assert count_leaked(SENSITIVE[:1], [guesses[0]], level="token").found.tolist() == [2]
    assert count_leaked([("Rome",)], [[]]).rate == 0.0


def test_a_term_is_named_by_its_words_whatever_the_marks():
    assert leakage_figure([("Stratford-upon-Avon",)], ["stratford upon avon"]).value == 1.0
    assert leakage_figure([("Stratford-upon-Avon",)], [["stratford upon avon"]]).value == 1.0
    # In one Unicode form, and without case beyond what lower() does.
    assert leakage_figure([("Zu\u0308rich", "Gie\u00dfen")], ["Z\u00dcRICH and GIESSEN"]).value == 1.0
    # Without a letter or digit there is nothing to compare.
    assert count_leaked([("\u2014", "Rome")], ["rome"]).total.tolist() == [1]


def test_a_repeated_guess_is_one_guess():
    for again in ("Paris", "paris", "PARIS."):
        assert leakage_figure([("Paris", "Rome")], [["Paris", again, "Rome"]]).value == 1.0
    assert leakage_figure([("Paris", "Rome")], [["Paris", "Oslo", "Rome"]]).value == 0.5


def test_a_term_of_two_words_has_their_product():
    figure = confidence_figure([("New York",)], [[0.5, 0.8, 0.1]], ["new", "york", "rome"])
    assert (figure.metric, figure.value, figure.count) == ("confidence", pytest.approx(0.4), 1)
    assert figure.low == figure.high == figure.value


def test_figures_are_the_counts_with_intervals():
    rng = generator(0)
    truth = [tuple(rng.choice(PLACES, rng.integers(0, 4), replace=False)) for _ in range(200)]
    guesses = [list(rng.permutation(PLACES)) for _ in range(200)]
    chances = rng.random((200, len(PLACES)))
    hits, figure = count_leaked(truth, guesses), leakage_figure(truth, guesses)
    assert figure == share("leakage", int(hits.found.sum()), int(hits.total.sum()))
    hits, figure = (
        count_confidence(truth, chances, PLACES),
        confidence_figure(truth, chances, PLACES),
    )
    assert figure.value == hits.rate and figure.low < hits.rate < figure.high
    assert figure.count == hits.total.sum()
    for nothing in (leakage_figure([()], [[]]), confidence_figure([()], [[0.5]], ["a"])):
        assert (nothing.value, nothing.low, nothing.high, nothing.count) == (0.0, 0.0, 1.0, 0)


def test_which_terms_of_a_row_were_named():
    assert named(("New York", "Rome"), "in rome") == {("new", "york"): False, ("rome",): True}
    assert named(("New York",), "in york", level="token") == {("new",): False, ("york",): True}


def test_confidence_of_words_and_spans():
    chances = np.array([[0.5, 0.2, 0.1]])
    assert count_confidence([("New York",)], chances, ["new", "york", "rome"]).rate == pytest.approx(0.1)
    one_word = count_confidence([("New York",)], chances, ["new", "york", "rome"], level="token")
    assert one_word.found.tolist() == pytest.approx([0.7]) and one_word.total.tolist() == [2]
    # A vocabulary of whole terms: a word is at least as likely as the likeliest term that holds it.
    terms = ["York", "New York", "Rome"]
    assert count_confidence([("new york",)], chances, terms).rate == pytest.approx(0.2)
    assert count_confidence([("new york",)], chances, terms, level="token").found.tolist() == [
        pytest.approx(0.2 + 0.5)
    ]
    assert count_confidence([("Oslo",)], chances, terms).rate == 0.0


def test_the_best_constant_guess():
    truth = [("Rome",), ("rome", "New York"), ("Oslo",), ("Rome",)]
    assert constant_guess(truth) == ["rome", "new york", "oslo"]
    assert constant_guess(truth, level="token") == ["rome", "new", "oslo", "york"]
    # Three rows hold Rome; the row of two terms gets two guesses.
    assert count_prior(truth).found.tolist() == [1, 2, 0, 1]
    assert count_prior(truth, known=[("Oslo",)]).found.tolist() == [0, 0, 1, 0]


def test_seeds_are_pooled():
    first = count_leaked(SENSITIVE, ["New York", "", "", ""])
    second = count_leaked(SENSITIVE, ["New York", "Rome", "", ""])
    both = pool([first, second])
    assert both.found.tolist() == [2, 1, 0, 0] and both.rate == pytest.approx(3 / 8)
    assert pool(first).rate == first.rate
    with pytest.raises(InputError, match="same rows"):
        pool([first, count_leaked([("Rome",)], [""])])


def test_tradeoff_rates_of_the_paper():
    def rate(leakage, kept, clean=(60.09, 74.25)):
        return tradeoff_rate(
            clean_leakage=clean[0], released_leakage=leakage, clean_utility=clean[1], released_utility=kept
        )

    # SPARSE, table 9. Its STS12 rows of PII methods come out with a clean leakage of 60.9, not 60.09.
    assert rate(36.98, 73.25) == pytest.approx(23.11, abs=0.005)
    assert rate(0, 59.47, (60.9, 74.25)) == pytest.approx(4.12, abs=0.005)
    assert rate(0, 64.46, (60.9, 74.25)) == pytest.approx(6.22, abs=0.005)
    fiqa = (77.35, 33.56)
    assert rate(53.41, 32.65, fiqa) == pytest.approx(26.30, abs=0.01)
    assert rate(0, 21.24, fiqa) == pytest.approx(6.27, abs=0.01)
    assert rate(0, 18.37, fiqa) == pytest.approx(5.09, abs=0.005)
    assert rate(10, 74.25) is None and rate(10, 80) is None and rate(10, 74.25 - 1e-9) is None


def test_refused():
    with pytest.raises(InputError, match="one answer a row"):
        count_leaked(SENSITIVE, ["Rome"])
    with pytest.raises(ParameterError, match="level"):
        count_leaked(SENSITIVE, ["", "", "", ""], level="word")
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        count_confidence([("Rome",)], [[2.0]], ["Rome"])
    with pytest.raises(InputError, match="shape"):
        count_confidence([("Rome",)], [[0.5, 0.5]], ["Rome"])
