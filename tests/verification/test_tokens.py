"""The check of token channels: silent on honest ones, loud on others."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.mechanisms import Laplace, Polar, Purkayastha
from sfumato.randomness import Source
from sfumato.verification import CASES
from sfumato.verification.cases import Case
from sfumato.verification.tokens import (
    check_tokens,
    count_words,
    distances,
    nearest,
    small_vocabulary,
    worst_excess,
)


@pytest.mark.parametrize("kind", [Laplace, Polar, Purkayastha], ids=lambda kind: kind.name)
@pytest.mark.parametrize("dim", [2, 3])
def test_honest_channels_pass_again_and_again(kind, dim):
    source = Source()
    for _ in range(10):
        (row,) = check_tokens(Case(kind(epsilon=2.0), dim, "tokens", "token channel"), 1000, source)
        assert row.passed and row.layer == "epsilon" and row.check.startswith("loss")
        assert 0 <= row.value <= row.limit


@pytest.mark.parametrize("kind", [Laplace, Polar, Purkayastha], ids=lambda kind: kind.name)
def test_twice_the_epsilon_is_caught(kind):
    vectors = small_vocabulary(2)
    counts = count_words(nearest(kind(epsilon=4.0), vectors, Source()), len(vectors), 20_000)
    metric = kind(epsilon=1.0).guarantee.metric
    proved, claimed = worst_excess(counts, 2.0 * distances(vectors, metric))
    assert proved > claimed
    proved, claimed = worst_excess(counts, 4.0 * distances(vectors, metric))
    assert proved <= claimed


def test_a_word_that_is_copied_through_is_caught():
    counts = np.eye(6, dtype=np.int64) * 500
    proved, claimed = worst_excess(counts, np.ones((6, 6)))
    assert proved > claimed


def test_text_s_mechanisms_have_cases_in_every_run():
    for name in ("polar", "laplace", "purkayastha"):
        for quick in (True, False):
            assert [case for case in CASES[name](quick) if case.layer == "tokens"]
