"""Practised readers on planted problems: what a defence does not destroy has to be read again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.attacks.base import fresh_releases
from sfumato.attacks.writers.corrector import Corrector
from sfumato.attacks.writers.estimate import LinearEstimate
from sfumato.attacks.writers.made_texts import more_texts
from sfumato.attacks.writers.practised import Practised
from sfumato.attacks.writers.textreader import TextReader
from sfumato.concepts.concept import Concept
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.mechanisms import Identity, Laplace, Mahalanobis
from sfumato.mechanisms.transform import Transform
from sfumato.metrics.intervals import mean
from sfumato.metrics.reconstruction import token_f1
from sfumato.protector import Protector
from sfumato.randomness import generator
from tests.attacks.planted import SLOTS, Planted, sentences
from tests.places import DEVICE

ENCODER = Planted()
OWN = sentences(500, 0)
UNSEEN = [text for text in dict.fromkeys(sentences(120, 1)) if text not in set(OWN)]
CLEAN, TARGETS = ENCODER.embed(OWN), ENCODER.embed(UNSEEN)
SMALL = {"wordpieces": 200, "longest": 8, "width": 64, "layers": 1, "positions": 2, "batch": 32}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A reader of clean vectors, and their corrector, as the attacker has it before he practises."""
    attack = Corrector(**SMALL, embedder=ENCODER, epochs=8, corrections=2, steps=2, beam=2)
    path = tmp_path_factory.mktemp("reader") / "clean"
    reader = attack.fit(OWN, CLEAN)
    reader.embedder = None
    reader.save(path)
    return path


@pytest.fixture(scope="module")
def attack(folder):
    return Practised(
        reader=folder, embedder=ENCODER, practice=3000, batch=32, rate=2e-3, likeliest=1, held_back=0.1
    )


@pytest.fixture(scope="module")
def beginner(folder):
    reader = TextReader.load(folder)
    return TextReader(reader.network, reader.pieces)


def f1(reader, vectors):
    """Mean token F1 with its interval."""
    rows = reader.recover(vectors).rows
    return mean("token F1", [token_f1(text, str(row)) for text, row in zip(UNSEEN, rows, strict=True)])


def turned() -> Transform:
    """Dimensions in another order, half of them with the opposite sign: no reader loses anything by it."""
    order, signs = generator(3).permutation(32), np.where(generator(4).random(32) < 0.5, -1.0, 1.0)
    return Transform("turned", lambda rows: rows[:, order] * signs, note="a shuffle with signs")


def coded(bits: int = 256) -> Transform:
    """On which side of so many planes a vector lies."""
    planes = generator(5).standard_normal((32, bits))
    return Transform("codes", lambda rows: np.where(rows @ planes >= 0, 1.0, -1.0), note="b", output=bits)


def test_what_is_only_turned_is_read_as_if_it_were_clean(attack, beginner):
    defence, optimum = turned(), f1(beginner, TARGETS)
    released = defence.privatize(TARGETS)
    assert optimum.value > 0.95  # nothing is lost by a turn: this is the best there is
    assert f1(beginner, released).high < 0.5
    practised = attack.fit(OWN, CLEAN, defence)
    assert f1(practised, released).high >= optimum.low
    assert practised.practice["estimate"] and practised.control.value > 0.9


def test_what_no_linear_map_undoes_takes_practice(attack, beginner):
    """Half of the vectors with the opposite sign: no two sentences are opposite, so all can be read."""
    plane = generator(8).standard_normal(32)
    middle = np.median(CLEAN @ plane)
    defence = Transform(
        "folded", lambda rows: rows * np.where(rows @ plane >= middle, 1.0, -1.0)[:, None], note="folds"
    )
    released, optimum = defence.privatize(TARGETS), f1(beginner, TARGETS)
    undone = replace(attack, practice=1).fit(OWN, CLEAN, defence)
    assert max(f1(undone, released).value, f1(beginner, released).value) < 0.6
    practised = replace(attack, practice=12_000, rate=3e-3).fit(OWN, CLEAN, defence)
    assert f1(practised, released).high >= optimum.low > 0.95


def test_codes_of_another_length_are_read(attack, beginner):
    defence = coded()
    practised = attack.fit(OWN, CLEAN, defence)
    assert practised.dim == 256
    # 256 sides leave no two of these sentences alike, so the optimum is to read all of them.
    assert len(np.unique(defence.privatize(TARGETS), axis=0)) == len(UNSEEN)
    assert f1(practised, defence.privatize(TARGETS)).high >= f1(beginner, TARGETS).low
    shuffled = defence.privatize(TARGETS)[generator(0).permutation(len(UNSEEN))]
    assert f1(practised, shuffled).value < 0.5  # which text it is, not how such texts read


