"""Linkage, low-order bits and averaging."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.accounting import Secret
from sfumato.attacks.base import fresh_releases
from sfumato.attacks.known_texts.averaging import averaged, leakage_curve, mean_release
from sfumato.attacks.known_texts.bits import BitReader, Bits
from sfumato.attacks.known_texts.linkage import Linkage, Linker
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, InputError, VectorError
from sfumato.mechanisms import Gaussian, Identity, Laplace, Mahalanobis, Projection, Purkayastha, Suppression
from sfumato.metrics.intervals import share
from sfumato.metrics.reconstruction import text_figures
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.sensitivity import Background, Mask

DIM, KNOWN = 48, 300
TEXTS = [f"known text number {number}" for number in range(KNOWN)]


@pytest.fixture(scope="module")
def clean():
    rows = generator(0).standard_normal((KNOWN, DIM))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def victims():
    mask = Mask(np.arange(1.0, DIM + 1))
    return {
        "identity": Identity(),
        "laplace": Laplace.from_noise_ratio(0.8, dim=DIM),
        "gaussian": Gaussian(sigma=0.1),
        "mask": Mahalanobis.from_noise_ratio(0.8, shape=mask),
        "purkayastha": Purkayastha.from_noise_ratio(0.8, dim=DIM),
        "projection": Projection.from_noise_ratio(0.8, dim=DIM, sensitivity="orthonormal", components=32),
        "suppression": Suppression(epsilon=10.0, mask=mask, share=0.3),
    }


@pytest.mark.parametrize("name", list(victims()))
@pytest.mark.parametrize("normalise", [False, True])
def test_little_noise_is_linked(clean, name, normalise):
    mechanism = victims()[name]
    victim = Protector(mechanism, neutral=0) if normalise else mechanism
    linker = Linkage().fit(TEXTS, clean, victim)
    truth = np.arange(0, KNOWN, 3)
    released = fresh_releases(victim, 2)(clean[truth])
    figures = {figure.metric: figure.value for figure in linker.measure(released, truth)}
    assert figures["top-1"] > 0.9 and figures["top-10"] >= figures["top-1"]
    found = linker.recover(released)
    assert np.mean([row == TEXTS[own] for row, own in zip(found.rows, truth, strict=True)]) > 0.9
    assert (found.details["top"][:, 0] == found.details["index"]).all()
    assert linker.control.value == 1.0


def test_strong_noise_is_not_linked_and_the_posterior_says_so(clean):
    strong = Laplace.from_noise_ratio(20.0, dim=DIM)
    linker = Linkage().fit(TEXTS, clean, strong)
    released = fresh_releases(strong, 1)(clean)
    figures = linker.measure(released, np.arange(KNOWN))
    assert figures[0].value < 0.05 and figures[2].value > 50
    assert linker.recover(released).scores.max() < 0.2
    assert linker.control.value == 1.0


def test_knowing_the_noise_beats_plain_cosine(clean):
    """Noise along few directions: whoever whitens looks where there is none, and a filter is undone."""
    variances = np.full(DIM, 1e-3)
    variances[:12] = 4.0
    mechanism = Mahalanobis.from_noise_ratio(6.0, shape=variances)
    for background in (None, Background.fit(clean)):
        protector = Protector(mechanism, background=background, neutral=0)
        released = fresh_releases(protector, 5)(clean)
        knowing = Linkage().fit(TEXTS, clean, protector).measure(released, np.arange(KNOWN))[0].value
        assert knowing > 0.95
        if background is None:
            cosine = np.argmax(released @ clean.T, axis=1) == np.arange(KNOWN)
            assert cosine.mean() < 0.5


def test_blocks_do_not_change_the_result(clean, monkeypatch):
    protector = Protector(Laplace.from_noise_ratio(2.0, dim=DIM), neutral=0)
    linker = Linkage().fit(TEXTS, clean, protector)
    released = fresh_releases(protector, 5)(clean[:50])
    whole = linker.recover(released)
    monkeypatch.setattr("sfumato.attacks.known_texts.linkage._CELLS", 7 * KNOWN)
    parts = linker.recover(released)
    assert parts.rows == whole.rows and parts.scores == pytest.approx(whole.scores, abs=1e-9)


def test_equal_texts_are_told_apart_by_chance_only(clean):
    same = np.repeat(clean[:1], 40, axis=0)
    linker = Linkage(listed=3).fit(TEXTS[:40], same, Laplace(epsilon=50.0))
    released = fresh_releases(Laplace(epsilon=50.0), 0)(np.repeat(clean[:1], 400, axis=0))
    named = linker.recover(released).details["index"]
    assert len(set(named.tolist())) > 25
    found = linker.rank_of(released, np.zeros(400, np.intp))
    assert (found == 0).mean() == pytest.approx(1 / 40, abs=0.03)


def test_linkage_saved_and_loaded(clean, tmp_path):
    protector = Protector(Laplace(epsilon=100.0), background=Background.fit(clean), neutral=0)
    linker = Linkage().fit([*TEXTS[:-1], "naïve 東京"], clean, protector)
    linker.save(tmp_path / "linker")
    again = Linker.load(tmp_path / "linker")
    released = fresh_releases(protector, 0)(clean)
    assert again.recover(released).rows == linker.recover(released).rows
    assert again.control == linker.control and again.texts[-1] == "naïve 東京"
    Bits().fit(TEXTS, clean).save(tmp_path / "bits")
    assert BitReader.load(tmp_path / "bits").texts == TEXTS
    with pytest.raises(ArtifactError):
        Linker.load(tmp_path / "bits")


def test_bad_linkage_input_is_refused(clean):
    linker = Linkage().fit(TEXTS, clean)
    with pytest.raises(VectorError, match="dimension 48"):
        linker.recover(clean[:, :5])
    with pytest.raises(InputError, match="truth"):
        linker.rank_of(clean, np.full(KNOWN, KNOWN))
    for attack in (Linkage(), Bits()):
        with pytest.raises(InputError, match="at least one"):
            attack.fit([], np.zeros((0, 4)))


def test_bits_name_plain_float32_noise_and_not_releases_on_the_grid(clean):
    """With the dimension of a real encoder, as in docs/numerics.md."""
    rng = generator(4)
    wide = rng.standard_normal((200, 384))
    wide = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
    texts = TEXTS[:200]
    reader = Bits().fit(texts, wide)
    assert reader.control.value > 0.9
    plain = wide + rng.standard_normal(wide.shape).astype(np.float32)
    found = reader.recover(plain)
    assert (found.details["index"] == np.arange(200)).mean() > 0.9 and found.rows[0] == texts[0]
    safe = reader.recover(Gaussian(sigma=1.0).privatize(wide))
    assert (safe.details["index"] == np.arange(200)).mean() < 0.05
    assert set(safe.rows) <= {"", *texts}


def test_averaging_removes_fresh_noise_and_not_sticky_noise(clean):
    embedder = Fake(dim=DIM)
    texts = [
        f"note {number} about {word}" for number in range(12) for word in ("tea", "rain", "chess", "iron")
    ]
    ready = embedder.embed(texts)
    fresh = Protector(Laplace.from_noise_ratio(3.0, dim=DIM), embedder, neutral=0)
    sticky = replace(fresh, secret=Secret.generate())
    linker = Linkage().fit(texts, ready, fresh)

    def score(found):
        return text_figures(texts, found.rows)[1]

    curves = {
        name: [
            point.value
            for point in leakage_curve(lambda victim=victim: victim.embed(texts), linker, score, (1, 4, 64))
        ]
        for name, victim in (("fresh", fresh), ("sticky", sticky))
    }
    assert curves["fresh"][0] < 0.5 and curves["fresh"][-1] > 0.9
    assert curves["fresh"] == sorted(curves["fresh"])
    assert curves["sticky"][0] == curves["sticky"][1] == curves["sticky"][2] < 0.5


def test_the_mean_of_releases(clean):
    stack = np.stack([clean[:4], clean[4:8]])
    unit = mean_release(stack)
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert mean_release(3.0 * stack) == pytest.approx(1.5 * (stack[0] + stack[1]), abs=1e-5)
    assert np.array_equal(mean_release(lambda: clean, 3), mean_release([clean] * 3))
    assert averaged([clean] * 2, Linkage().fit(TEXTS, clean)).rows == TEXTS
    for bad in ([], [clean, clean[:3]]):
        with pytest.raises(InputError):
            mean_release(bad)
    with pytest.raises(InputError, match="count"):
        mean_release(lambda: clean)
    with pytest.raises(InputError, match="ascend"):
        leakage_curve(lambda: clean, Linkage().fit(TEXTS, clean), lambda found: share("x", 1, 1), (4, 2))
