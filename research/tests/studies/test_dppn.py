"""The study of DPPN on made-up sentences that name places."""

from __future__ import annotations

import gzip
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.masks import quick_masks

from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.randomness import InsecureSeedWarning, generator
from sfumato.sensitivity import Mask
from sfumato.trials.reading import AttackMethod
from sfumato_research.dppn import attacks as dppn_attacks
from sfumato_research.dppn import categories as dppn_categories
from sfumato_research.dppn import words as dppn_words
from sfumato_research.dppn.defences import OnAxes, defence, levels, random_mask, unaware
from sfumato_research.dppn.detection import oracle
from sfumato_research.dppn.functions import table2
from sfumato_research.dppn.noise import _clouds, _mechanism, _told
from sfumato_research.dppn.words import _alike, _heat
from sfumato_research.sparse import data as sparse_data
from sfumato_research.sparse import readers as sparse_readers
from sfumato_research.sparse.passages import distinct
from sfumato_research.studies import Setting, load_study, measured
from sfumato_research.studies.running import run_study

WHO = ("the mayor", "a doctor", "two students", "the painter", "our neighbour", "an old sailor", "the team")
DID = ("opened a school", "lost the match", "sold a bicycle", "planted trees", "wrote a letter")
PLACES = ("London", "Paris", "Tokyo", "Cuba", "Texas", "France")


FAKE = Fake(dim=64)


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    """Vectors that are quick to make and to learn from, and few questions to the informed attacker."""
    with quick_masks(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_data, "encoder", lambda setting, name: FAKE)
        patch.setattr(measured, "QUICK", replace(measured.QUICK, informed=8, candidates=6))
        yield _written(tmp_path_factory)


