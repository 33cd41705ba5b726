"""The study of the ready-made reader, on a handful of sentences."""

from __future__ import annotations

import gzip

import pytest

from sfumato_research.studies import Setting
from sfumato_research.vec2text import more as vec2text_more
from sfumato_research.vec2text import study as vec2text
from sfumato_research.vec2text.more import _hits, other_sets
from sfumato_research.vec2text.study import table_1
from sfumato_research.vec2text.texts import NON_COMMERCIAL, held_back, shortened

SENTENCES = (
    "The food was great and the staff were friendly.",
    "She bought a new car last week.",
    "A man is playing a guitar.",
    "The weather is nice today.",
    "The children are playing in the park.",
    "He works at the bank in the city.",
    "The company reported a loss in the third quarter.",
    "The dog is running on the beach.",
    "I will never go back to this place.",
    "The president met the prime minister on Monday.",
    "The film is a bit too long.",
    "They lost the game in the last minute.",
)


@pytest.fixture
def data(tmp_path):
    for folder, name, head in (
        ("sentences", "sentences", "source\ttext"),
        ("quora_pairs", "quora_pairs", "split\tis_duplicate\tquestion1\tquestion2"),
        ("trec6", "trec6", "split\tlabel\tfine_label\ttext"),
    ):
        (tmp_path / folder).mkdir()
        columns = head.count("\t")
        lines = [head]
        for number, text in enumerate(SENTENCES):
            fields = (
                ["made"] * (columns - 1) + [text, text]
                if folder == "quora_pairs"
                else ["made"] * columns + [text]
            )
            lines.append("\t".join(fields[: columns + 1]))
            if folder == "sentences":
                lines.append(f"{NON_COMMERCIAL[0]}\tnot to be used {number}")
        with gzip.open(tmp_path / folder / f"{name}.tsv.gz", "wt", encoding="utf-8") as handle:
            handle.write("\n".join(lines) + "\n")
    return tmp_path


def test_held_back_sentences_are_those_the_recipe_held_back(data):
    found = held_back(data, 100)
    assert sorted(found) == sorted(shortened(SENTENCES))
    assert shortened(["word " * 60])[0].split() == ["word"] * 32


def test_common_sentences_are_read_back(data, monkeypatch):
    monkeypatch.setattr(vec2text, "_QUICK", ("0 steps", "1 step"))
    monkeypatch.setattr(vec2text, "held_back", lambda folder, count: shortened(SENTENCES[:6]))
    outcome = table_1(Setting(data, quick=True))
    rows = {row[0]: row for row in outcome.tables[0].rows}
    assert [rows[label][1] for label in ("0 steps", "1 step")] == [1, 2]
    assert rows["0 steps"][4].value > 50
    assert rows["1 step"][6].value >= rows["0 steps"][6].value, "the closer of the two is kept"
    assert rows["0 steps"][3].printed == 31.9
    assert outcome.figures[0].svg.startswith("<svg")


def test_other_sets_are_read_where_they_are_there(data, monkeypatch):
    monkeypatch.setattr(vec2text_more, "_some", lambda *given: shortened(SENTENCES[:3]))
    outcome = other_sets(Setting(data, quick=True))
    assert {row[0] for row in outcome.tables[0].rows} == {"trec6", "quora_pairs"}


def test_names_count_whole_and_in_order():
    assert _hits(("Ann", "Lee"), "patient ann lee, 40") == (True, True, True)
    assert _hits(("Ann", "Lee"), "lee, ann") == (True, True, False)
    assert _hits(("Ann", "Lee"), "anna leeds") == (False, False, False)