def test_practice_on_clean_vectors_does_no_harm(attack, beginner):
    practised = attack.fit(OWN, CLEAN)
    assert f1(practised, TARGETS).high >= f1(beginner, TARGETS).low
    assert practised.practice["ratio"] == 0.0 and not practised.practice["estimate"]
    same = attack.fit(OWN, CLEAN, Identity())
    assert f1(same, TARGETS).high >= f1(beginner, TARGETS).low


def test_practice_that_does_harm_is_thrown_away(attack, beginner):
    wild = replace(attack, rate=1.0, practice=64).fit(OWN, CLEAN)
    assert not wild.practice["kept"] and wild.practice["loss_after"] >= wild.practice["loss_before"]
    assert wild.recover(TARGETS).rows == beginner.recover(TARGETS).rows


@pytest.mark.parametrize("shape", ["isotropic", "elliptical"])
def test_noise_is_read_better_after_practice(attack, beginner, shape):
    if shape == "isotropic":
        noise = Laplace.from_noise_ratio(0.8, dim=32)
    else:
        noise = Mahalanobis.from_noise_ratio(0.8, shape=np.linspace(0.05, 2.0, 32))
    released = fresh_releases(noise, 77)(TARGETS)
    practised = attack.fit(OWN, CLEAN, noise)
    assert f1(practised, released).value > f1(beginner, released).value + 0.02
    blurred = Laplace.from_noise_ratio(30.0, dim=32)
    assert f1(attack.fit(OWN, CLEAN, blurred), fresh_releases(blurred, 7)(TARGETS)).value < 0.5


def test_noise_is_drawn_where_the_network_is(drawn, attack):
    noise = Laplace.from_noise_ratio(0.5, dim=32)
    small = replace(attack, practice=300, device=DEVICE)
    released = fresh_releases(noise, 77)(TARGETS)
    drawn.clear()
    practised = small.fit(OWN[:100], CLEAN[:100], noise)
    assert len(drawn) > 2 and practised.practice["loss_after"] > 0
    assert f1(practised, released).value > 0.3


def test_neutral_texts_are_practised_through_the_entrance(attack, beginner):
    """The place is gone from the vector, so the optimum is every word but the place, and a guess at that."""
    places = Concept.from_terms("place", SLOTS[2])
    protector = Protector(turned(), embedder=ENCODER, concepts=(places,), neutral=4)
    entering = protector.prepare(OWN).vectors
    released = protector.embed(UNSEEN)
    practised = attack.fit(OWN, entering, protector)
    assert practised.practice["made"] == attack.made  # fresh texts went the same way, or would not be made
    rows = [str(row).split() for row in practised.recover(released).rows]
    others = np.mean(
        [
            [word in row for word in text.split() if word not in SLOTS[2]]
            for text, row in zip(UNSEEN, rows, strict=True)
        ]
    )
    named = mean("place", [float(text.split()[2] in row) for text, row in zip(UNSEEN, rows, strict=True)])
    assert others > 0.9
    assert named.high < 2 / len(SLOTS[2])  # a guess names one of so many
    assert f1(practised, released).low > f1(beginner, released).high + 0.2  # a turn is all he cannot read


def test_vectors_that_the_encoder_does_not_give_are_learned_from_alone(attack, beginner):
    """Releases that leaked with their texts, under a key he is not told."""
    secret = turned()
    leaked = secret.privatize(CLEAN)
    practised = attack.fit(OWN, leaked)
    assert practised.practice["made"] == 0.0
    assert f1(practised, secret.privatize(TARGETS)).high >= f1(beginner, TARGETS).low
    assert f1(attack.fit(OWN, CLEAN), secret.privatize(TARGETS)).value < 0.5  # and without a pair, nothing
    longer = attack.fit(OWN, 7 * leaked)  # a store's own scale says nothing
    assert (
        longer.recover(7 * secret.privatize(TARGETS)).rows
        == practised.recover(secret.privatize(TARGETS)).rows
    )


@pytest.mark.parametrize("leaks", [False, True])
def test_corrections_are_compared_with_what_the_defence_would_release(attack, leaks):
    defence = turned()
    steps = replace(attack, steps=2, beam=2, branch=2)
    practised = steps.fit(OWN, defence.privatize(CLEAN)) if leaks else steps.fit(OWN, CLEAN, defence)
    released = defence.privatize(TARGETS[:30])
    found = practised.recover(released)
    right = [row for row, text in enumerate(UNSEEN[:30]) if str(found.rows[row]) == text]
    assert len(right) > 25
    assert np.all(found.details["cosine"][right] > 0.98)


def test_the_corrector_practises_too(attack):
    noise = Laplace.from_noise_ratio(0.5, dim=32)
    steps = replace(attack, steps=2, beam=2, branch=2)
    released = fresh_releases(noise, 77)(TARGETS)
    practised = steps.fit(OWN, CLEAN, noise)
    alone = TextReader(
        practised.network, practised.pieces, estimate=practised.estimate, ratio=practised.ratio
    )
    assert f1(practised, released).high >= f1(alone, released).low
    assert practised.release.mechanism is noise


