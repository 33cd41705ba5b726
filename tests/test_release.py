"""A release: the same bytes as a protector's, its mean, its density, and the same on tensors."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.attacks.base import entrance_of
from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.errors import ParameterError, VectorError
from sfumato.learned import Learned
from sfumato.mechanisms import Gaussian, Identity, Laplace, Mahalanobis, Polar, Projection
from sfumato.mechanisms.angles import unit
from sfumato.preparing import Entrance
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.release import AS_IT_IS, Release, as_release
from sfumato.sensitivity import Background, Eraser
from tests.places import DEVICE

DIM = 24
PLACE = Concept.from_terms("place", ["Ashford", "Calder", "Fenwick"])
pytestmark = pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")


@pytest.fixture(scope="module")
def vectors():
    rows = generator(0).standard_normal((200, DIM)) * np.linspace(0.4, 1.6, DIM) + 0.2
    return np.asarray(unit(rows), np.float32)


@pytest.fixture(scope="module")
def background(vectors):
    return Background.fit(vectors, source="public")


def noises():
    return [
        Laplace(epsilon=60.0),
        Gaussian(sigma=0.1),
        Mahalanobis(epsilon=60.0, shape=np.linspace(0.5, 1.5, DIM)),
    ]


@pytest.mark.parametrize(
    "mechanism", [*noises(), Projection(epsilon=90.0, components=9), Identity()], ids=repr
)
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
def test_the_same_bytes_as_the_protector_around_it(vectors, background, mechanism, filtered, normalise):
    given = background if filtered else None
    protector = Protector(mechanism, background=given, normalise=normalise)
    released = protector.as_release()(vectors, 5)
    assert released.dtype == np.float32 and released.shape == (200, mechanism.output_dim(DIM))
    assert np.array_equal(released, protector.protect(vectors, rng=5))
    assert np.array_equal(released, Release(mechanism, given, normalise)(vectors, 5))
    # Written out once: noise, filter around the mean, length.
    wanted = mechanism.privatize(vectors, 5)
    if given is not None and mechanism.additive and mechanism.output_dim(DIM) == DIM:
        noise = mechanism.noise_covariance(DIM)
        matrix = given.covariance @ np.linalg.inv(given.covariance + noise)
        wanted = (wanted - given.mean) @ matrix.T + given.mean
    assert released == pytest.approx(unit(wanted) if normalise else wanted, abs=1e-5)


@pytest.mark.parametrize("mechanism", noises(), ids=repr)
@pytest.mark.parametrize("filtered", [False, True])
def test_expected_is_the_mean_of_releases(vectors, background, mechanism, filtered):
    release = Release(mechanism, background if filtered else None, normalise=False)
    fresh, few = release.fresh(1), vectors[:5]
    mean = np.mean([fresh(few) for _ in range(2000)], axis=0)
    assert release.expected(few) == pytest.approx(mean, abs=0.02)
    assert filtered == (not np.allclose(release.expected(few), few, atol=0.01))
    assert replace(release, normalise=True).expected(few) == pytest.approx(unit(mean), abs=0.03)


@pytest.mark.parametrize("mechanism", [*noises(), Polar(epsilon=60.0), Identity()], ids=repr)
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
def test_the_true_candidate_is_the_likeliest(vectors, background, mechanism, filtered, normalise):
    release = Release(mechanism, background if filtered else None, normalise)
    table = release.log_likelihood(release.fresh(2)(vectors), vectors)
    assert table.shape == (200, 200)
    assert (table.argmax(axis=1) == np.arange(200)).mean() > 0.9


@pytest.mark.parametrize("mechanism", noises(), ids=repr)
def test_the_likelihood_is_the_mechanisms_density_with_the_filter_undone(vectors, background, mechanism):
    release = Release(mechanism, background, normalise=False)
    raw = mechanism.privatize(vectors[:9], 3).astype(np.float64)
    filtered = (raw - background.mean) @ release.filter_matrix.T + background.mean
    gap = release.log_likelihood(filtered, vectors) - [
        mechanism.log_density(row[None], vectors) for row in raw
    ]
    assert gap == pytest.approx(np.broadcast_to(gap[:, :1], gap.shape), abs=1e-4)
    with pytest.raises(VectorError, match="dimension 24"):
        release.log_likelihood(vectors[:, :5], vectors)


@pytest.mark.parametrize(
    "mechanism", [*noises(), Projection(epsilon=1e4, components=9), Identity()], ids=repr
)
def test_tensors_are_released_as_arrays_are(vectors, background, mechanism):
    """On their own device, with the same moments."""
    torch = pytest.importorskip("torch")
    rows = torch.from_numpy(vectors).to(DEVICE)
    loud = Release(mechanism, background)
    first, second = (loud.fresh(1)(rows) for _ in range(2))
    assert isinstance(first, torch.Tensor) and first.device == rows.device and torch.equal(first, second)
    assert np.array_equal(rows.cpu(), vectors)
    again = loud.fresh(1)
    assert torch.equal(again(rows), again(rows)) is not mechanism.noisy
    host = np.concatenate([loud.fresh(seed)(vectors) for seed in range(10)])
    device = np.concatenate([loud.fresh(seed)(rows).cpu().numpy() for seed in range(10)])
    assert device.mean(axis=0) == pytest.approx(host.mean(axis=0), abs=0.03)
    assert np.cov(device.T) == pytest.approx(np.cov(host.T), abs=0.02)


def test_the_filter_on_a_device_is_the_filter(vectors, background, monkeypatch):
    torch = pytest.importorskip("torch")
    from sfumato.gpu import filtering

    monkeypatch.setattr(filtering, "_NUMBERS", 1000)
    rows = torch.from_numpy(vectors).to(DEVICE)
    matrix = Release(Laplace(epsilon=20.0), background).filter_matrix
    filtered = rows.clone()
    filtering.apply_filter(filtered, matrix, background.mean)
    assert filtered.cpu().numpy() == pytest.approx(background.filtered(vectors, matrix), abs=1e-6)
    assert not np.allclose(filtered.cpu(), vectors, atol=1e-2)
    for normalise in (True, False):
        quiet = Release(Laplace(epsilon=1e4), background, normalise)
        assert quiet(rows, 1).cpu().numpy() == pytest.approx(quiet(vectors, 1), abs=0.01)


def test_frozen_scaled_and_unchanged(vectors, background):
    release = Release(Gaussian(sigma=0.1), background)
    assert release.filter_matrix is release.filter_matrix
    with pytest.raises(FrozenInstanceError):
        release.normalise = False
    louder = release.scaled(noise_ratio=2.0, dim=DIM)
    assert louder.mechanism.noise_ratio(DIM) == pytest.approx(2.0, rel=1e-3)
    assert not np.allclose(louder.filter_matrix, release.filter_matrix)
    assert AS_IT_IS.unchanged and not release.unchanged and not Release(Identity()).unchanged
    assert np.array_equal(AS_IT_IS(vectors), vectors)
    assert Release(Projection(epsilon=9.0, components=9)).output_dim(DIM) == 9
    assert release.guarantee == release.mechanism.guarantee


def test_some_rows_may_leave_without_noise(vectors):
    release, rows = Release(Gaussian(sigma=0.5), normalise=False), np.array([1, 4])
    found = release(vectors[:6], 1, rows=rows)
    assert np.array_equal(np.delete(found, rows, axis=0), np.delete(vectors[:6], rows, axis=0))
    assert np.array_equal(found[rows], release.mechanism.privatize(vectors[rows], 1))


def test_whatever_holds_a_release_gives_it(tmp_path):
    noise = Laplace(epsilon=9.0)
    assert as_release(None) is None
    bare = as_release(noise)
    assert bare.mechanism is noise and bare.background is None and not bare.normalise
    assert as_release(bare) is bare
    with pytest.raises(ParameterError, match="Found str"):
        as_release("laplace")
    secret = Secret.generate()
    ledger = Ledger(tmp_path / "ledger.db", secret=secret, ceiling=None)
    protector = Protector(noise, secret=secret, ledger=ledger)
    release = as_release(protector)
    assert release.mechanism is noise and release is protector.as_release()
    assert not {"secret", "ledger"} & set(vars(release))
    assert replace(protector, normalise=False).as_release() is not release
    quiet = protector.without_accounting()
    assert quiet.secret is None and quiet.ledger is None and quiet.mechanism is noise


def test_an_entrance_is_the_text_side_of_a_protector():
    texts = ["from Calder by train", "nothing to see", "from Ashford by train", "from Calder by train"]
    asked = []

    class Counting(Fake):
        def embed(self, texts, *, on_batch=None):
            asked.extend(texts)
            return super().embed(texts, on_batch=on_batch)

    protector = Protector(Laplace(epsilon=9.0), Counting(dim=DIM), (PLACE,), neutral=3)
    found = protector.entrance().embed(texts)
    assert len(asked) == len(set(asked))
    assert np.array_equal(found, protector.prepare(texts).vectors) and np.array_equal(found[0], found[2])
    assert protector.entrance().hides and protector.embeds_neutral
    plain = Fake(dim=DIM)
    assert not Entrance.of(plain).hides
    assert np.array_equal(Entrance.of(plain).embed(texts), plain.embed(texts))
    # An attack that is given a whole protector embeds as the protector does; a bare mechanism says nothing.
    assert entrance_of(protector.mechanism, plain) is plain and entrance_of(None, None) is None
    known = entrance_of(protector, plain)
    assert known.encoder is plain and known.hides and entrance_of(protector, known) is known
    assert entrance_of(replace(protector, neutral=0), None) is protector.embedder
    assert entrance_of(replace(protector, embedder=None), None) is None


def test_what_was_learned_is_a_record_that_keeps_what_it_does_not_know():
    given = {"model_id": "m", "dim": 8, "concepts": {"place": {"rows": 3}}, "noted": [1, 2]}
    record = Learned.of(given)
    assert (record.model_id, record.dim, record.source) == ("m", 8, None)
    assert record.to_dict() == given and Learned.of(record) is record
    assert Learned.of(record.to_dict()) == record and Learned().to_dict() == {}
    assert Protector(Identity(), learned=given).learned == record
    with pytest.raises(ParameterError, match="Found list"):
        Learned.of([])


@pytest.fixture(scope="module")
def eraser(vectors):
    """Three directions of no special meaning, not orthogonal to what is taken for them."""
    rng = generator(4)
    read = rng.standard_normal((DIM, 3))
    taken = read + 0.3 * rng.standard_normal((DIM, 3))
    return Eraser(read, taken @ np.linalg.inv(read.T @ taken), 1, "public")


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
def test_an_eraser_works_on_what_the_grid_and_the_filter_gave(
    vectors, background, eraser, filtered, normalise
):
    plain = Release(Gaussian(sigma=0.1), background if filtered else None, normalise=False)
    erasing = replace(plain, normalise=normalise, eraser=eraser)
    wanted = plain(vectors, 5).astype(np.float64) @ eraser.matrix.T
    released = erasing(vectors, 5)
    assert released == pytest.approx(unit(wanted) if normalise else wanted, abs=1e-5)
    assert np.abs(released @ eraser.read).max() < 1e-5
    assert erasing.guarantee == plain.guarantee and not erasing.unchanged
    before = Identity().expected(vectors) if not filtered else plain.expected(vectors)
    without_noise = before @ eraser.matrix.T
    assert erasing.expected(vectors) == pytest.approx(
        unit(without_noise) if normalise else without_noise, abs=1e-6
    )
    assert erasing.scaled(noise_ratio=2.0, dim=DIM).eraser is eraser


@pytest.mark.parametrize("mechanism", [*noises(), Polar(epsilon=60.0), Identity()], ids=repr)
@pytest.mark.parametrize("normalise", [False, True])
def test_an_eraser_does_not_blind_the_informed_attacker(vectors, background, eraser, mechanism, normalise):
    """What is left of a release still tells the true candidate, by its density in fewer dimensions."""
    release = Release(mechanism, background, normalise, eraser)
    table = release.log_likelihood(release.fresh(2)(vectors), vectors)
    assert (table.argmax(axis=1) == np.arange(200)).mean() > 0.9


def test_the_density_of_what_is_left_is_exact_for_normal_noise(vectors, background, eraser):
    release = Release(Gaussian(sigma=0.1), background, normalise=False, eraser=eraser)
    released = release(vectors[:9], 3).astype(np.float64)
    covariance = release.linear @ release.linear.T * 0.1**2
    inverse = np.linalg.pinv(covariance, rcond=1e-9)
    gaps = released[:, None] - release.expected(vectors)[None]
    wanted = -np.einsum("ijk,kl,ijl->ij", gaps, inverse, gaps) / 2
    assert release.log_likelihood(released, vectors) == pytest.approx(wanted, rel=1e-3, abs=1e-2)


def test_an_eraser_on_a_device_is_the_eraser(vectors, background, eraser, monkeypatch):
    torch = pytest.importorskip("torch")
    from sfumato.gpu import filtering

    monkeypatch.setattr(filtering, "_NUMBERS", 1000)
    rows = torch.from_numpy(vectors).to(DEVICE)
    quiet = Release(Laplace(epsilon=1e4), background, True, eraser)
    released = quiet(rows, 1).cpu().numpy()
    assert released == pytest.approx(quiet(vectors, 1), abs=0.01)
    assert np.abs(released @ eraser.read).max() < 1e-5
    assert np.array_equal(rows.cpu(), vectors)


def test_an_eraser_of_other_vectors_is_refused(eraser):
    with pytest.raises(ParameterError, match="keeps the dimension"):
        Release(Projection(epsilon=9.0, components=9), eraser=eraser)
