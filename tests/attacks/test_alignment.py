"""Alignment against planted spaces: exact where a map exists, less so with noise or with few pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from sfumato import artifacts
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Inverter, Recovered, fresh_releases
from sfumato.attacks.kept_reader import READERS
from sfumato.attacks.known_texts.alignment import AlignedReader, Alignment, Library
from sfumato.attacks.known_texts.leastsquares import (
    RIDGES,
    LeaveOneOut,
    crossed_errors,
    fit_procrustes,
    fit_ridge,
    moments,
)
from sfumato.attacks.known_texts.linkage import Linkage
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, InputError, ParameterError, VectorError
from sfumato.mechanisms import Gaussian, Mahalanobis, Purkayastha, Suppression
from sfumato.metrics.similarity import pair_cosines
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.release import Release, as_release
from sfumato.sensitivity import Mask
from sfumato.trials.making import inverter_of

DIM = 32
OWN = Fake(dim=DIM)
SYLLABLES = (
    "ba",
    "ko",
    "li",
    "mu",
    "ne",
    "pra",
    "sto",
    "vi",
    "zur",
    "gel",
    "fan",
    "hot",
    "wy",
    "cra",
    "dul",
    "quo",
)


def made_up(count, seed):
    """Texts of made-up words, so that their vectors point everywhere."""
    rng = generator(seed)
    words = ["".join(rng.choice(SYLLABLES, size)) for size in rng.integers(2, 5, 4 * count)]
    return [" ".join(words[4 * row : 4 * row + 4]) for row in range(count)]


TEXTS, ATTACKED = made_up(216, 1), made_up(40, 2)


def rotation(seed=1, dim=DIM):
    return np.linalg.qr(generator(seed).standard_normal((dim, dim)))[0]


def random_map(seed=2):
    return generator(seed).standard_normal((DIM, DIM))


class Victim:
    """The attacker's own space, turned: an encoder that a linear map gives away."""

    def __init__(self, matrix):
        self.matrix, self.asked = matrix, 0

    def embed(self, texts):
        self.asked += 1
        rows = OWN.embed(texts).astype(np.float64) @ self.matrix
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def linear(texts, matrix):
    """Vectors that are exactly a linear map of the attacker's, without unit length."""
    return OWN.embed(texts).astype(np.float64) @ matrix


def attack(**changes):
    return Alignment(**{"encoder": OWN, "corpus": ATTACKED, **changes})


def test_registered():
    assert ATTACKS.get("alignment") is Alignment


@pytest.mark.parametrize(("centre", "pairs"), [(False, DIM), (True, DIM + 1), (True, 200)])
def test_a_linear_map_is_undone_exactly_with_as_many_pairs_as_dimensions(centre, pairs):
    matrix = random_map()
    made = attack(centre=centre, ridge=0.0).fit(TEXTS[:pairs], linear(TEXTS[:pairs], matrix))
    victim = linear(ATTACKED, matrix)
    assert pair_cosines(made.align(victim), OWN.embed(ATTACKED)).min() > 1 - 1e-5
    assert made.recover(victim).rows == ATTACKED


def test_one_pair_less_is_not_enough():
    matrix = random_map()
    made = attack(centre=False, ridge=0.0).fit(TEXTS[: DIM - 1], linear(TEXTS[: DIM - 1], matrix))
    assert pair_cosines(made.align(linear(ATTACKED, matrix)), OWN.embed(ATTACKED)).min() < 0.999


def test_the_ridge_chosen_by_itself_is_small_where_the_map_is_exact():
    matrix = random_map()
    made = attack().fit(TEXTS, linear(TEXTS, matrix))
    assert pair_cosines(made.align(linear(ATTACKED, matrix)), OWN.embed(ATTACKED)).min() > 1 - 1e-4
    assert made.control.metric == "cosine" and made.control.value > 0.999 and made.control.rows == 22


def test_a_rotation_is_undone_exactly_with_as_many_pairs_as_dimensions():
    key = rotation()
    victim = Victim(key)
    made = attack(method="procrustes").fit(TEXTS[:DIM], victim.embed(TEXTS[:DIM]))
    assert made.linear.matrix == pytest.approx(key.T, abs=1e-4)
    assert made.recover(victim.embed(ATTACKED)).rows == ATTACKED


