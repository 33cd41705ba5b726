"""Neighbours on planted corpora: as often right as the density allows, also where cosines are blind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import fresh_releases
from sfumato.attacks.kept_reader import pack_reader, unpack_reader
from sfumato.attacks.known_texts import neighbours
from sfumato.attacks.known_texts.linkage import Linker
from sfumato.attacks.known_texts.neighbours import NearestTexts, NeighbourReader
from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Gaussian, Laplace, Mahalanobis, Suppression
from sfumato.metrics.intervals import share
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator
from sfumato.release import Release
from tests.attacks.planted import Planted, sentences

DIM = 24
PLANTED = Planted()


def corpus(count=500, seed=0):
    return [f"public {row}" for row in range(count)], unit_rows(
        generator(seed).standard_normal((count, DIM))
    ).astype(np.float32)


def test_two_texts_are_told_apart_as_often_as_the_noise_allows():
    """Phi(D/2s) of releases, D apart under normal noise: no attacker is right more often."""
    texts, rows = corpus(2)
    noise = Gaussian(sigma=0.7)
    own = generator(1).integers(2, size=4000)
    found = NearestTexts(listed=1).fit(texts, rows, noise).recover(fresh_releases(noise, 2)(rows[own]))
    figure = share("right", int((found.details["index"] == own).sum()), 4000)
    assert figure.low <= norm.cdf(np.linalg.norm(rows[0] - rows[1]) / 2 / 0.7) <= figure.high


def test_noise_in_known_directions_is_looked_past():
    """The texts differ where noise is small; by cosine alone, loud directions would drown that."""
    quiet, loud = 0.001, 4.0
    variances = np.r_[[quiet], np.full(DIM - 1, loud)]
    noise = Mahalanobis.from_noise_ratio(3.0, shape=variances / variances.mean())
    rows = np.full((2, DIM), 0.1, np.float32)
    rows[:, 0], rows[:, 1] = (0.1, -0.1), (0.5, -0.5)
    own = generator(1).integers(2, size=2000)
    released = fresh_releases(noise, 2)(rows[own])
    found = NearestTexts().fit(["one", "other"], rows, noise).recover(released)
    best = noise.log_densities(released.astype(np.float64), rows).argmax(axis=1)
    assert np.array_equal(found.details["index"], best)
    by_cosine = (unit_rows(released) @ unit_rows(rows).T).argmax(axis=1)
    assert (best == own).mean() > (by_cosine == own).mean() + 0.1


@pytest.mark.parametrize("most", [4096, 100])
def test_a_law_that_rules_out_every_text_leaves_the_nearest(most, monkeypatch):
    """A release of a text that is not public can come from no public one: the one most like it is named."""
    texts, rows = corpus()
    like = unit_rows(rows + 0.1 * generator(4).standard_normal(rows.shape)).astype(np.float32)
    noise = Suppression(epsilon=20.0, mask=np.linspace(1.0, 0.1, DIM))
    monkeypatch.setattr(neighbours, "NEAR", most)
    for normalise in (False, True):
        release = Release(noise, normalise=normalise)
        found = NearestTexts().fit(texts, rows, release).recover(release.fresh(5)(like))
        nearest = (unit_rows(release.expected(like)) @ unit_rows(release.expected(rows)).T).argmax(axis=1)
        right = share("right", int((found.details["index"] == nearest).sum()), len(texts))
        assert right.low > 0.9
    known = Linker(texts, rows, Release(noise, normalise=False)).recover(
        Release(noise, normalise=False).fresh(6)(rows)
    )
    assert (known.details["index"] == np.arange(len(rows))).all(), "where the text is known its law decides"


@pytest.mark.parametrize("ratio", [0.5, 1.5])
def test_many_texts_are_cut_to_the_nearest_without_a_loss(ratio, monkeypatch):
    texts, rows = corpus()
    noise = Laplace.from_noise_ratio(ratio, dim=DIM)
    released = fresh_releases(noise, 3)(rows[:200])
    made = NearestTexts(listed=3).fit(texts, rows, noise)
    every = made.recover(released)
    gaps = np.linalg.norm(released[:, None] - rows, axis=2)  # the density falls with the distance alone
    assert np.array_equal(every.details["index"], gaps.argmin(axis=1))
    monkeypatch.setattr(neighbours, "NEAR", 100)
    monkeypatch.setattr(neighbours, "_CELLS", 5000)
    few = made.recover(released)
    assert np.mean(few.details["index"] == every.details["index"]) > 0.97
    assert few.details["top"].shape == (200, 3) and few.rows[0] == texts[few.details["index"][0]]


def test_a_public_corpus_is_embedded_and_says_what_is_meant(tmp_path):
    """Unknown sentences: the nearest public one shares words, and noise takes that away."""
    public, secret = sentences(900, 1), sentences(60, 2)
    (tmp_path / "public.txt").write_text("\n".join(public))
    steps = []
    attack = NearestTexts(corpus=str(tmp_path / "public.txt"), embedder=PLANTED)
    none = np.zeros((0, PLANTED.dim), np.float32)
    made = attack.fit([], none, on_step=lambda *step: steps.append(step))
    assert made.control.metric == "token F1" and made.control.value > 0.7 and made.control.rows == 200
    assert steps[-1] == ("public texts", 1.0) and made.texts == public
    found = made.recover(PLANTED.embed(secret))
    overlap = [len(set(a.split()) & set(b.split())) for a, b in zip(secret, found.rows, strict=True)]
    assert np.mean(overlap) > 3 and set(found.rows) <= set(public)
    strong = Laplace.from_noise_ratio(20.0, dim=PLANTED.dim)
    lost = attack.fit([], none, strong).recover(fresh_releases(strong, 1)(PLANTED.embed(secret)))
    assert np.mean([len(set(a.split()) & set(b.split())) for a, b in zip(secret, lost.rows, strict=True)]) < 2
    again = NearestTexts(corpus=public, embedder=PLANTED).fit([], none)
    assert again.recover(PLANTED.embed(secret)).rows == found.rows


def test_kept_and_read_inside_another_attack(tmp_path):
    texts, rows = corpus(80)
    noise = Laplace.from_noise_ratio(0.5, dim=DIM)
    made = NearestTexts().fit(texts, rows, noise)
    made.save(tmp_path / "kept")
    again = NeighbourReader.load(tmp_path / "kept")
    released = fresh_releases(noise, 1)(rows)
    assert again.recover(released).rows == made.recover(released).rows and again.control == made.control
    inside = unpack_reader(*pack_reader(made))
    assert type(inside) is NeighbourReader and inside.recover(released).rows == made.recover(released).rows
    assert Linker(texts, rows, None).measured_by == "top-1"


def test_what_is_missing_is_said():
    assert ATTACKS.get("neighbours") is NearestTexts
    with pytest.raises(InputError, match="need public texts"):
        NearestTexts().fit([], np.zeros((0, 4)))
    with pytest.raises(ParameterError, match="`embedder` must be"):
        NearestTexts(corpus=["one"]).fit([], np.zeros((0, 4)))
    with pytest.raises(ParameterError, match="listed"):
        NearestTexts(listed=0)
    texts, rows = corpus(10)
    with pytest.raises(InputError, match="dimension"):
        NearestTexts().fit(texts, rows).recover(rows[:, :3])
