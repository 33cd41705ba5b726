"""Cutting a text into pieces, on a vocabulary of a few."""

from __future__ import annotations

from sfumato.embedders.use_lite.pieces import UNKNOWN, ScoredPieces

RESERVED = [(mark, 0.0) for mark in ("\ufffd", "<s>", "</s>", "e1", "e2", "e3")]


def pieces(*found):
    return ScoredPieces([*RESERVED, *found])


SMALL = pieces(
    ("\u2581", -2.0), ("a", -2.0), ("b", -2.0), ("ab", -3.0), ("\u2581a", -3.5), ("\u2581ab", -9.0)
)
SPACE, A, B, AB, SPACE_A, SPACE_AB = range(6, 12)


def test_the_best_sum_of_scores_wins():
    assert SMALL.read("a", 9) == [SPACE_A]
    assert SMALL.read("ab", 9) == [SPACE, AB]
    assert SMALL.read("ab b", 9) == [SPACE, AB, SPACE, B]


def test_no_text_has_no_pieces_and_spaces_are_pieces():
    assert SMALL.read("", 9) == []
    assert SMALL.read(" ", 9) == [SPACE, SPACE]


def test_characters_without_a_piece_are_one_unknown():
    assert SMALL.read("zz\U0001f600a", 9) == [SPACE, UNKNOWN, A]
    assert SMALL.read("<s>", 9) == [SPACE, UNKNOWN]


def test_unicode_is_put_in_compatible_form_first():
    assert SMALL.read("\uff41\u00a0\uff42", 9) == SMALL.read("a b", 9)


def test_a_missing_score_is_zero_and_a_sum_of_zero_gives_way():
    # With "▁c" the sum is 0, which "c" after "▁" then replaces although it is lower: so does the original.
    odd = pieces(("\u2581", -2.0), ("c", None), ("\u2581c", None))
    assert odd.read("c", 9) == [6, 7]
    assert odd.read(" c", 9) == [6, 8]


def test_of_pieces_written_alike_the_last_counts():
    assert pieces(("\u2581", -1.0), ("a", -1.0), ("a", -5.0)).read("a", 9) == [6, 8]


def test_only_the_first_pieces_are_given():
    assert SMALL.read("ab " * 1000, 5) == SMALL.read("ab " * 1000, 10_000)[:5] == [SPACE, AB] * 2 + [SPACE]