def test_pairs_that_are_noisy_give_a_rotation_away_sooner_than_any_map():
    victim = Victim(rotation())
    leaked = fresh_releases(Gaussian(sigma=0.15), 3)(victim.embed(TEXTS[:80]))
    kept = {
        method: pair_cosines(
            attack(method=method).fit(TEXTS[:80], leaked).align(victim.embed(ATTACKED)), OWN.embed(ATTACKED)
        ).mean()
        for method in ("ridge", "procrustes")
    }
    assert kept["procrustes"] > kept["ridge"] + 0.02


def test_a_rotation_from_too_few_pairs_says_nothing_about_the_rest():
    key = rotation()
    few = Victim(key).embed(TEXTS[:10])
    made = attack(method="procrustes").fit(TEXTS[:10], few)
    sizes = np.linalg.svd(made.linear.matrix, compute_uv=False)
    assert sizes == pytest.approx([1.0] * 10 + [0.0] * (DIM - 10), abs=1e-6)
    assert pair_cosines(made.align(few), OWN.embed(TEXTS[:10])).min() > 1 - 1e-5


def test_another_dimension_is_no_obstacle():
    small, large = generator(3).standard_normal((DIM, 20)), generator(3).standard_normal((DIM, 50))
    for matrix in (small, large):
        made = attack().fit(TEXTS, linear(TEXTS, matrix))
        assert made.align(linear(ATTACKED, matrix)).shape == (len(ATTACKED), DIM)
        turned = attack(method="procrustes").fit(TEXTS, linear(TEXTS, matrix))
        assert turned.linear.matrix.shape == matrix.T.shape
    assert pair_cosines(made.align(linear(ATTACKED, large)), OWN.embed(ATTACKED)).min() > 1 - 1e-4


def test_more_pairs_come_closer():
    victim = Fake(dim=48)  # the same n-grams under other signs: no exact map
    kept = [
        pair_cosines(
            attack(pairs=pairs).fit(TEXTS, victim.embed(TEXTS)).align(victim.embed(ATTACKED)),
            OWN.embed(ATTACKED),
        ).mean()
        for pairs in (5, 40, 200)
    ]
    assert kept[0] < kept[1] < kept[2]


def test_the_victim_is_never_asked():
    victim = Victim(rotation())
    vectors = victim.embed(TEXTS)
    attack().fit(TEXTS, vectors).recover(victim.embed(ATTACKED))
    assert victim.asked == 2  # the leak and the attacked vectors, both before the attack


def test_noise_enters_as_a_ridge_just_as_if_it_were_simulated():
    """E|(X + Z) W - Y|^2: the closed form against the same fit to very many noisy copies."""
    rng = generator(4)
    x, y = rng.standard_normal((40, 6)), rng.standard_normal((40, 3))
    spread = np.diag(np.linspace(0.1, 2.0, 6))
    exact = fit_ridge(x, y, ridge=0.0, noise=spread, centre=False)
    noisy = np.concatenate([x + rng.multivariate_normal(np.zeros(6), spread, 40) for _ in range(3000)])
    drawn = fit_ridge(noisy, np.tile(y, (3000, 1)), ridge=0.0, centre=False)
    assert exact.matrix == pytest.approx(drawn.matrix, abs=0.01)
    assert np.abs(exact.matrix - fit_ridge(x, y, ridge=0.0, centre=False).matrix).max() > 0.1


@pytest.mark.parametrize(
    "noise",
    [
        Mahalanobis(epsilon=60.0, shape=np.linspace(0.05, 3.0, DIM)),
        Protector(Mahalanobis(epsilon=60.0, shape=np.linspace(0.05, 3.0, DIM)), neutral=0),
        Gaussian(sigma=0.15),
    ],
    ids=["mahalanobis", "protector", "gaussian"],
)
def test_knowing_the_noise_helps(noise):
    victim = Victim(random_map())
    released = np.concatenate([fresh_releases(noise, seed)(victim.embed(ATTACKED)) for seed in range(5)])
    own = np.tile(OWN.embed(ATTACKED), (5, 1))
    aware, naive = (attack().fit(TEXTS, victim.embed(TEXTS), known) for known in (noise, None))
    assert (
        pair_cosines(aware.align(released), own).mean()
        > pair_cosines(naive.align(released), own).mean() + 0.02
    )
    assert aware.control == naive.control  # on clean pairs, whatever the noise


