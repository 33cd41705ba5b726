"""The ready-made reader: what ships reads real MiniLM vectors, and fits where it has to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sfumato.attacks.writers import minilm
from sfumato.attacks.writers.minilm import ReadyMade, model_path, told_ratio
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.search import STRONG
from sfumato.attacks.writers.textreader import TextReader
from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.metrics.reconstruction import token_f1
from sfumato.release import as_release

TEXTS = [
    "the doctor will see you tomorrow morning.",
    "my sister lives in a small house near the river.",
    "the company reported a loss in the second quarter.",
    "he was born in london and studied medicine.",
    "please send me the report before friday.",
    "the food was cold and the service was slow.",
    "she plays the piano and loves old films.",
    "a large dog is running on the beach.",
    "the price of oil fell again last week.",
    "we moved to berlin three years ago.",
    "the patient complains of chest pain and fever.",
    "i have two brothers and a cat.",
]


@pytest.fixture(scope="module")
def encoder():
    return load_embedder("minilm")


@pytest.fixture(scope="module")
def vectors(encoder):
    return encoder.embed(TEXTS)


@pytest.fixture(scope="module")
def reader():
    return ReadyMade().fit()


def f1(rows) -> float:
    return float(np.mean([token_f1(text, str(row)) for text, row in zip(TEXTS, rows, strict=True)]))


def test_it_reads_real_vectors_without_training(reader, vectors):
    read = reader.recover(vectors).rows
    assert f1(read) > 0.75
    assert f1(read[1:] + read[:1]) < 0.5  # which text it is, not how such texts read


def test_a_search_comes_closer(reader, encoder, vectors):
    found = ReadyMade(steps=1, beam=1).fit().recover(vectors[:2])
    alone = reader.recover(vectors[:2])
    cosines = np.vecdot(encoder.embed([str(row) for row in alone.rows]), vectors[:2])
    assert np.all(found.details["cosine"] >= cosines - 1e-4)


def test_editing_comes_closer_still(reader, encoder, vectors):
    found = ReadyMade(polish=1).fit().recover(vectors[:2])
    alone = encoder.embed([str(row) for row in reader.recover(vectors[:2]).rows])
    assert np.all(found.details["cosine"] >= np.vecdot(alone, vectors[:2]) - 1e-4)


@pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")
def test_it_is_told_how_much_noise_there_is(vectors):
    noise = Laplace.from_noise_ratio(0.7, dim=384)
    reader = ReadyMade(likeliest=1).fit([], None, noise)
    assert reader.ratio == pytest.approx(0.7, abs=0.01) == told_ratio(as_release(noise), 384)
    released = noise.privatize(vectors, 0)
    told = reader.recover(released).rows
    reader.ratio = 0.0
    silent = reader.recover(released).rows
    assert np.mean([token_f1(a, b) for a, b in zip(TEXTS, told, strict=True)]) > np.mean(
        [token_f1(a, b) for a, b in zip(TEXTS, silent, strict=True)]
    )


def test_the_control_is_measured_on_texts_it_is_given(vectors):
    reader = ReadyMade(held_back=0.5).fit(TEXTS, vectors)
    assert reader.control.rows == 6 and reader.control.value > 0.6


def test_practice_changes_the_network(reader, vectors):
    noise = Laplace.from_noise_ratio(0.3, dim=384)
    before = reader.network.bias.detach().numpy().copy()
    after = ReadyMade(epochs=1, batch=4, held_back=0.4).fit(TEXTS[:6], vectors[:6], noise)
    assert not np.array_equal(before, after.network.bias.detach().numpy())


@pytest.mark.parametrize(("asked", "taken"), [(None, 3e-5), (2e-4, 2e-4)])
def test_few_steps_on_a_processor_have_a_rate_that_unlearns_nothing(vectors, monkeypatch, asked, taken):
    rates = []

    class Heard(minilm.Trainer):
        def __init__(self, network, *, rate, **others):
            rates.append(rate)
            super().__init__(network, rate=rate, **others)

    monkeypatch.setattr(minilm, "Trainer", Heard)
    noise = Laplace.from_noise_ratio(0.3, dim=384)
    attack = ReadyMade(epochs=0.1, batch=4, rate=asked, held_back=0.4, device="cpu")
    attack.fit(TEXTS[:6], vectors[:6], noise)
    assert rates == [taken]


def test_vectors_of_another_encoder_are_refused(vectors):
    with pytest.raises(InputError, match="384"):
        ReadyMade().fit(TEXTS, vectors[:, :100])


def test_the_package_stays_under_40_megabytes():
    assert sum(path.stat().st_size for path in Path(model_path()).parent.rglob("*") if path.is_file()) < 40e6


def test_settings_of_the_search_reach_it():
    settings = ReadyMade(steps=2, beam=3, polish=4, wide=2, moves=5, pairs=6, cycles=2)
    search = settings.fit().search
    for name in ("steps", "beam", "polish", "wide", "moves", "pairs", "cycles"):
        assert getattr(search, name) == getattr(settings, name), name
    for name, value in {"wide": 0, "moves": -1, "pairs": 257, "cycles": 0}.items():
        with pytest.raises(InputError, match=name):
            ReadyMade(**{name: value})


def test_the_strong_search_is_chosen_by_one_setting():
    assert ReadyMade(strong=True).fit().search is STRONG
    assert ReadyMade().fit().search.candidates == 1
    for name, value in {"steps": 5, "beam": 2, "branch": 4, "polish": 1, "cycles": 2}.items():
        with pytest.raises(InputError, match=f"strong .*{name}"):
            ReadyMade(strong=True, **{name: value})
    with pytest.raises(InputError, match="true or false"):
        ReadyMade(strong="yes")


def test_the_strong_search_reads_what_one_text_does_not(reader, encoder, monkeypatch):
    # The whole of it embeds thousands of texts: a narrower one, gone through once, is enough here.
    narrow = replace(STRONG, steps=2, beam=4, branch=4, first=16, moves=8, cycles=1)
    monkeypatch.setattr("sfumato.attacks.writers.minilm.STRONG", narrow)
    text = TEXTS[4]
    vector = encoder.embed([text])
    assert reader.recover(vector).rows != [text]
    assert ReadyMade(strong=True).fit().recover(vector).rows == [text]


def test_another_reader_may_take_its_place_and_read_longer_texts(tmp_path, encoder):
    made = Sizes(
        384, 30522, longest=48, apart=34, width=64, layers=1, heads=1, pairs=1, positions=2, word_width=64
    )
    torch.manual_seed(0)
    TextReader(Network(made), Wordpieces.minilm()).save(tmp_path / "longer", packed=True)
    attack = ReadyMade(reader=tmp_path / "longer", likeliest=2)
    reader = attack.fit()
    assert reader.network.sizes == made and reader.network.text_start == 3 * 2 + 34
    long_text = " ".join(TEXTS)
    found = reader.recover(encoder.embed([long_text, *TEXTS]))
    # Nobody taught it to stop: it writes as much as there is room for, more than the shipped one can.
    counts = [len(row) for row in reader.pieces.numbers([str(row) for row in found.rows])]
    assert len(found.rows) == 13 and 32 < max(counts)
    searching = replace(attack, steps=1, beam=2, branch=2).fit()
    close = searching.recover(encoder.embed([long_text]))
    again = encoder.embed([str(close.rows[0])]) @ encoder.embed([long_text])[0]
    assert close.details["cosine"][0] == pytest.approx(float(again[0]), abs=1e-4)
