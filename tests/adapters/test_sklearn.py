"""scikit-learn's own checks, and what a pipeline does with protected rows."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from sfumato.adapters.sklearn import ProtectTexts, ProtectVectors
from sfumato.embedders import Fake
from sfumato.errors import InputError, ParameterError, RandomnessError
from sfumato.mechanisms import Laplace, Projection
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.reference import ProtectorReference
from sfumato.saving import save_protector

SECRET = "env:SFUMATO_SECRET"
FRESH = "noise is fresh in every call, as it has to be; with a secret this check passes"
# The two checks that compare two calls without asking whether the estimator is deterministic.
EXPECTED = {"check_estimators_pickle": FRESH, "check_fit_idempotent": FRESH}


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("SFUMATO_SECRET", secrets.token_hex(32))


def checked(estimator, expected=None):
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(estimator, expected_failed_checks=expected, on_fail="raise", on_skip=None)
    return {status: {r["check_name"] for r in results if r["status"] == status} for status in STATUSES}


STATUSES = ("passed", "failed", "skipped", "xfail")


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_with_a_secret_every_check_passes(mechanism):
    found = checked(ProtectVectors(mechanism=mechanism, secret=SECRET))
    assert len(found["passed"]) >= 40
    assert not found["failed"] and not found["skipped"] and not found["xfail"]


@pytest.mark.filterwarnings("ignore:.*Can't.*:sklearn.exceptions.SkipTestWarning")
def test_without_one_only_those_fail_that_forbid_fresh_noise():
    found = checked(ProtectVectors(), EXPECTED)
    assert not found["failed"] and found["xfail"] == set(EXPECTED)
    assert found["skipped"] == {
        "check_pipeline_consistency",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
    }


def rows(count=300, dim=24):
    drawn = generator(1).standard_normal((count, dim))
    labels = drawn[:, 0] > 0
    drawn[:, 0] += np.where(labels, 2.0, -2.0)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True), labels


def test_a_pipeline_learns_from_protected_rows_and_search_moves_the_noise():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    data, labels = rows()
    pipeline = make_pipeline(ProtectVectors(), LogisticRegression())
    search = GridSearchCV(pipeline, {"protectvectors__noise_ratio": [0.1, 30.0]}, cv=3).fit(data, labels)
    low, high = search.cv_results_["mean_test_score"]
    assert low > 0.9 > high


def test_long_rows_are_drawn_in_and_zeros_are_released():
    data, _ = rows(4)
    quiet = ProtectVectors(noise_ratio=0.002).fit(data)
    np.testing.assert_allclose(quiet.transform(data * 50), data, atol=0.02)
    np.testing.assert_allclose(quiet.transform(data / 2), data / 2, atol=0.02)
    assert np.abs(quiet.transform(np.zeros((3, 24)))).max() < 0.02
    # A protector for embeddings refuses what cannot be one.
    with pytest.raises(InputError, match="Row 0 is zero"):
        ProtectVectors(Protector(Laplace(epsilon=100.0))).fit(data).transform(np.zeros((1, 24)))


def test_sticky_rows_differ_when_their_numbers_do():
    data, _ = rows(5)
    made = ProtectVectors(secret=SECRET, noise_ratio=1.0).fit(data)
    near = data.copy()
    near[0, 0] = np.nextafter(near[0, 0], 1.0)
    first, second = made.transform(data), made.transform(near)
    assert np.array_equal(first[1:], second[1:]) and not np.allclose(first[0], second[0], atol=0.01)
    assert np.array_equal(made.transform(data.astype(np.float32)), made.transform(data.astype(np.float32)))
    assert np.array_equal(made.transform(-np.zeros((1, 24))), made.transform(np.zeros((1, 24))))
    other = ProtectVectors(secret=SECRET, noise_ratio=1.1).fit(data)
    assert not np.allclose(first, other.transform(data), atol=0.01)


def test_names_of_what_comes_out():
    data, _ = rows(4)
    noise = Projection(epsilon=50.0, delta=1e-3, beta=0.9)
    made = ProtectVectors(Protector(noise, normalise=False)).fit(data)
    released = made.transform(data)
    assert list(made.get_feature_names_out()) == [f"protectvectors{i}" for i in range(released.shape[1])]
    frame = ProtectVectors().set_output(transform="pandas").fit_transform(data)
    assert frame.shape == (4, 24) and frame.columns[0] == "protectvectors0"


def test_texts_become_vectors(tmp_path):
    from sklearn.base import clone

    save_protector(Protector(Laplace(epsilon=60.0), embedder=Fake(dim=32)), tmp_path / "protector")
    kept = ProtectorReference(str(tmp_path / "protector"), secret=SECRET)
    made = clone(ProtectTexts(kept)).fit(["anything"])
    texts = np.array(["one", "two"], dtype=object)
    assert np.array_equal(made.transform(texts), kept.open().embed(["one", "two"]))
    assert len(made.get_feature_names_out()) == 32
    with pytest.raises(InputError, match="single text"):
        made.transform("one")


def test_refused():
    data, _ = rows(4)
    with pytest.raises(ParameterError, match="goes with the protector"):
        ProtectVectors(Protector(Laplace(epsilon=9.0)), secret=SECRET).fit(data)
    with pytest.raises(ParameterError, match="has to be one of"):
        ProtectVectors(mechanism="none such").fit(data)
    with pytest.raises(ParameterError, match="env:NAME"):
        ProtectVectors(secret="hunter2").fit(data)
    with pytest.raises(RandomnessError, match="cannot be copied"):
        import copy

        from sfumato.accounting import Secret

        copy.deepcopy(ProtectVectors(Protector(Laplace(epsilon=9.0), secret=Secret.generate())))