def test_a_library_that_knows_the_noise_looks_where_there_is_little():
    noise = Mahalanobis(epsilon=8.0, shape=np.geomspace(0.001, 3.0, DIM))
    victim, corpus = Victim(rotation()), ATTACKED + made_up(400, 3)
    released = fresh_releases(noise, 1)(victim.embed(ATTACKED))
    share = [
        np.mean(
            [
                a == b
                for a, b in zip(
                    attack(corpus=corpus).fit(TEXTS, victim.embed(TEXTS), known).recover(released).rows,
                    ATTACKED,
                    strict=True,
                )
            ]
        )
        for known in (noise, None)
    ]
    assert share[0] >= share[1] + 0.3


def test_noise_that_is_not_added_is_simulated():
    victim, noise = Victim(rotation()), Purkayastha(epsilon=120.0)
    made = attack().fit(TEXTS, victim.embed(TEXTS), noise)
    released = fresh_releases(noise, 1)(victim.embed(ATTACKED))
    assert pair_cosines(made.align(released), OWN.embed(ATTACKED)).mean() > 0.8


@pytest.mark.parametrize("dim", [4, 40], ids=["more pairs", "fewer pairs"])
@pytest.mark.parametrize("centre", [True, False])
def test_leave_one_out_is_what_it_says(dim, centre):
    rng = generator(5)
    x = rng.standard_normal((15, dim)) * np.geomspace(3.0, 0.1, dim)
    y = x @ rng.standard_normal((dim, 2)) + 0.5 * rng.standard_normal((15, 2)) + 1.0

    def power(rows):
        return np.square(rows - rows.mean(0) * centre).sum()

    def left_out(share):
        found = []
        for out in range(15):
            rest = np.delete(np.arange(15), out)
            # The ridge of the whole set, as the shortcut has it.
            made = fit_ridge(x[rest], y[rest], ridge=share * power(x) / power(x[rest]), centre=centre)
            found.append(y[out] - made(x[out]))
        return np.stack(found)

    shortcut = LeaveOneOut(x, y, centre=centre)
    for share in RIDGES:
        assert shortcut.errors(share) == pytest.approx(left_out(share), rel=1e-4, abs=1e-5)
    assert shortcut.best() == min(RIDGES, key=lambda share: np.square(left_out(share)).sum())


def test_errors_across_folds_are_those_of_pairs_left_out():
    key = rotation(4, 6)
    x = generator(9).standard_normal((30, 6))
    y = x @ key
    y[7] += 5.0
    errors = np.abs(crossed_errors(fit_procrustes, x, y)).max(axis=1)
    assert errors[7] > 4.9  # had it been fitted, the map would have bent to it
    assert np.allclose(crossed_errors(fit_procrustes, x, x @ key), 0.0, atol=1e-9)


def test_without_a_ridge_it_is_the_pseudo_inverse():
    rng = generator(6)
    for rows in (5, 50):
        x, y = rng.standard_normal((rows, 10)), rng.standard_normal((rows, 4))
        assert fit_ridge(x, y, ridge=0.0, centre=False).matrix == pytest.approx(np.linalg.pinv(x) @ y)


def test_the_same_pairs_for_the_same_seed():
    victim = Victim(random_map())
    one, two, other = (
        attack(pairs=20, seed=seed).fit(TEXTS, victim.embed(TEXTS)).linear.matrix for seed in (0, 0, 1)
    )
    assert np.array_equal(one, two) and not np.array_equal(one, other)


def test_a_single_pair_is_enough_to_run_and_has_no_control():
    victim = Victim(rotation())
    made = attack().fit(TEXTS[:1], victim.embed(TEXTS[:1]))
    assert made.control is None and len(made.recover(victim.embed(ATTACKED))) == len(ATTACKED)


class Constant(Inverter):
    """A reader from elsewhere."""

    kind = "constant"

    def recover(self, vectors):
        return Recovered(["the same"] * len(vectors), np.zeros(len(vectors)))

    def save(self, path):
        return artifacts.save(path, self.kind, {}, {})

    @classmethod
    def load(cls, path):
        return cls()


