"""`sfumato attack` and `sfumato attacks` as a user runs them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.test_main import as_program
from tests.test_protector import PLACE, PLACES, sentences

from sfumato.attacks import ATTACKS
from sfumato.cli import main
from sfumato.embedders import Fake
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector

TEXTS = sentences(500)
QUICK = ("--set", "epochs=8", "--set", "hidden=[64]", "--set", "copies=1")
TOKENS = (
    "attack",
    "texts.txt",
    "--attack",
    "tokens",
    "--terms",
    "places.txt",
    "--embedder",
    "fake:64",
    *QUICK,
)

pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("attack")
    (path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    (path / "places.txt").write_text("\n".join(PLACES) + "\n")
    protector = Protector(Laplace(epsilon=40.0), "fake:64", (PLACE,), neutral=2)
    save_protector(protector, path / "protector")
    vectors = Fake(dim=64).embed(TEXTS)
    np.save(path / "clean.npy", vectors)
    np.save(path / "released.npy", Laplace(epsilon=400.0).privatize(vectors))
    columns = {
        "text": TEXTS,
        "embedding": list(vectors),
        "showable": [row % 2 == 0 for row in range(len(TEXTS))],
    }
    pq.write_table(pa.table(columns), path / "rows.parquet")
    return path


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """The command in this process, because every new one would import torch again."""
    monkeypatch.chdir(folder)

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main.run(list(arguments))
        shown = capsys.readouterr()
        return stopped.value.code, shown.out, shown.err

    return call


@pytest.fixture
def run(folder, command):
    def call(*arguments):
        code, out, err = command(*arguments, "--json", "found.json")
        assert code == 0, err
        found = json.loads((folder / "found.json").read_text())
        return out, found, {figure["metric"]: figure for figure in found["figures"]}

    return call


def test_attacks_lists_them_all(folder, command):
    code, _, err = command("attacks", "--json", "attacks.json")
    assert code == 0, err
    found = json.loads((folder / "attacks.json").read_text())["attacks"]
    assert [row["name"] for row in found] == list(ATTACKS.names())
    by_name = {row["name"]: row for row in found}
    assert by_name["tokens"]["reads"] == "terms" and by_name["linkage"]["reads"] == "row"
    assert by_name["linkage"]["needs"] == "attacked"
    assert all(row["install"].startswith("pip install") for row in found)


def test_tokens_on_clean_texts(run):
    shown, found, figures = run(*TOKENS)
    assert figures["leakage"]["value"] > 0.9 and figures["leakage"]["interval"][0] > 0.8
    assert len(found["recovered"]) == len(found["rows"]) == len(found["scores"]) > 200
    assert found["fitted_to"] + len(found["rows"]) == len(TEXTS)
    assert found["control"]["metric"] == "leakage" and found["settings"]["hidden"] == [64]
    assert "leakage" in shown and "positive control" in shown
    for place in PLACES:
        assert place.lower() not in shown.lower()


def test_an_adaptive_attack_on_a_mechanism_brings_its_control(run):
    shown, found, figures = run(*TOKENS, "--mechanism", "laplace", "--noise-ratio", "6")
    assert figures["leakage"]["value"] < 0.4 and found["control"]["value"] > 0.7
    assert "released through laplace" in shown
    _, without, _ = run(*TOKENS, "--mechanism", "laplace", "--noise-ratio", "6", "--no-control")
    assert without["control"] is None and without["recovered"] == found["recovered"]


def test_a_protector_with_neutral_texts_is_attacked_through_them(run):
    arguments = [each for each in TOKENS if each not in ("--embedder", "fake:64")]
    _, found, figures = run(*arguments, "--protector", "protector")
    assert figures["leakage"]["value"] < 0.4 and found["control"]["value"] > 0.9
    informed = ("attack", "texts.txt", "--attack", "informed", "--terms", "places.txt", "--limit", "60")
    _, found, figures = run(*informed, "--protector", "protector")
    # Nothing but chance is left, and the control is taken on clean vectors.
    assert figures["leakage"]["value"] < 0.45 and figures["confidence"]["value"] == pytest.approx(
        1 / len(PLACES)
    )
    assert found["control"]["value"] > 0.95


def test_known_texts_are_linked(run):
    base = ("attack", "texts.txt", "--embedder", "fake:64", "--limit", "200")
    _, _, figures = run(*base, "--attack", "linkage", "--mechanism", "laplace", "--epsilon", "400")
    assert figures["top-1"]["value"] > 0.9 and figures["top-10"]["value"] >= figures["top-1"]["value"]
    _, found, figures = run(*base, "--attack", "bits", "--mechanism", "laplace", "--epsilon", "2")
    assert figures["exactly one left"]["value"] < 0.1


def test_somebody_elses_vectors(run):
    """Leaked pairs to learn from, and vectors alone with texts of the attacker's own."""
    _, found, figures = run(*TOKENS, "--embeddings", "released.npy")
    assert figures["leakage"]["value"] > 0.8 and found["control"]["value"] > 0.9
    alone = ("attack", "released.npy", "--attack", "tokens", "--terms", "places.txt", *QUICK)
    shown, found, figures = run(*alone, "--train", "texts.txt", "--embedder", "fake:64")
    assert not figures and len(found["recovered"]) == len(TEXTS) and "cannot be scored" not in shown
    right = [PLACE.terms_in(text)[:1] == row[:1] for text, row in zip(TEXTS, found["recovered"], strict=True)]
    assert np.mean(right) > 0.4  # half of the texts name no place


