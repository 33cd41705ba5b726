"""The study of STAMP on made-up sets: it finds what is planted in them."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.randomness import generator
from sfumato.text import WordVectors
from sfumato_research.stamp.attack import STAMP, UNIFORM, PriorKnowledge, attacked
from sfumato_research.stamp.figures import figure_five, figure_six
from sfumato_research.stamp.laplace import CoordinateLaplace, table_span
from sfumato_research.stamp.overhead import timed
from sfumato_research.stamp.rows import CODE, POLAR, Configuration, compare
from sfumato_research.stamp.rows import UNIFORM as EQUAL
from sfumato_research.stamp.sets import Texts, classes, fantasy, squad
from sfumato_research.stamp.table import direction, table_one
from sfumato_research.studies import Setting, load_study
from sfumato_research.studies.running import run_study

RNG = generator(3)
NAMES = [f"word{number}" for number in range(400)]
WORDS = WordVectors(NAMES, RNG.standard_normal((400, 384)))
pytestmark = pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")


def kept(made, originals, places):
    """Share of the words at some places that are as they were."""
    return np.array(
        [
            np.mean([new.split()[at] == old.split()[at] for at in places])
            for new, old in zip(made, originals, strict=True)
        ]
    )


def made_texts(places, count=12):
    """Texts whose first two words are sensitive and whose third is the task; scored by what is kept where."""
    rng = generator(1)
    texts = [" ".join(NAMES[number] for number in rng.integers(0, 400, 12)) for _ in range(count)]
    ends = [len(" ".join(text.split()[:2])) for text in texts]

    def score(made):
        return {"kept": {name: kept(each, texts, places) for name, each in made.items()}}

    return Texts(
        texts,
        [text.split()[2] for text in texts],
        [[(0, end, "sensitive")] for end in ends],
        np.arange(count),
        score,
        "kept",
        "words are compared",
    )


@pytest.fixture
def setting(tmp_path):
    return Setting(tmp_path, quick=True)


def test_the_published_laplace_has_the_noise_it_says():
    span = table_span(WORDS)
    assert span == pytest.approx(np.ptp(WORDS.vectors, axis=0).sum(), rel=1e-4)
    mechanism = CoordinateLaplace(1000.0, span)
    noise = mechanism.privatize(WORDS.vectors, 5).astype(float) - WORDS.vectors
    assert noise.std() == pytest.approx(mechanism.noise_sd(384), rel=0.02)
    assert np.abs(noise).mean() == pytest.approx(span / 1000, rel=0.02)


def test_what_is_planted_is_found(setting):
    """Budgets help where they are spent: uniform wins on sensitive words, STAMP on the task's."""
    on_sensitive = compare(setting, made_texts([0, 1]), "planted", WORDS)
    on_task = compare(setting, made_texts([2]), "planted", WORDS)
    pair = (Configuration(CODE, 1, POLAR), Configuration(CODE, 1, EQUAL))
    assert on_sensitive.difference("kept", *pair).high < -0.3
    assert on_task.difference("kept", *pair).value >= 0
    assert on_sensitive.spent[pair[0]] == on_sensitive.spent[pair[1]]


def test_table_one_has_a_row_a_budget_and_a_verdict_a_claim(setting):
    found = table_one(setting, "squad", made_texts([0, 1]), WORDS)
    (table,) = found.tables
    assert len(table.rows) == 1 + 3 * 3 and all(len(row) == len(table.columns) for row in table.rows)
    assert table.rows[0][3].value == 1.0 and table.rows[0][3].printed == 0.839
    published, _, uniform = found.findings
    assert published.same is True and uniform.same is False and uniform.cause
    assert found.figures[0].svg.startswith("<svg")


def test_a_verdict_follows_the_intervals():
    from sfumato_research.studies.base import Cell

    up, down, open_ = Cell(0.1, 0.05, 0.2), Cell(-0.1, -0.2, -0.05), Cell(0.0, -0.1, 0.1)
    assert direction([("a", up), ("b", open_)]) is True
    assert direction([("a", up), ("b", down)]) is False
    assert direction([("a", open_)]) is None


