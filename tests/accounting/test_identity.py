"""Whose release it is: the same for what has the same vector, another one for anything else."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.identity import of_embedded, of_vectors
from sfumato.randomness import generator


def test_vectors_are_known_by_their_values_alone():
    rows = generator(0).standard_normal((2500, 6)).astype(np.float32)
    names = of_vectors(rows)
    assert len(set(names)) == len(rows)
    assert of_vectors(rows.astype(np.float64)) == of_vectors(np.asfortranarray(rows)) == names
    assert of_vectors(rows[7:9]) == names[7:9] and of_vectors(rows[:0]) == []
    assert of_vectors([[0.0, 1.0]]) == of_vectors([[-0.0, 1.0]])
    nudged = rows[:1].astype(np.float64)
    nudged[0, 3] = np.nextafter(nudged[0, 3], 1.0)
    assert of_vectors(nudged) != names[:1]


COPIES = st.lists(st.binary(max_size=3), min_size=1, max_size=4)


@given(COPIES, st.integers(1, 4), st.randoms())
def test_order_and_repetition_of_all_copies_change_nothing(copies, times, rng):
    again = copies * times
    rng.shuffle(again)
    assert of_embedded("model", copies) == of_embedded("model", again)


def test_what_changes_the_mean_changes_the_identity():
    lists = [[b"a"], [b"b"], [b"a", b"b"], [b"a", b"a", b"b"], [b"ab"], [b""], [b"a", b""], [b"a", b"1"]]
    assert len({of_embedded("model", each) for each in lists}) == len(lists)
    assert of_embedded("model", [b"a"]) != of_embedded("modela", [b""])
    assert not {*of_vectors(np.eye(2))} & {of_embedded("", [row.tobytes()]) for row in np.eye(2)}


@given(COPIES, COPIES)
def test_two_lists_are_one_just_where_their_shares_are(one, other):
    def shares(copies):
        return {copy: copies.count(copy) / len(copies) for copy in copies}

    assert (of_embedded("m", one) == of_embedded("m", other)) == (shares(one) == shares(other))


def test_every_permutation_of_neutral_copies_is_one():
    assert len({of_embedded("m", each) for each in itertools.permutations([b"x", b"y", b"z"])}) == 1
