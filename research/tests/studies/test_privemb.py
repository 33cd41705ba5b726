"""The study of PRIVEMB on made-up words: good and bad ones stand in different company."""

from __future__ import annotations

import gzip
from xml.etree import ElementTree

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.mechanisms import Identity
from sfumato.mechanisms.gaussian import gaussian_delta
from sfumato.randomness import generator
from sfumato_research.privemb import tasks as privemb_tasks
from sfumato_research.privemb.geometry import geometry
from sfumato_research.privemb.linear import lexicon, linear, ridge, support, training
from sfumato_research.privemb.modes import modes
from sfumato_research.privemb.tasks import RELEASES, fresh, load, sentence, table, tasks
from sfumato_research.privemb.words import DELTA, glove, m1, m2, same_promise, trained
from sfumato_research.studies import Setting, load_study
from sfumato_research.studies.running import run_study

DIM = 60
LETTERS = "abcdefghij"
GOOD, BAD = ([f"{stem}{a}{b}" for a in LETTERS[:4] for b in LETTERS] for stem in ("fine", "poor"))
PLAIN = [f"thing{a}{b}{c}" for a in LETTERS for b in LETTERS for c in "xy"]


def write(path, lines):
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = generator(3)
    good = rng.standard_normal(DIM) / np.sqrt(DIM)
    vectors = []
    for word in (*GOOD, *BAD, *PLAIN):
        vector = 3.0 * rng.standard_normal(DIM) / np.sqrt(DIM)
        vector += good * 4.0 * ((word in GOOD) - (word in BAD))
        vectors.append(word + " " + " ".join(f"{number:.5f}" for number in vector))
    write(folder / "glove_100d" / "glove.6B.100d.top20k.txt.gz", vectors)
    listed = [f"positive\t{word}" for word in GOOD] + [f"negative\t{word}" for word in (*BAD, "unheard")]
    write(folder / "opinion_lexicon" / "opinion_lexicon.tsv.gz", ["polarity\tword", *listed])
    company = (PLAIN[:20], PLAIN[20:40])
    texts = []
    for _ in range(2500):
        side = int(rng.integers(2))
        around = list(rng.choice(company[side], 3)) + list(rng.choice(PLAIN, 1))
        texts.append("made\t" + " ".join([*around, str(rng.choice((GOOD, BAD)[side]))]))
    write(folder / "sentences" / "sentences.tsv.gz", ["source\ttext", *texts])

    def judged(number: int) -> tuple[int, str]:
        label = int(rng.integers(2))
        words = [*rng.choice((BAD, GOOD)[label], 3), *rng.choice(PLAIN, 2)]
        return label, " ".join([*map(str, words), "unheard"])

    lines = [f"{label}\t{text}" for label, text in map(judged, range(300))]
    write(folder / "mr" / "mr.tsv.gz", ["label\ttext", *lines, "1\tunheard"])
    lines = [
        f"{'test' if n % 4 == 0 else 'train'}\t{label}\t{text}"
        for n, (label, text) in enumerate(map(judged, range(300)))
    ]
    write(folder / "trec6" / "trec6.tsv.gz", ["split\tlabel\ttext", *lines])
    return folder


def _rows(outcome, number=0):
    return [list(row) for row in outcome.tables[number].rows]


def test_errors_fall_with_epsilon_and_pictures_are_whole(data):
    outcome = geometry(Setting(data, quick=True))
    distances = _rows(outcome)
    assert len(distances) == 2 * 3
    assert outcome.tables[0].columns[2:4] == ("M1", "M2, beta 0.5")
    assert [row[1] for row in distances[:3]] == [1.0, 2.0, 5.0]
    off = [row[2].value for row in distances[:3]]
    assert off[0] > 1.8 * off[1] > 3.0 * off[2]
    sizes = _rows(outcome, 3)
    assert sizes[0][3].value == pytest.approx(DIM)
    assert all(row[3].value < row[4].value for row in sizes if row[4] is not None), "proposition 7"
    assert [figure.name[-5] for figure in outcome.figures] == ["1", "2", "5", "6"]
    for figure in outcome.figures:
        ElementTree.fromstring(figure.svg)


def test_a_linear_model_finds_the_planted_difference_as_noise_allows(data):
    outcome = linear(Setting(data, quick=True))
    rows = {(row[0].split(",")[0], row[1]): row for row in _rows(outcome)}
    assert outcome.tables[0].columns[2:4] == ("clean", "M1")
    assert rows["GloVe", 50.0][2].value > 0.95
    assert rows["GloVe", 50.0][3].value > 0.9
    assert rows["GloVe", 2.0][3].value < rows["GloVe", 50.0][3].value - 0.05
    assert rows["trained here", 2.0][2].value > 0.8, "company tells good words from bad ones"
    assert [len(each.rows) for each in outcome.tables] == [6, 6, 6]


def test_figure_4_compares_dimensions(data):
    outcome = training(Setting(data, quick=True))
    assert [(row[0], row[1]) for row in _rows(outcome)][:2] == [(50, 5.0), (50, 20.0)]
    assert len(_rows(outcome)[0]) == len(outcome.tables[0].columns)
    assert outcome.findings[0].same in (True, False)