def test_texts_are_shown_only_where_that_is_allowed(run):
    base = ("attack", "rows.parquet", "--attack", "tokens", "--terms", "places.txt", *QUICK)
    silent, _, _ = run(*base)
    assert not any(text in silent for text in TEXTS)
    shown, found, _ = run(*base, "--show", "3")
    even = [row for row in found["rows"] if row % 2 == 0][:3]
    assert all(TEXTS[row] in shown for row in even) and shown.count("  true  ") == 3
    assert not any(TEXTS[row] in shown for row in found["rows"] if row % 2 == 1)
    everything, _, _ = run(*base, "--show", "4", "--show-texts")
    assert everything.count("  true  ") == 4 and any(TEXTS[row] in everything for row in found["rows"][:4])
    none, _, _ = run(*TOKENS, "--show", "2")
    assert "No row is marked showable" in none and not any(text in none for text in TEXTS)


def test_a_fitted_attack_is_kept_and_used_again(folder, run):
    _, first, _ = run(*TOKENS, "--save", "fitted")
    assert sorted(path.name for path in (folder / "fitted").iterdir()) == [
        "config.json",
        "tensors.safetensors",
    ]
    again = ("attack", "clean.npy", "--attack", "tokens", "--load", "fitted")
    _, found, _ = run(*again)
    assert len(found["recovered"]) == len(TEXTS) and found["fitted_to"] == 0
    assert [found["recovered"][row] for row in first["rows"]] == first["recovered"]
    assert found["control"]["value"] == first["control"]["value"]


BAD = {
    "unknown attack": ("attack", "texts.txt", "--attack", "telepathy"),
    "no such file": ("attack", "absent.txt", "--attack", "tokens"),
    "unknown setting": (*TOKENS, "--set", "wisdom=3"),
    "no such option": (*TOKENS, "--beam", "4"),
    "bad setting": (*TOKENS, "--set", "epochs=-1"),
    "odd set": (*TOKENS, "--set", "epochs"),
    "both victims": (*TOKENS, "--protector", "protector", "--mechanism", "laplace"),
    "no level": (*TOKENS, "--mechanism", "laplace"),
    "level alone": (*TOKENS, "--epsilon", "3"),
    "two levels": (*TOKENS, "--mechanism", "laplace", "--epsilon", "3", "--noise-ratio", "1"),
    "needs a shape": (*TOKENS, "--mechanism", "mahalanobis", "--epsilon", "3"),
    "vectors alone": ("attack", "clean.npy", "--attack", "tokens"),
    "no texts to learn from": ("attack", "clean.npy", "--attack", "tokens", "--train", "clean.npy"),
    "rows do not pair up": (*TOKENS, "--embeddings", "few.npy"),
    "no concept": ("attack", "texts.txt", "--attack", "informed", "--embedder", "fake:64"),
    "not a fitted attack": ("attack", "clean.npy", "--attack", "tokens", "--load", "protector"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_exit_2(folder, command, name):
    np.save(folder / "few.npy", np.ones((3, 64), np.float32) / 8)
    code, _, err = command(*BAD[name])
    assert code == 2, err
    assert len(err.strip().splitlines()) == 1 and err.startswith("sfumato: "), err
    assert not any(text in err for text in TEXTS)


def test_help_has_an_example():
    done = as_program("attack", "-h")
    assert done.returncode == 0 and "Example" in done.stdout and "--attack" in done.stdout
