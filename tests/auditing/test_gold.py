"""Gold standards read from files, and what is refused."""

from __future__ import annotations

import json

import pytest

from sfumato.auditing import ScoredPairs, Searches
from sfumato.auditing.gold import read_pairs, read_searches
from sfumato.errors import InputError


def test_pairs_and_searches_are_read(tmp_path):
    table = tmp_path / "pairs.tsv"
    table.write_text("text\ttext2\tscore\na cat\ta dog\t2.5\none\ttwo\t5\n")
    pairs = read_pairs(table)
    assert (pairs.first, pairs.second, pairs.scores) == (["a cat", "one"], ["a dog", "two"], [2.5, 5.0])
    lines = tmp_path / "searches.jsonl"
    rows = [
        {"text": "x", "relevant": 3},
        {"text": "y", "relevant": [1, 2]},
        {"text": "z", "relevant": "4, 5"},
    ]
    lines.write_text("\n".join(map(json.dumps, rows)))
    assert read_searches(lines).relevant == [[3], [1, 2], [4, 5]]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([{"text": "secret words", "relevant": -1}], "Row 0 .* row numbers"),
        ([{"text": "secret words", "relevant": "next"}], "Row 0 .* row numbers"),
        ([{"text": "secret words", "relevant": []}], "Row 0 .* row numbers"),
        ([{"text": "secret words"}], "no column `relevant`"),
    ],
)
def test_bad_searches_name_the_row_and_no_text(tmp_path, lines, words):
    path = tmp_path / "searches.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match=words) as caught:
        read_searches(path)
    assert "secret" not in str(caught.value)


def test_bad_pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"text": "a", "text2": "b", "score": "much"}))
    with pytest.raises(InputError, match="Row 0 .* a number as `score`"):
        read_pairs(path)
    path.write_text(json.dumps({"text": "a", "text2": 3, "score": 1}))
    with pytest.raises(InputError, match="a text as `text2`"):
        read_pairs(path)
    for wrong in (
        lambda: ScoredPairs(["a"], ["b"], [1.0]),
        lambda: Searches([], []),
        lambda: Searches(["a"], [[]]),
    ):
        with pytest.raises(InputError):
            wrong()
