"""Folders as versions 0.1 and 0.2 wrote them load, and release the same bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.errors import ArtifactError, SfumatoError
from sfumato.protector import Protector
from sfumato.randomness import InsecureSeedWarning, Source
from sfumato.saving import load_protector, save_protector

DIM = 8
RISING = np.linspace(0.25, 2.0, DIM)
FACTORS = np.outer(RISING, [1.0, -0.5]) * np.where(np.arange(DIM) % 2, 0.5, -0.25)[:, None]

SAVED: dict[str, tuple[dict[str, Any], dict[str, np.ndarray]]] = {
    "laplace": ({"epsilon": 20.0}, {}),
    "mahalanobis diagonal": ({"epsilon": 20.0, "shape": "diagonal"}, {"variances": RISING}),
    "mahalanobis dense": (
        {"epsilon": 20.0, "shape": "dense"},
        {"covariance": np.diag(RISING) + 0.125},
    ),
    "mahalanobis factored": (
        {"epsilon": 20.0, "shape": "factored"},
        {"variances": RISING, "factors": FACTORS},
    ),
    "purkayastha": ({"epsilon": 20.0}, {}),
    "gaussian": ({"sigma": 0.1, "epsilon": None, "delta": None}, {}),
    "gaussian analytic": ({"sigma": 4.242, "epsilon": 2.0, "delta": 1e-6}, {}),
    "projection": (
        {
            "epsilon": 20.0, "delta": 1e-6, "beta": 0.9, "sensitivity": "orthonormal", "components": 4,
            "seed": 3,
        },
        {},
    ),
    "suppression": ({"epsilon": 20.0, "share": 0.5}, {"mask": RISING}),
    "polar": ({"epsilon": 20.0, "radius_epsilon": 5.0}, {}),
    "identity": ({}, {}),
}  # fmt: skip
"""Mechanism and variant -> parameters beside the norm bound, and arrays, as they stood in the folder."""

VECTORS = ((7 * np.arange(1, 13)[:, None] + 13 * np.arange(DIM)) % 11 - 5).astype(np.float32) / 32


def written(case: str, path: Path, **changed: Any) -> Path:
    """The folder that those versions made of a protector with this mechanism."""
    parameters, arrays = SAVED[case]
    tensors = {f"mechanism.{name}": values for name, values in arrays.items()}
    tensors |= {"background.mean": np.zeros(DIM), "background.covariance": np.eye(DIM) / DIM}
    config = {
        "sfumato": "0.1.0",
        "mechanism": case.partition(" ")[0],
        "parameters": {**parameters, "max_norm": 1.0},
        "guarantee": "as it was described",
        "embedder": None,
        "concepts": [],
        "neutral": 8,
        "normalise": True,
        "only_matching": False,
        "background": {"rows": 300, "source": "public"},
        "learned": {
            "dim": DIM,
            "source": "public",
            "substitution_distances": {"median": 0.1, "p95": 0.2, "max": 0.3},
        },
        **changed,
    }
    if case.startswith("suppression"):  # it has no filter
        config["background"] = None
        tensors = {name: values for name, values in tensors.items() if name.startswith("mechanism.")}
    artifacts.save(path, "protector", config, tensors)
    return path


def digest(protector: Protector) -> str:
    """Of a seeded release: its noise to the bit, what is filtered and scaled to four digits."""
    noised = protector.mechanism.privatize(VECTORS, Source.seeded(5))
    released = np.rint(protector.protect(VECTORS, rng=Source.seeded(5)) * 1e4).astype("<i8")
    return hashlib.sha256(noised.astype("<f4").tobytes() + released.tobytes()).hexdigest()[:16]


RELEASED = {
    "laplace": "2e100613302a2bd5",
    "mahalanobis diagonal": "6394ce0a6af59cf4",
    "mahalanobis dense": "80589c11cbfd664f",
    "mahalanobis factored": "f69c9e701f024039",
    "purkayastha": "7a93aeae7e1364b8",
    "gaussian": "9afea77f377f0b39",
    "gaussian analytic": "1f417f5d59419dbb",
    "projection": "82816450bc6540df",
    "suppression": "3e4bbf65a4bcb9ff",
    "polar": "c2c083ae5cf525a4",
    "identity": "b9ff22166abe5855",
}
"""Digests of what version 0.2.0 released from these folders with one seed."""


@pytest.mark.filterwarnings(f"ignore::{InsecureSeedWarning.__module__}.InsecureSeedWarning")
@pytest.mark.parametrize("case", SAVED)
def test_an_old_folder_releases_the_same_bytes(case, tmp_path):
    loaded = load_protector(written(case, tmp_path / "old"))
    assert digest(loaded) == RELEASED[case]
    save_protector(loaded, tmp_path / "new")
    assert digest(load_protector(tmp_path / "new")) == RELEASED[case]
    assert loaded.mechanism.parameters().keys() == SAVED[case][0].keys() | {"max_norm"}


def test_what_a_shape_was_learned_from_and_what_a_swap_costs_come_back(tmp_path):
    found = load_protector(written("mahalanobis dense", tmp_path / "old")).guarantee
    assert found.proof == "proved" and "the shape was learned from public text" in found.notes
    assert found.substitutions is not None and found.substitutions.worst == pytest.approx(20.0 * 0.3)
    for case in ("laplace", "suppression"):
        assert load_protector(written(case, tmp_path / case)).guarantee.substitutions is None


@pytest.mark.parametrize(
    ("case", "parameters"),
    [
        ("laplace", {"max_norm": 1.0}),
        ("laplace", {"epsilon": 20.0, "max_norm": 1.0, "shape": "dense"}),
        ("mahalanobis dense", {"epsilon": 20.0, "max_norm": 1.0}),
        ("gaussian", {"sigma": 0.1, "max_norm": 1.0}),
        ("gaussian", {"sigma": 0.1, "epsilon": 2.0, "delta": None, "max_norm": 1.0}),
        ("suppression", {"epsilon": 20.0, "share": 0.5, "mask": [1.0], "max_norm": 1.0}),
    ],
)
def test_parameters_of_another_form_are_refused(case, parameters, tmp_path):
    with pytest.raises(SfumatoError):
        load_protector(written(case, tmp_path / "p", parameters=parameters))


def test_arrays_of_another_mechanism_are_refused(tmp_path):
    for wrong in ("laplace", "suppression"):
        with pytest.raises(ArtifactError):
            load_protector(
                written("mahalanobis dense", tmp_path / wrong, mechanism=wrong, parameters=SAVED[wrong][0])
            )