def test_the_reader_may_be_fitted_or_an_attack_or_its_name():
    victim = Victim(rotation())
    vectors, released = victim.embed(TEXTS), victim.embed(ATTACKED)
    assert attack(reader=Constant()).fit(TEXTS, vectors).recover(released).rows[0] == "the same"
    for reader in (Linkage(), "linkage"):
        found = attack(reader=reader).fit(TEXTS, vectors).recover(released)
        assert np.mean([a == b for a, b in zip(found.rows, ATTACKED, strict=True)]) > 0.9


def test_without_a_corpus_the_leaked_texts_are_the_library():
    victim = Victim(rotation())
    made = Alignment(encoder=f"fake:{DIM}").fit(TEXTS, victim.embed(TEXTS))
    assert made.reader.texts == TEXTS
    assert made.recover(victim.embed(TEXTS)).rows == TEXTS


def test_library_names_the_nearest_by_cosine():
    rows = generator(7).standard_normal((300, 8))
    library = Library([str(number) for number in range(300)], rows)
    asked = generator(8).standard_normal((50, 8))
    found = library.recover(asked)
    table = asked @ rows.T / np.linalg.norm(asked, axis=1)[:, None] / np.linalg.norm(rows, axis=1)
    assert found.details["index"].tolist() == table.argmax(1).tolist()
    assert found.scores == pytest.approx(table.max(1), abs=1e-5)


def test_library_with_a_spread_names_the_likeliest():
    rng = generator(7)
    rows, asked = rng.standard_normal((300, 8)) + 5.0, rng.standard_normal((50, 8)) + 5.0
    root = rng.standard_normal((8, 8))
    spread = root @ root.T + np.eye(8) * 0.1
    found = Library([str(number) for number in range(300)], rows, spread).recover(asked)
    table = np.stack([multivariate_normal(row, spread).logpdf(asked) for row in rows], 1)
    chances = np.exp(table - logsumexp(table, axis=1, keepdims=True))
    assert found.details["index"].tolist() == table.argmax(1).tolist()
    assert found.scores == pytest.approx(chances.max(1), abs=1e-4)


def test_the_likeliest_text_is_named_more_often_than_the_nearest_after_the_map():
    """Least squares draws predictions towards the mean: weighing what the victim would release does not."""
    victim = Fake(dim=48)
    corpus = ATTACKED + made_up(400, 3)
    vectors, released = victim.embed(TEXTS), victim.embed(ATTACKED)
    likeliest = attack(corpus=corpus).fit(TEXTS, vectors)
    nearest = attack(reader=Library(corpus, OWN.embed(corpus))).fit(TEXTS, vectors)
    share = [
        np.mean([a == b for a, b in zip(made.recover(released).rows, ATTACKED, strict=True)])
        for made in (likeliest, nearest)
    ]
    assert share[0] > share[1] + 0.1


def test_moments_of_releases():
    clean = OWN.embed(TEXTS[:6])
    noise = Mahalanobis(epsilon=40.0, shape=np.linspace(0.1, 2.0, DIM))
    exact, covariance = moments(as_release(noise), clean, 0)
    assert np.array_equal(exact, clean.astype(np.float64))
    assert covariance == pytest.approx(noise.noise_covariance(DIM))
    # Nobody knows these of directions, so releases are drawn.
    fresh = Release(noise).fresh(1)
    many = np.stack([fresh(clean) for _ in range(2000)]).astype(np.float64)
    drawn, spread = moments(Release(noise), clean, 0)
    wanted = np.mean([np.cov(many[:, row].T) for row in range(len(clean))], axis=0)
    assert drawn == pytest.approx(many.mean(axis=0), abs=0.1)
    assert np.abs(spread - wanted).max() < 0.1 * wanted.max()
    assert moments(None, clean, 0)[1] is None
    # Nor of noise that depends on the vector: its mean is the push, its spread is pooled over the vectors.
    pushed = Suppression(epsilon=40.0, mask=Mask(np.linspace(0.0, 1.0, DIM)))
    mean, around = moments(as_release(pushed), clean, 0)
    push = np.zeros(DIM)
    push[pushed.axes] = 1 / pushed.rate
    assert mean == pytest.approx(clean - np.sign(clean) * push, abs=0.15 * push.max())
    met = (clean != 0).mean(axis=0)  # what is 0 has no sign, and is not pushed
    assert np.diag(around) == pytest.approx(met * push**2, abs=0.15 * push.max() ** 2)


