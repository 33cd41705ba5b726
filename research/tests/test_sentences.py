"""Made-up sentences: repeatable, varied, and written as English is."""

from __future__ import annotations

import re

import pytest

from sfumato.errors import ParameterError
from sfumato_research.sentences import ordinary_sentences
from sfumato_research.vocabulary import TOPICS

WRONG = """
buyed claped cutted goed hided payed readed runned stoped swimmed telled throwed winned writed writeing runing
lieing childs mans womans wifes knifes mouses sheeps potatos quizes thesises citys familys churchs boxs
""".split()


@pytest.fixture(scope="module")
def sample():
    return ordinary_sentences(5000, seed=3)


def words(texts):
    return [word for text in texts for word in re.findall(r"[a-z'-]+", text.lower())]


def test_the_seed_decides(sample):
    assert ordinary_sentences(5000, seed=3) == sample
    assert ordinary_sentences(100, seed=3) == sample[:100]
    assert ordinary_sentences(100, seed=4) != sample[:100]
    assert ordinary_sentences(0, seed=3) == []


def test_sentences_vary(sample):
    assert len(set(sample)) > 0.95 * len(sample)
    assert len(set(words(sample))) > 3000
    lengths = sorted(len(text.split()) for text in sample)
    assert lengths[len(lengths) // 20] <= 4 and lengths[-len(lengths) // 20] >= 14
    # No way to begin takes more than a small part.
    begun = [" ".join(text.split()[:3]) for text in sample]
    assert max(begun.count(start) for start in set(begun)) < 0.03 * len(sample)
    assert 0.04 < sum(text.endswith("?") for text in sample) / len(sample) < 0.2


def test_every_topic_is_there(sample):
    assert len(TOPICS) >= 50 and len({topic.name for topic in TOPICS}) == len(TOPICS)
    text = " ".join(sample).lower()
    for topic in TOPICS:
        assert sum(word.lower() in text for word in topic.what) >= 0.7 * len(topic.what)
        assert all(len(field) >= 3 for field in topic[1:])


def test_sentences_are_well_formed(sample):
    for text in sample:
        assert text == " ".join(text.split()) and not re.search(r"[{}|+_;]| [,.?!]|[,?!][,.?!]", text), text
        assert not text[0].islower() and text.isprintable()
        assert not re.search(r"\b[Aa] [aeio]|\b[Aa]n [bcdfgjklmnpqrstvwyz]", text), text
    assert not set(WRONG) & set(words(sample))


@pytest.mark.parametrize("bad", [(-1, 0), (1.5, 0), (True, 0), (1, -1), (1, None)])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(ParameterError):
        ordinary_sentences(*bad)
