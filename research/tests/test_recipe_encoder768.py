"""The recipe of the encoder of 768 dimensions: no held-out sentence, no false negatives, nothing lost."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from sfumato.errors import ArtifactError

RECIPE = Path(__file__).parents[2] / "weights" / "encoder768" / "recipe"


@pytest.fixture
def recipe(monkeypatch):
    """Modules of the recipe; those of one name in another recipe are left alone."""
    monkeypatch.syspath_prepend(str(RECIPE))
    for name in ("pairs", "train", "halves"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in ("pairs", "train", "halves"):
        sys.modules.pop(name, None)


def test_the_rate_goes_up_and_ends_at_nothing_by_steps_or_by_time(recipe, monkeypatch):
    train = recipe("train")
    shares = [train.rate_share(done / 100) for done in range(101)]
    assert shares[0] < 0.05 and shares[100] == 0 and shares.index(max(shares)) in (9, 10, 11)
    now = [0.0]
    monkeypatch.setattr(train.time, "monotonic", lambda: now[0])
    progress = train.Progress(100, 50.0)
    now[0] = 25.0
    assert progress.done(10) == 0.5 and progress.done(80) == 0.8 and progress.spent == 25.0


def test_pairs_of_one_key_are_no_negatives(recipe):
    contrast = recipe("train").contrast
    left, right = torch.eye(4), torch.eye(4)
    right[1] = right[0]  # the second answers the first as well
    apart, together = (float(contrast(left[:2], right[:2], keys)) for keys in (["a", "b"], ["a", "a"]))
    assert together < apart and together == pytest.approx(0, abs=1e-6)


def test_no_pair_holds_a_sentence_that_is_measured(recipe, tmp_path, monkeypatch):
    pairs = recipe("pairs")
    monkeypatch.setattr(pairs, "held_out", lambda data: {pairs.told_apart("A heron stood there.")})
    made = [pairs.Pair("a HERON stood there", "x", "1"), pairs.Pair("y", "A heron -- stood there!", "2")]
    kept = pairs.Pair("A heron stood elsewhere.", "z", "3")
    monkeypatch.setattr(pairs, "SOURCES", {"own": (lambda data: iter([*made, kept]), 1)})
    assert pairs.read_pairs(tmp_path) == {"own": [kept]}


def test_only_training_queries_and_their_own_answers_are_taken(recipe, tmp_path, monkeypatch):
    pairs = recipe("pairs")
    tables = {
        "corpus": [{"_id": name, "text": f"document {name}"} for name in "abc"],
        "queries": [{"_id": name, "text": f"query {name}"} for name in "123"],
        "qrels": [
            {"query-id": "1", "corpus-id": "a", "score": "1", "split": "train"},
            {"query-id": "1", "corpus-id": "b", "score": "1", "split": "train"},
            {"query-id": "2", "corpus-id": "b", "score": "1", "split": "test"},
            {"query-id": "3", "corpus-id": "c", "score": "0", "split": "train"},
        ],
    }
    monkeypatch.setattr(pairs, "rows", lambda data, folder, name: iter(tables[name]))
    assert list(pairs.searched(tmp_path, "own")) == [pairs.Pair("query 1", "document a", "a")]


def test_halves_lose_nothing_and_notice_what_is_missing(recipe, tmp_path, monkeypatch):
    halves = recipe("halves")
    monkeypatch.setattr(halves, "MOST", 4000)
    folder = tmp_path / "model"
    (folder / "2_Dense").mkdir(parents=True)
    weights = {
        "wide": np.sin(np.arange(4000.0)).reshape(40, 100).astype(np.float16).astype(np.float32),
        "one": np.float32([0.5]),
        "numbers": np.arange(7),
    }
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "2_Dense" / "config.json").write_text("{}")
    halves.split(folder, tmp_path / "small")
    assert max(file.stat().st_size for file in (tmp_path / "small").rglob("*.safetensors*")) < 5000
    halves.join(tmp_path / "small", tmp_path / "again")
    found = load_file(tmp_path / "again" / "model.safetensors")
    assert all(
        np.array_equal(found[name], rows) and found[name].dtype == rows.dtype
        for name, rows in weights.items()
    )
    (tmp_path / "small" / "2_Dense" / "config.json").write_text("{ }")
    with pytest.raises(ArtifactError, match="Split it again"):
        halves.join(tmp_path / "small", tmp_path / "other")
    save_file({"wide": weights["wide"] * np.float32(1.0001)}, folder / "model.safetensors")
    with pytest.raises(ArtifactError, match="half precision"):
        halves.split(folder, tmp_path / "third")
