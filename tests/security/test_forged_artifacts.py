"""Saved folders with a seal in order and a content that is not: anyone can seal, so all is checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.accounting import Secret
from sfumato.concepts.concept import Concept
from sfumato.errors import ArtifactError, InputError
from sfumato.mechanisms import Laplace, Mahalanobis
from sfumato.protector import Protector
from sfumato.saving import KIND, load_protector, save_protector
from sfumato.sensitivity import Background

DIM = 8
NUMBERS = np.random.Generator(np.random.Philox(0)).standard_normal((100, DIM))


@pytest.fixture
def folder(tmp_path):
    made = Protector(
        Mahalanobis(epsilon=10.0, shape=np.ones(DIM)),
        "fake:8",
        (Concept.from_terms("places", ["Rome", "Oslo"]),),
        background=Background.fit(NUMBERS, source="public"),
        learned={"dim": DIM, "source": "public"},
    )
    save_protector(made, tmp_path / "p")
    load_protector(tmp_path / "p").embed(["Rome"])
    return tmp_path / "p"


def resealed(folder, **changes):
    """Save the folder again with other settings, as whoever holds it can."""
    kept = artifacts.load(folder, KIND)
    tensors = {name: np.array(values) for name, values in kept.tensors.items()}
    artifacts.save(folder, KIND, {**kept.config, **changes}, tensors)


@pytest.mark.parametrize(
    "changes",
    [
        {"neutral": -3},
        {"neutral": 10**9},
        {"neutral": 2.5},
        {"neutral": True},
        {"neutral": "8"},
        {"neutral": None},
        {"neutral_by": "guess"},
        {"neutral_by": None},
        {"neutral_by": 1},
        {"neutral_by": ["soft"]},
        {"normalise": "false"},
        {"normalise": 0},
        {"only_matching": "no"},
        {"embedder": 5},
        {"embedder": ["fake"]},
        {"embedder": "x" * 5000},
        {"concepts": "places"},
        {"concepts": [{"name": "places", "source": "terms", "terms": [1, 2]}]},
        {"concepts": [{"name": "places", "source": "terms", "terms": "Rome"}]},
        {"concepts": [{"name": "places", "source": "terms", "terms": ["Rome"]}] * 1000},
        {"learned": []},
        {"learned": {"dim": -1}},
        {"learned": {"dim": 10**9}},
        {"learned": {"dim": 9}},
        {"learned": {"dim": "8"}},
        {"learned": {"model_id": 7}},
        {"learned": {"substitution_distances": {"median": "low", "p95": 1.0, "max": 2.0}}},
        {"learned": {"substitution_distances": {"median": 1.0}}},
        {"learned": {"substitution_distances": [1.0, 2.0, 3.0]}},
        {"background": {"rows": -1, "source": "public"}},
        {"background": {"rows": "many", "source": "public"}},
        {"background": {"rows": 100, "source": 5}},
        {"background": []},
        {"mechanism": "nothing"},
        {"mechanism": 3},
        {"mechanism": "laplace"},
        {"parameters": {"epsilon": -1.0}},
        {"parameters": []},
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_a_resealed_protector_with_impossible_settings_is_refused(folder, changes):
    resealed(folder, **changes)
    with pytest.raises(InputError) as caught:
        load_protector(folder)
    assert "\n" not in str(caught.value)


def test_tensors_of_another_dimension_are_refused(folder, tmp_path):
    kept = artifacts.load(folder, KIND)
    tensors = {name: np.array(values) for name, values in kept.tensors.items()}
    tensors |= {"background.mean": np.zeros(9), "background.covariance": np.eye(9)}
    artifacts.save(folder, KIND, kept.config, tensors)
    with pytest.raises(ArtifactError):
        load_protector(folder)


def test_unknown_tensors_are_refused(folder):
    kept = artifacts.load(folder, KIND)
    tensors = {name: np.array(values) for name, values in kept.tensors.items()}
    artifacts.save(folder, KIND, kept.config, {**tensors, "more": np.zeros(3)})
    with pytest.raises(ArtifactError):
        load_protector(folder)


LOAD = """
import sys
from sfumato.errors import SfumatoError
from sfumato.saving import load_protector
def peak():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
before = peak()
try:
    load_protector(sys.argv[1])
except SfumatoError as error:
    print(type(error).__name__, (peak() - before) // 1024)
    print(error)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
@pytest.mark.parametrize("named", [True, False], ids=["in its header", "beyond its header"])
def test_a_sparse_file_of_tensors_takes_no_memory(named, folder):
    """Three GiB that take no room on the disk, with a header that owns up to them or with none."""
    size = 3 << 30
    header = json.dumps({"a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(folder / artifacts.TENSORS, "wb") as handle:
        if named:
            handle.write(len(header).to_bytes(8, "little") + header)
        handle.truncate(8 + len(header) + size)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({5 << 30}, {5 << 30}))\n"
    done = subprocess.run([sys.executable, "-c", limit + LOAD, folder], capture_output=True, text=True)
    assert done.stdout.startswith("ArtifactError") and not done.stderr, done.stderr[-300:]
    assert int(done.stdout.split()[1]) < 50 and done.stdout.count("\n") == 2


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give a file away")
def test_a_secret_of_another_user_is_refused(tmp_path):
    path = tmp_path / "secret"
    Secret.from_file(path, create=True)
    os.chown(path, 12345, -1)
    with pytest.raises(InputError, match="belong to"):
        Secret.from_file(path)


def test_a_protector_of_every_kind_still_loads(tmp_path):
    for number, neutral in enumerate((0, 1, 1024)):
        made = Protector(Laplace(epsilon=1.0), None, (), neutral=neutral)
        save_protector(made, tmp_path / str(number))
        assert load_protector(tmp_path / str(number)).neutral == neutral