def _written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = generator(1)

    def sentence() -> str:
        where = f" in {rng.choice(PLACES)}" if rng.random() < 0.7 else ""
        return f"{rng.choice(WHO)} {rng.choice(DID)}{where} on day {rng.integers(900)}"

    lines = ["score\tsentence1\tsentence2"]
    for row in range(120):
        first, alike = sentence(), row % 2 == 0
        second = first.replace("on day", "at") if alike else sentence()
        lines.append(f"{4.5 if alike else 1.0}\t{first}\t{second}")
    (folder / "sts12").mkdir()
    with gzip.open(folder / "sts12" / "sts12.tsv.gz", "wt", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")
    return Setting(folder, quick=True)


def test_noise_is_in_inverse_proportion_to_printed_epsilon(setting):
    found = levels(setting, (1, 2, 8))
    assert found[1] == pytest.approx(2 * found[2])
    assert found[1] == pytest.approx(8 * found[8])
    kept = sparse_data.comparison(setting, "sts12").kept_by_laplace(found[2], draws=6)
    assert kept == pytest.approx(60.72 / 74.25, abs=0.15)


def test_table_2_has_every_perturbation(setting):
    outcome = table2(setting)
    rows = outcome.tables[0].rows
    assert [(row[0], row[1].value) for row in rows][:3] == [
        ("Laplace", 1.0),
        ("Laplace", 0.1),
        ("Laplace", 0.2),
    ]
    assert len(rows) == 9
    assert rows[-1][2].printed == pytest.approx(0.0545)
    assert all(0 <= row[2].value <= 1 for row in rows)
    assert all(0 <= row[5].value <= 1 for row in rows), "the informed attacker can be asked about each"
    assert len(outcome.findings) == 4


def test_an_attacker_who_learned_from_clean_vectors_learns_once(setting):
    on = sparse_data.comparison(setting, "sts12")
    naive = unaware(on)
    split = on.split
    own = [split.texts[row] for row in split.learned]
    noise = Laplace.from_noise_ratio(50.0, dim=on.dim)
    first = naive.fit(own, split.clean[split.learned], noise, None, 0)
    assert naive.fit(own, split.clean[split.learned], None, None, 0) is first
    right = [
        guess[0] in {term.lower() for term in truth}
        for guess, truth in zip(first(split.clean[split.attacked]), split.truth, strict=True)
    ]
    assert np.mean(right) > 0.5, "the noise it was shown did not matter"


def test_the_oracle_looks_where_the_attack_reads(setting):
    on = sparse_data.comparison(setting, "sts12")
    mask = oracle(on)
    assert mask.dim == on.dim
    assert mask.scores.max() == pytest.approx(1.0)
    assert np.ptp(random_mask(on.dim, 0).scores) == on.dim - 1
    assert (
        defence(on, "dppn", 1.0, mask=mask).mechanism.axes.tolist() == mask.top(round(0.2 * on.dim)).tolist()
    )


@pytest.mark.filterwarnings(f"ignore::{InsecureSeedWarning.__module__}.InsecureSeedWarning")
@pytest.mark.parametrize("method", ["laplace", "purkayastha"])
def test_noise_on_some_axes_leaves_the_others(method):
    dim, ratio = 100, 0.3
    vectors = generator(0).standard_normal((400, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    mask = Mask(np.arange(dim) + 1.0)
    made = OnAxes.of(method, mask, 0.2, ratio)
    noise = made.privatize(vectors, 1).astype(np.float64) - vectors
    assert np.abs(noise[:, :80]).max() <= made.step(dim)
    length = np.linalg.norm(noise[:, 80:], axis=1).mean()
    if method == "laplace":
        assert length == pytest.approx(ratio, rel=0.1)
    else:  # it turns and keeps the length
        lengths = [np.linalg.norm(part[:, 80:], axis=1) for part in (vectors, vectors + noise)]
        assert np.allclose(lengths[0], lengths[1], atol=0.05)
        assert length > 0.5 * ratio
    assert made.guarantee.proof == "none"


def test_even_noise_and_suppression_are_told_apart_as_they_grow():
    plus, minus, mask = _clouds(400, 0)
    for kind in ("isotropic", "suppression"):
        weak, strong = (_told(_mechanism(kind, ratio, mask), plus, minus, 0) for ratio in (0.05, 3.0))
        assert weak[0].value > 0.95
        assert strong[1].value < weak[1].value


def test_shared_dimensions_are_found_and_drawn():
    rng = generator(0)
    groups = {"day": ["Monday", "Friday"], "place": ["Paris", "Rome"]}
    shared = {"day": slice(0, 20), "place": slice(20, 40)}
    masks = {}
    for name, words in groups.items():
        for word in words:
            scores = rng.random(200) * 0.1
            scores[shared[name]] += 1.0
            masks[word] = Mask(scores)
    table, finding = _alike(masks, groups)
    assert finding.same
    assert table.rows[0][2].value == 1.0
    assert table.rows[0][3].value < 0.3
    loose = {word: Mask(rng.random(200)) for word in masks}
    assert not _alike(loose, groups)[1].same
    picture = ElementTree.fromstring(_heat(masks, groups, "A < B"))
    texts = [node.text for node in picture.iter() if node.tag.endswith("text")]
    assert {"Monday", "Rome", "A < B"} <= set(texts)


def test_table_3_runs_each_attack_on_each_defence(setting, monkeypatch):
    def silent(setting, name):
        def fit(texts, vectors, victim, embedder, seed):
            return lambda released: [""] * len(released)

        return AttackMethod("writer", "text", fit)

    monkeypatch.setattr(sparse_readers, "writer", silent)
    monkeypatch.setattr(sparse_readers, "encoder", lambda setting: FAKE)
    outcome = dppn_attacks.table3(setting)
    (table,) = outcome.tables
    assert [row[0] for row in table.rows] == ["Vec2Text", "MLC"]
    writer, row = table.rows
    at = table.columns.index("DPPN, ε 1")
    assert writer[at].value is None and writer[at].printed == pytest.approx(0.0128, abs=1e-3)
    assert "Not measured yet: Vec2Text on DPPN at ε 1." in table.note
    assert "Vec2Text, ε 1" not in outcome.findings[0].ours, "what is not measured is in no finding"
    assert len(row) == len(table.columns) == 11
    assert row[2].printed == pytest.approx(0.532)
    assert [cell.printed for cell in row[5:8]] == pytest.approx([0.4939, 0.4980, 0.4763])
    assert row[2].value > 0.5, "clean vectors of so simple sentences can be read"
    assert "enough to count: classifier" in outcome.findings[0].ours, "attacks that say nothing do not count"
    printed, geia = (dppn_attacks.table3(setting, (name,)) for name in ("MLC", "GEIA"))
    (mlc,) = printed.tables[0].rows
    assert mlc[0] == "MLC" and mlc[1].startswith("three layers") and mlc[2].printed == row[2].printed
    assert mlc[2].value > 0.5 and "write texts" not in printed.tables[0].note
    assert [row[0] for row in geia.tables[0].rows] == ["GEIA"] and geia.findings[0].same is None
    assert "Not measured" not in geia.tables[0].note and all(cell.value is not None for cell in writer[5:7])


def test_table_4_reads_every_category_or_says_why_not(setting, monkeypatch):
    found = distinct([text] for text in sparse_data.corpus(setting.data, "sts12").texts)
    texts = {"PII": found, "STS12": found, "medical": distinct([["nothing is wrong"]])}
    monkeypatch.setattr(dppn_categories, "texts_of", lambda data, name: texts[name])
    monkeypatch.setattr(dppn_categories, "encoder", lambda setting: FAKE)
    outcome = dppn_categories.table4(setting)
    (table,) = outcome.tables
    assert [row[:2] for row in table.rows] == [["PII", "city"], ["STS12", "location"]]
    assert "Left out: medical disease" in table.note
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.rows[1][4].printed == pytest.approx(0.4969)
    assert table.rows[1][4].value > table.rows[1][5].value, "the place can be read, and less so without it"


def test_hiding_one_word_is_followed_to_the_others(setting, monkeypatch):
    groups = {"weekday": ["Monday", "Friday"], "country": ["China", "Iran"]}
    rng = generator(2)
    listed = [word for group in groups.values() for word in group]
    texts = [
        f"{rng.choice(WHO)} {rng.choice(DID)} and spoke of {rng.choice(listed)} to guest {n}"
        for n in range(320)
    ]
    monkeypatch.setattr(dppn_words, "GROUPS", groups)
    monkeypatch.setattr(dppn_words, "word_texts", lambda setting: texts)
    monkeypatch.setattr(dppn_words, "encoder", lambda setting: FAKE)
    outcome = dppn_words.words(setting)
    alike, spill = outcome.tables
    assert [row[:2] for row in alike.rows] == [["weekday", 2], ["country", 2]]
    assert [(row[0], row[1], row[2]) for row in spill.rows] == [
        ("weekday", "Monday", "trained on releases"),
        ("weekday", "Monday", "unaware"),
        ("country", "China", "trained on releases"),
        ("country", "China", "unaware"),
    ]
    assert spill.rows[1][3].printed == pytest.approx(-0.762)
    assert all(cell.value <= 0.5 for row in spill.rows for cell in row[3:])
    ElementTree.fromstring(outcome.figures[0].svg)


def test_missing_data_is_one_clear_line(setting, tmp_path):
    with pytest.raises(InputError, match="reads .*sts12.* not found"):
        run_study(load_study("dppn"), replace(setting, data=tmp_path), tmp_path)


def test_words_that_are_never_read_are_not_hidden_for_table_9():
    clean = {"monday": (0.0, 8.0), "friday": (3.0, 8.0), "sunday": (2.0, 3.0)}
    assert dppn_words._targets(["Monday", "Friday", "Sunday", "May"], clean) == ["Friday"]
    assert dppn_words._targets(["Monday", "Sunday"], clean, read=False) == ["Monday"]
    hidden = {"Monday": {"monday": (0.0, 8.0), "friday": (1.5, 8.0), "table": (2.0, 4.0)}}
    change = dppn_words._change(hidden, {**clean, "table": (4.0, 4.0)}, {"monday", "friday", "sunday"})
    assert np.isnan(change[0]) and change[1:] == pytest.approx([-0.5, -0.5])
    assert dppn_words._listed(change) == "–, -50%, -50%"


def test_cells_that_were_not_reached_are_measured_alone(setting, monkeypatch):
    asked = []
    monkeypatch.setattr(dppn_attacks, "levels", lambda setting, wanted: {1: 2.0, 2: 1.0})
    monkeypatch.setattr(
        dppn_attacks, "written", lambda setting, name, release, make: asked.append((name, release))
    )
    dppn_attacks.measure_missing(setting)
    assert asked == [("Vec2Text", "dppn@2.0000")] and len(dppn_attacks.NOT_MEASURED) == 1