def test_the_same_seed_reads_the_same_also_after_saving(attack, tmp_path):
    noise = Laplace.from_noise_ratio(0.5, dim=32)
    small = replace(attack, practice=200, steps=1, beam=2, branch=2)
    released = fresh_releases(noise, 5)(TARGETS[:20])
    one, two = (small.fit(OWN[:100], CLEAN[:100], noise) for _ in range(2))
    first = one.recover(released)
    assert two.recover(released).rows == first.rows and two.practice == one.practice
    digest = one.save(tmp_path / "kept")
    assert len(digest) == 64
    again = TextReader.load(tmp_path / "kept", embedder=ENCODER)
    assert again.recover(released).rows == first.rows and again.practice == one.practice
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "config.json",
        "tensors.safetensors",
    ]


def test_a_reader_of_codes_is_saved_unless_it_has_to_make_them(attack, tmp_path):
    defence = coded()
    small = replace(attack, practice=64)
    plain = small.fit(OWN[:100], CLEAN[:100], defence)
    plain.save(tmp_path / "kept")
    again = TextReader.load(tmp_path / "kept")
    released = defence.privatize(TARGETS[:20])
    assert again.dim == 256 and again.recover(released).rows == plain.recover(released).rows
    searching = replace(small, steps=1, beam=1).fit(OWN[:100], CLEAN[:100], defence)
    with pytest.raises(ArtifactError, match="cannot be saved"):
        searching.save(tmp_path / "not")


def test_an_estimate_that_does_not_fit_is_refused(attack, tmp_path):
    for parts in (((3, 2), 2, 2), ((3, 2), 3, 3)):
        with pytest.raises(ArtifactError, match="fit each other"):
            LinearEstimate(*(np.zeros(shape, np.float32) for shape in parts))
    with pytest.raises(ArtifactError, match="finite"):
        LinearEstimate(np.full((3, 2), np.nan, np.float32), np.zeros(3, np.float32), np.zeros(2, np.float32))
    reader = replace(attack, practice=32).fit(OWN[:60], CLEAN[:60], coded())
    reader.estimate = LinearEstimate(*(np.zeros(shape, np.float32) for shape in ((256, 31), 256, 31)))
    reader.save(tmp_path / "wrong")
    with pytest.raises(ArtifactError, match="32 dimensions"):
        TextReader.load(tmp_path / "wrong")


def test_progress_is_told(attack):
    told = []
    replace(attack, practice=200).fit(OWN[:60], CLEAN[:60], on_step=lambda *facts: told.append(facts))
    assert told[0][0] == "practising on releases" and told[-1][1] == 1.0


def test_made_texts_hold_words_of_the_texts_in_their_order():
    made = more_texts(["a b c d e f", "u v w x y z", "q"], 200, generator(0))
    assert len(made) == 200 and len(set(made)) > 40
    for text in made:
        words = text.split()
        assert words and len(words) <= 8
        for letters in ("abcdef", "uvwxyz"):
            own = [word for word in words if word in letters]
            assert own == sorted(own)


def test_what_it_cannot_use_is_refused(attack):
    with pytest.raises(InputError, match="four texts"):
        attack.fit(OWN[:3], CLEAN[:3])
    with pytest.raises(InputError, match="all-MiniLM-L6-v2"):
        Practised(embedder=ENCODER).fit(OWN[:10], CLEAN[:10])
    with pytest.raises(InputError, match="victim's encoder"):
        Practised(embedder=None, steps=1)
    with pytest.raises(InputError, match="one text a vector"):
        attack.fit(OWN, CLEAN[:-1])
    for wrong in ({"practice": 0}, {"made": 1.5}, {"rate": 0.0}, {"steps": -1}, {"held_back": 0.0}):
        with pytest.raises(ParameterError):
            Practised(**wrong)


def test_without_an_encoder_it_practises_on_the_given_vectors(attack):
    defence = turned()
    practised = replace(attack, embedder=None, practice=500).fit(OWN, CLEAN, defence)
    assert practised.practice["made"] == 0.0
    assert f1(practised, defence.privatize(TARGETS)).value > 0.8


def test_it_is_run_like_any_other_attack_with_a_control_on_the_same_rows(attack):
    from sfumato.evaluation import Defence
    from sfumato.trials.running import run_attack
    from sfumato.trials.threat import ThreatModel

    defence = Defence(name="turned", mechanism=turned(), embedder=ENCODER)
    threat = ThreatModel(texts=[*OWN, *UNSEEN], embedder=ENCODER, defence=defence)
    result = run_attack(replace(attack, practice=1500), threat)
    assert result.control.value > 0.9 and result.figures[0].metric == "token F1"
    assert result.figures[0].high >= result.control.low