@pytest.mark.parametrize("reader", ["library", "linkage"])
def test_save_and_load(tmp_path, reader):
    victim = Victim(rotation())
    made = attack(reader=reader).fit(TEXTS, victim.embed(TEXTS))
    digest = made.save(tmp_path / "saved")
    again = AlignedReader.load(tmp_path / "saved")
    first, second = made.recover(victim.embed(ATTACKED)), again.recover(victim.embed(ATTACKED))
    assert first.rows == second.rows and np.array_equal(first.scores, second.scores)
    assert again.control == made.control and type(again.reader) is type(made.reader)
    assert again.save(tmp_path / "again") == digest
    # Version 0.1 had its modules elsewhere: the name of the class is what counts.
    saved = artifacts.load(tmp_path / "saved", AlignedReader.kind)
    name = saved.config["reader"]["class"].rpartition(":")[2]
    older = {**saved.config, "reader": {**saved.config["reader"], "class": f"sfumato.attacks.moved:{name}"}}
    artifacts.save(tmp_path / "older", AlignedReader.kind, older, saved.tensors)
    assert type(AlignedReader.load(tmp_path / "older").reader) is type(made.reader)


WITHIN_THEM = {"alignment", "unpaired", "structure", "denoising", "pooling"}
"""Attacks that have a reader inside, and are none themselves; the oracle and members read no vector alone."""


def test_every_reader_can_be_saved_with_a_map():
    for entry in ATTACKS:
        attack = ATTACKS.get(entry.name)
        kind = inverter_of(attack)
        if entry.name in WITHIN_THEM or attack.reads == "member" or entry.name == "oracle":
            assert kind.__qualname__ not in READERS
        else:
            assert READERS[kind.__qualname__] == kind.__module__


def test_saved_attacks_that_are_refused(tmp_path):
    victim = Victim(rotation())
    made = attack().fit(TEXTS, victim.embed(TEXTS))
    made.save(tmp_path / "saved")
    artifact = artifacts.load(tmp_path / "saved", AlignedReader.kind)

    def altered(tensors=None, **config):
        artifacts.save(
            tmp_path / "other", AlignedReader.kind, {**artifact.config, **config}, tensors or artifact.tensors
        )
        return AlignedReader.load(tmp_path / "other")

    for name in (
        "os:system",
        "sfumato.attacks.known_texts.alignment:Alignment",
        "sfumato.attacks.none:X",
        "x",
    ):
        with pytest.raises(ArtifactError, match="one of Sfumato's"):
            altered(reader={"class": name, "config": {}})
    with pytest.raises(ArtifactError, match="lacks"):
        altered(reader={})
    with pytest.raises(ArtifactError, match="whole"):
        altered({**artifact.tensors, "origin": np.zeros(3)})
    with pytest.raises(ArtifactError, match="one of Sfumato's"):
        AlignedReader(made.linear, Constant()).save(tmp_path / "constant")
    artifacts.save(tmp_path / "empty", Library.kind, {}, {})
    with pytest.raises(ArtifactError, match="lacks its vectors"):
        Library.load(tmp_path / "empty")
    made.reader.save(tmp_path / "library")
    tensors = artifacts.load(tmp_path / "library", Library.kind).tensors
    for wrong in (-np.eye(DIM), np.eye(3), np.ones(4)):
        artifacts.save(tmp_path / "library", Library.kind, {}, {**tensors, "spread": wrong})
        with pytest.raises(ArtifactError, match="covariance matrix"):
            Library.load(tmp_path / "library")


def test_refusals():
    for wrong in ({"pairs": 0}, {"method": "other"}, {"ridge": -1.0}, {"held_back": 1.0}, {"seed": -1}):
        with pytest.raises(ParameterError):
            Alignment(**wrong)
    with pytest.raises(InputError, match="one leaked pair"):
        attack().fit([], np.zeros((0, DIM)))
    with pytest.raises(InputError, match="one text a vector"):
        attack().fit(TEXTS, np.ones((2, DIM)))
    with pytest.raises(InputError, match="at least one text"):
        Library([], np.zeros((0, 3)))
    with pytest.raises(InputError, match="as many inputs"):
        fit_procrustes(np.ones((2, 3)), np.ones((1, 3)))
    victim = Victim(rotation())
    with pytest.raises(VectorError, match=f"dimension {DIM}"):
        attack().fit(TEXTS, victim.embed(TEXTS)).recover(np.ones((1, 3)))