def test_the_lexicon_is_even_and_known(data):
    words, good = lexicon(data, glove(data), trained(data))
    assert good.sum() * 2 == len(words)
    assert set(words) <= {*GOOD, *BAD}


def test_both_linear_models_learn():
    rng = generator(0)
    label = np.arange(200) % 2 == 0
    points = rng.standard_normal((200, 5)) + 2.0 * label[:, None]
    for fit in (support, ridge):
        guess = fit(points[:150], label[:150], points[150:]) > 0
        assert (guess == label[150:]).mean() > 0.9
    wide = np.c_[points, 50 * rng.standard_normal((200, 100))]
    shrunk = ridge(wide[:150], label[:150], wide[150:]) > 0
    assert (shrunk == label[150:]).mean() > 0.4


def test_gaussian_noise_keeps_the_promise_at_every_distance(data):
    words = glove(data)
    made = same_promise(words, 5.0)
    farthest = 2 * words.bound
    found = [gaussian_delta(5.0 * r, r, made.sigma) for r in np.linspace(farthest / 100, farthest, 100)]
    assert max(found) <= DELTA
    assert found[-1] > DELTA / 2, "no more noise than it takes"


def test_modes_say_which_promise_holds(data):
    outcome = modes(Setting(data, quick=True))
    rows = {(row[0].split(",")[0], row[1]): row for row in _rows(outcome)}
    width, exact = (rows["GloVe", f"M2, beta 0.9, {mode}"] for mode in ("width", "spectral"))
    assert exact[4].value == pytest.approx(10.0)
    assert width[4].value == pytest.approx(
        10.0 * m2(glove(data), 10.0, 0.9, sensitivity="spectral").stretch(DIM) / 1.9
    )
    assert all(0 <= row[9].value <= 1 for row in rows.values())
    assert rows["GloVe", "M1, Laplace"][9].value > 0.05, "one in 280 by chance"
    assert len(outcome.tables[1].rows) == 6


def test_table_1_reads_classes_from_noisy_words(data, monkeypatch):
    few = {name: privemb_tasks.PRINTED[name] for name in ("mr", "trec6")}
    monkeypatch.setattr(privemb_tasks, "PRINTED", few)
    outcome = tasks(Setting(data, quick=True))
    rows = _rows(outcome)
    assert len(rows) == 2 * 2 * 3
    assert rows[0][:3] == ["MR", f"GloVe, {DIM}d", "one noisy table of words"]
    assert rows[0][3].value > 95
    assert rows[0][3].printed == 81.1
    assert outcome.tables[0].columns[6:8] == ("M2, dev.", "M2, test")
    assert (rows[0][6].printed, rows[0][7].printed) == (57.76, 58.11)
    assert rows[1][7].printed is None
    assert rows[2][5].value <= rows[0][3].value


def test_a_noisy_table_repeats_itself_and_fresh_noise_does_not(data):
    words = glove(data)
    task = load(data, "mr", words, 2, None, 0)
    assert len(task.labels) == 300, "a sentence without a known word is left out"
    assert "unheard" not in words.words
    clean = sentence(Identity(max_norm=1e6), words, task, 0)
    twice = privemb_tasks.SentenceTask(
        task.flat[[0, 0]], np.array([0, 1]), task.labels[:2], [np.array([0])], task.texts[:2]
    )
    noisy = table(m1(words, 5.0), words, twice, 0)
    assert np.array_equal(noisy[0], noisy[1])
    other = fresh(m1(words, 5.0), words, twice, 0)
    assert not np.array_equal(other[0], other[1])
    sizes = np.diff(np.append(task.starts, len(task.flat)))
    noise = fresh(RELEASES["M1"](words, 0), words, task, 0) - clean
    alone = sentence(RELEASES["M1"](words, 0), words, task, 0) - clean
    ratio = np.linalg.norm(alone) / np.linalg.norm(noise)
    assert ratio == pytest.approx(np.sqrt(sizes.mean()), rel=0.1), "means of words average their noise"


def test_words_in_one_company_are_alike(data):
    words = trained(data)
    place = words.places()
    rows = words.vectors / np.linalg.norm(words.vectors, axis=1, keepdims=True)
    good, bad = ([place[word] for word in side if word in place] for side in (GOOD, BAD))
    assert (rows[good] @ rows[good].T).mean() > (rows[good] @ rows[bad].T).mean() + 0.02
    assert np.linalg.norm(words.vectors, axis=1).mean() == pytest.approx(
        np.linalg.norm(glove(data).vectors, axis=1).mean()
    )
    assert trained(data, None, 5).dim == 5


def test_missing_data_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match="reads .*glove_100d.*sentences.* not found"):
        run_study(load_study("privemb"), Setting(tmp_path), tmp_path)
    (tmp_path / "glove_100d").mkdir()
    with pytest.raises(InputError, match=r"must hold glove\.6B"):
        glove(tmp_path)
