"""Which sentences of a text file its row, whatever the text is."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sfumato.embedders.fake import Fake
from sfumato.errors import InputError
from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook
from sfumato.sealing.cells.filing import LONGEST_UNIT, MOST_UNITS, cells_of, filed, units

SENTENCES = [
    "The patient came to the clinic with a dry cough and a mild fever.",
    "Two weeks of rest were advised, and plenty of water!",
    'A nurse called later: "is there any pain when breathing?"',
    "Everything was noted in the file of the department.",
]


def numbered(count: int) -> list[str]:
    return [f"This is sentence number {number} of a longer text about something." for number in range(count)]


def test_sentences_are_the_units():
    assert units(" ".join(SENTENCES)) == SENTENCES
    assert units("\n\n".join(each.rstrip(".!") for each in SENTENCES)) == [s.rstrip(".!") for s in SENTENCES]


def test_sentences_without_a_space_between_them_are_told_apart():
    joined = "".join(each[:-1] + "." for each in numbered(5)).replace("something.", "something else.")
    assert len(units(joined)) == 5
    assert units(
        "版本一是这样的一个长句子，讲的是病人的咳嗽和发烧。" * 3
        + "医生说要休息两个星期，并且要多喝水，这样才会好得更快一些。" * 6
    )


def test_numbers_and_abbreviations_do_not_end_a_sentence():
    text = "A dose of 2.5 mg was given by Dr. Ito at 10.30 after a visit to example.com. " * 4
    assert all("2.5 mg" in each or "Ito" in each for each in units(text))
    assert not any(len(each) < 20 for each in units(text))


@pytest.mark.parametrize(
    "text", ["", " ", "One. Two. Three.", "word " * 30, "a" * 200, SENTENCES[0], " " * 5000]
)
def test_short_texts_have_none(text):
    assert units(text) == []


def test_one_long_sentence_is_one_unit_too_few():
    assert units("word " * 60) == []


def test_a_repeated_sentence_counts_once():
    assert units(" ".join([*SENTENCES, *SENTENCES, SENTENCES[0].upper()])) == SENTENCES
    assert units(" ".join([SENTENCES[0]] * 50)) == []


def test_a_long_text_has_single_sentences_first_and_runs_after_them():
    found = units(" ".join(numbered(100)))
    assert len(found) == MOST_UNITS
    assert found[: MOST_UNITS // 2] == numbered(100)[: MOST_UNITS // 2]
    assert "number 99 " in found[-1] and all(len(each) <= LONGEST_UNIT for each in found)
    assert units(" ".join(numbered(40)), most=2)[0] == numbered(1)[0]
    assert units(" ".join(numbered(40)), most=1) == units(" ".join(numbered(40)), most=0) == []


HOSTILE = {
    "dots": "." * 1_000_000,
    "dots and spaces": ". " * 500_000,
    "quotes": '."' * 500_000,
    "brackets": ".)))))" * 200_000,
    "blanks": "\n" + " " * 1_000_000 + "x",
    "new lines": "\n" * 1_000_000,
    "lines and blanks": "\n   " * 250_000,
    "one word": "x" * 1_000_000,
    "words": "word " * 200_000,
    "letters and dots": "aa.Bb" * 200_000,
    "ideographic": "。" * 1_000_000,
    "zero bytes": "\0" * 1_000_000,
    "marks that combine": "a" + "\u0301" * 1_000_000,
    "grows when folded": "ŉ" * 1_000_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_are_bounded(kind):
    start = time.process_time()
    found = units(HOSTILE[kind])
    assert time.process_time() - start < 1.0
    assert len(found) <= MOST_UNITS and all(0 < len(each) <= LONGEST_UNIT for each in found)
    assert len({each.casefold() for each in found}) == len(found)


def test_time_grows_with_the_text_alone():
    pieces = ["." * 30_000, "\n" + " " * 30_000, '."' * 15_000, "aa.B" * 7_500]
    for piece in pieces:
        times = []
        for size in (1, 2):
            start = time.process_time()
            for _ in range(3):
                units(piece * size)
            times.append(time.process_time() - start)
        assert times[1] < 10 * times[0] + 0.05


def test_a_row_is_filed_under_its_own_cell_and_those_of_its_sentences():
    embedder = Fake(dim=32)
    texts = [" ".join(SENTENCES), "a short note", " ".join(numbered(6))]
    vectors = embedder.embed(texts)
    rows = filed(texts, vectors, embedder)
    assert rows.count == 3 and len(rows.vectors) == 3 + 4 + 6
    book = Codebook.learn(rows.vectors, cells=8, tables=2, rng=generator(0))
    found = cells_of(texts, vectors, book, embedder)
    for text, vector, places in zip(texts, vectors, found, strict=True):
        every = np.vstack([vector[None], *(embedder.embed([each]) for each in units(text))])
        assert places == {(table, int(cell)) for row in book.assign(every) for table, cell in enumerate(row)}
    assert len(found[1]) == 2


def test_rows_are_filed_alike_alone_and_beside_others(monkeypatch):
    from sfumato.sealing.cells import filing

    embedder = Fake(dim=16)
    texts = [" ".join(numbered(count)) for count in (3, 0, 9, 4, 1, 30)]
    vectors = embedder.embed(texts)
    book = Codebook.learn(vectors, cells=5, rng=generator(0))
    together = cells_of(texts, vectors, book, embedder)
    monkeypatch.setattr(filing, "_TEXTS_AT_ONCE", 2)
    assert cells_of(texts, vectors, book, embedder) == together
    assert [
        cells_of([t], v[None], book, embedder)[0] for t, v in zip(texts, vectors, strict=True)
    ] == together


def test_nothing_is_filed_for_nothing_and_lists_must_fit():
    embedder = Fake(dim=16)
    book = Codebook.learn(np.empty((0, 16)), rng=generator(0))
    assert cells_of([], np.empty((0, 16), np.float32), book, embedder) == []
    with pytest.raises(InputError, match="one text a vector"):
        cells_of(["one"], embedder.embed(["one", "two"]), book, embedder)