def test_figure_six_falls_with_every_group(setting):
    found = figure_six(setting, "planted", made_texts([0, 1, 5, 6, 7]), WORDS)
    (table,) = found.tables
    lowest = table.rows[0]
    values = [cell.value for cell in lowest[1:]]
    assert values[-1] == 1.0 and values[0] > 0.5 > values[2]
    assert found.findings[0].same is True


def test_figure_five_has_a_row_a_threshold(setting):
    found = figure_five(setting, made_texts([0], count=3), WORDS, Fake())
    shares = [row[1].value for row in found.tables[0].rows]
    assert len(shares) == 7 and shares == sorted(shares, reverse=True)
    assert found.findings[0].same in (True, False)


def test_the_attack_gets_more_of_louder_words(setting):
    texts = made_texts([3, 4], count=30)
    attacker = PriorKnowledge(np.arange(400), np.ones(400), _context(texts.texts), draws=4)
    found = attacked(setting, texts, WORDS, attacker, (5.0, 120.0))
    rows = {(row[0], row[1]): row for row in found.tables[0].rows[2:]}
    quiet, loud = (rows[STAMP, level][7].value for level in ("5", "120"))
    assert quiet < 0.3 < loud
    assert [row[0] for row in found.tables[0].rows].count(UNIFORM) == 2
    assert found.findings[1].same is True


def _context(texts):
    from sfumato_research.text.context import ContextModel

    return ContextModel.fit(WORDS, texts)


def test_overhead_is_measured_step_by_step(setting):
    found = timed(setting, ["word1 word2 word3 in London"] * 3, ["word1"] * 3, WORDS)
    steps = [row[0] for row in found.tables[0].rows]
    assert steps[:2] == ["rewrite, polar", "rewrite, laplace"] and len(steps) == 6
    assert all(row[2].value > 0 for row in found.tables[0].rows)


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as handle:
        handle.writelines(f"{line}\n" for line in lines)


def test_sets_are_read_and_cut_fairly(tmp_path, setting):
    contexts = [
        {
            "context_id": f"{title}#0",
            "title": title,
            "context": f"Ada Lovelace lives in London. The {title} river is {title} miles long.",
        }
        for title in ("one", "two", "three", "four")
    ]
    questions = [
        {"id": f"{row['title']}-{ask}", "context_id": row["context_id"], "question": ask, "answers": [answer]}
        for row in contexts
        for ask, answer in (
            ("Where does Ada Lovelace live?", "London"),
            (f"Which river is {row['title']} miles long?", row["title"]),
        )
    ]
    write(tmp_path / "squad_dev/contexts.jsonl.gz", map(json.dumps, contexts))
    write(tmp_path / "squad_dev/questions.jsonl.gz", map(json.dumps, questions))
    found = squad(setting)
    # Half of the articles are asked about, two questions each.
    assert len(found.texts) == 4 and len(np.unique(found.groups)) == 2
    inside = {
        task.split()[0]: bool(flag) for task, flag in zip(found.tasks, found.answer_inside, strict=True)
    }
    assert inside == {"Where": True, "Which": False}
    scores = found.score({"clean": found.texts})
    assert set(scores) == {"answer cosine", "exact match"} and len(scores["exact match"]["clean"]) == 4


def test_classes_are_learned_from_clean_text(tmp_path, setting):
    kinds = {"1": "the team won the game and the player scored", "2": "the bank lost money on the market"}
    lines = ["split\tlabel\ttext"]
    lines += [
        f"{split}\t{label}\t{text} {number}"
        for split in ("train", "test")
        for number in range(8)
        for label, text in kinds.items()
    ]
    write(tmp_path / "ag_news/ag_news.tsv.gz", lines)
    found = classes(setting, "ag_news")
    scores = found.score({"clean": found.texts, "wrong": found.texts[::-1]})["accuracy"]
    assert len(found.texts) == 16 and scores["clean"].mean() == 1.0


def test_invented_names_are_sensitive(setting):
    found = fantasy(setting)
    assert all(spans for spans in found.spans)
    assert found.answer_inside.any() and not found.answer_inside.all()


def test_missing_sets_stop_the_study_in_one_line(tmp_path, setting):
    with pytest.raises(InputError, match="reads ag_news, squad_dev, yelp5, not found") as caught:
        run_study(load_study("stamp"), setting, tmp_path)
    assert "\n" not in str(caught.value)
