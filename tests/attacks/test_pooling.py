"""Pooling on planted groups: k releases read as well as Bayes' rule says they can be, however they belong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sfumato import artifacts
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import fresh_releases
from sfumato.attacks.known_texts.averaging import AveragedRelease, mean_release
from sfumato.attacks.known_texts.groups import find_groups, reach_of
from sfumato.attacks.known_texts.linkage import Linkage
from sfumato.attacks.known_texts.pooling import Pooling, PoolingReader
from sfumato.attacks.terms.attributes import Attributes
from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.mechanisms import Gaussian, Laplace
from sfumato.metrics.intervals import share
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator
from sfumato.release import Release

WORDS = ["alder", "beech"]
DIM, APART = 6, 1.0
READER = TokenClassifier(vocabulary=WORDS, hidden=(), dropout=0.0, epochs=30, inputs="scaled")


def planted(count, seed, spread=0.0):
    """Texts of two terms whose vectors are `APART` from each other, and vary by `spread` besides."""
    rng = generator(seed)
    names = rng.integers(2, size=count)
    rows = np.full((count, DIM), 0.2) + spread * rng.standard_normal((count, DIM))
    rows[:, 0] += APART * (names - 0.5)
    return [f"{WORDS[name]} {seed} {row}" for row, name in enumerate(names)], rows.astype(np.float32), names


def released(noise, rows, seed=3):
    return np.asarray(fresh_releases(noise, seed)(rows), np.float64)


def right(found, names):
    hits = sum(row[0] == WORDS[name] for row, name in zip(found.rows, names, strict=True))
    return share("right", hits, len(names))


def within(figure, value, slack=0.01):
    """What was learned instead of known costs a little; more than that, or more than the best, is wrong."""
    return figure.low - 1e-9 <= value <= figure.high + slack


@pytest.mark.parametrize("size", [1, 4])
def test_releases_of_one_text_are_read_as_well_as_their_mean_allows(size):
    """The mean of k releases with normal noise says all: at best one is right with Phi(sqrt(k) D/2s)."""
    noise = Gaussian(sigma=0.8, max_norm=50.0)
    texts, rows, _ = planted(1500, 0)
    _, stolen, names = planted(1500, 1)
    made = Pooling(reader=READER, groups=np.tile(np.arange(1500), size).tolist()).fit(texts, rows, noise)
    found = made.recover(released(noise, np.tile(stolen, (size, 1))))
    best = norm.cdf(np.sqrt(size) * APART / 2 / 0.8)
    figure = right(found, np.tile(names, size))
    assert within(share("right", round(figure.value * 1500), 1500), best)
    assert set(made.readers) == {1, 2, 4} and np.array_equal(found.details["group"][:1500], np.arange(1500))


def test_documents_of_one_person_are_read_as_well_as_bayes_rule_allows():
    """Texts that vary by themselves: each is one look more, through its own noise and its own words."""
    noise, spread, size = Gaussian(sigma=0.8, max_norm=50.0), 0.6, 4
    texts, rows, _ = planted(3000, 0, spread)
    rng = generator(7)
    names = rng.integers(2, size=1500)
    stolen = np.full((1500 * size, DIM), 0.2) + spread * rng.standard_normal((1500 * size, DIM))
    stolen[:, 0] += APART * (np.repeat(names, size) - 0.5)
    people = np.repeat(np.arange(1500), size)
    made = Pooling(reader=READER, shares="person", groups=people.tolist()).fit(texts, rows, noise)
    found = made.recover(released(noise, stolen.astype(np.float32)))
    one_each = [found.rows[row] for row in range(0, len(stolen), size)]
    hits = sum(row[0] == WORDS[name] for row, name in zip(one_each, names, strict=True))
    assert within(share("right", hits, 1500), norm.cdf(np.sqrt(size) * APART / 2 / np.hypot(0.8, spread)))
    # Its odds are calibrated too: the prior was counted once.
    sure = found.details["probabilities"][::size]
    assert abs(sure.max(axis=1).mean() - hits / 1500) < 0.03
    alone = Pooling(reader=READER, shares="person").fit(texts, rows, noise)
    assert right(alone.recover(released(noise, stolen.astype(np.float32))), np.repeat(names, size)).high < (
        hits / 1500
    )


def test_chunks_of_one_document_tell_its_label_as_well_as_bayes_rule_allows(tmp_path):
    """Three labels, of which a document has one: the best is the label of the likeliest of all its chunks."""
    size, count, middles = 4, 600, 0.8 * np.eye(3, DIM)
    rng = generator(11)
    kinds = rng.integers(3, size=3000)
    rows = (0.1 * (middles[kinds] + rng.standard_normal((3000, DIM)))).astype(np.float32)
    texts = [f"chunk {row}" for row in range(3000)]
    labels = {text: "abc"[kind] for text, kind in zip(texts, kinds, strict=True)}
    truth = rng.integers(3, size=count)
    chunks = middles[np.repeat(truth, size)] + rng.standard_normal((count * size, DIM))
    best = ((chunks @ middles.T).reshape(count, size, 3).sum(axis=1).argmax(axis=1) == truth).mean()
    documents = np.repeat(np.arange(count), size).tolist()
    reader = Attributes(labels=labels, hidden=(16,), epochs=12)
    made = Pooling(reader=reader, shares="person", groups=documents).fit(texts, rows)
    stolen = (0.1 * chunks).astype(np.float32)
    found = made.recover(stolen)
    hits = sum(row[0] == "abc"[kind] for row, kind in zip(found.rows[::size], truth, strict=True))
    assert within(share("right", hits, count), best) and best > 0.75
    sure = found.details["probabilities"][::size]
    assert np.allclose(sure.sum(axis=1), 1) and abs(sure.max(axis=1).mean() - hits / count) < 0.06
    made.save(tmp_path / "kept")
    assert PoolingReader.load(tmp_path / "kept").recover(stolen).rows == found.rows


def test_near_duplicates_are_found_by_their_distance():
    rng = generator(2)
    rows = unit_rows(rng.standard_normal((300, 64))).astype(np.float32)
    noise = Laplace.from_noise_ratio(0.5, dim=64)
    again = unit_rows(rows + 0.02 * rng.standard_normal(rows.shape)).astype(np.float32)  # a full stop more
    stolen = released(noise, np.concatenate([rows, again]))
    found = find_groups(stolen, reach_of(Release(noise, normalise=False), rows, 0))
    assert (found[:300] == found[300:]).mean() > 0.97 and len(set(found.tolist())) > 290
    # Noise so strong that texts overlap joins next to nothing.
    strong = Laplace.from_noise_ratio(8.0, dim=64)
    lost = find_groups(released(strong, np.concatenate([rows, again])), reach_of(Release(strong), rows, 0))
    assert len(set(lost.tolist())) > 400
    assert find_groups(np.zeros((0, 4)), 1.0).shape == (0,)


def test_an_averaged_release_is_the_mean_of_several():
    rows = unit_rows(generator(0).standard_normal((4000, 16))).astype(np.float32)
    noise = Gaussian(sigma=0.3)
    mean = AveragedRelease(noise, None, False, None, times=4)
    assert abs((mean.fresh(1)(rows) - rows).std() - 0.15) < 0.005
    fresh = fresh_releases(noise, 1)
    assert np.allclose(mean.fresh(1)(rows), mean_release(lambda: fresh(rows), 4))
    unit_mean = AveragedRelease(noise, None, True, None, times=4).fresh(1)(rows)
    assert np.allclose(np.linalg.norm(unit_mean, axis=1), 1, atol=1e-5)
    # The true input is the likeliest, as a simulated law tells.
    table = mean.likelihood(16)(np.asarray(mean.fresh(2)(rows[:200]), np.float64), rows[:200].astype(float))
    assert (table.argmax(axis=1) == np.arange(200)).mean() > 0.95


def test_same_seed_same_result_also_after_saving(tmp_path):
    noise = Gaussian(sigma=0.4, max_norm=50.0)
    texts, rows, _ = planted(200, 0)
    stolen = released(noise, np.tile(planted(40, 1)[1], (3, 1)))
    attack = Pooling(reader=READER, groups=list(range(40)) * 3, sizes=(1, 2))
    made = attack.fit(texts, rows, noise)
    first = made.recover(stolen)
    assert attack.fit(texts, rows, noise).recover(stolen).rows == first.rows
    made.save(tmp_path / "kept")
    again = PoolingReader.load(tmp_path / "kept")
    found = again.recover(stolen)
    assert found.rows == first.rows and np.array_equal(found.scores, first.scores)
    assert again.control == made.control and made.control.value > 0.9
    kept = artifacts.load(tmp_path / "kept", PoolingReader.kind)
    for config in (
        {**kept.config, "readers": {}},
        {**kept.config, "shares": "nothing"},
        {**kept.config, "reach": None},
        {**kept.config, "readers": {"1": {"class": "os:system", "config": {}}}},
    ):
        artifacts.save(tmp_path / "other", PoolingReader.kind, config, kept.tensors)
        with pytest.raises((ArtifactError, ParameterError)):
            PoolingReader.load(tmp_path / "other")


def test_what_does_not_belong_together_is_refused():
    assert ATTACKS.get("pooling") is Pooling
    texts, rows, _ = planted(100, 0)
    made = Pooling(reader=READER, groups=[0, 0, 1]).fit(texts, rows)
    with pytest.raises(InputError, match="for each of the 100 rows"):
        made.recover(rows)
    for wrong in ({"shares": "house"}, {"sizes": (2, 4)}, {"sizes": (1, 1)}, {"seed": -1}):
        with pytest.raises(ParameterError):
            Pooling(**wrong)
    with pytest.raises(ParameterError, match="must name terms or labels"):
        Pooling(reader=Linkage()).fit(texts, rows)
