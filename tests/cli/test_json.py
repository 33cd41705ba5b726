"""`--json -`: standard output holds JSON and nothing else, whatever the command."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

from sfumato.cli import main

TEXTS = [f"visit {n} to {place}" for n in range(30) for place in ("Rome", "us")]


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command in this process; return its exit code, what standard output holds, and standard error."""
    monkeypatch.chdir(tmp_path)
    vectors = np.random.Generator(np.random.PCG64(0)).standard_normal((40, 16)).astype(np.float32)
    np.save("in.npy", vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    (tmp_path / "in.txt").write_text("\n".join(TEXTS))
    (tmp_path / "terms.txt").write_text("Rome\n")

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main.run(list(arguments))
        shown = capfd.readouterr()
        return stopped.value.code, shown.out, shown.err

    return call


COMMANDS = [
    (("mechanisms",), "mechanisms"),
    (("attacks",), "attacks"),
    (("embedders",), "embedders"),
    (("stores",), "stores"),
    (("concepts",), "concepts"),
    (("verify", "identity", "--quick"), "rows"),
    (("plan", "--vectors", "1e6", "--dim", "16"), "seconds"),
    (("protect", "in.npy", "--mechanism", "laplace", "--epsilon", "9", "-o", "out.npy"), "outputs"),
    (("learn", "in.txt", "--terms", "terms.txt", "--embedder", "fake:32", "-o", "made"), "digest"),
    (("attack", "in.txt", "--attack", "linkage", "--embedder", "fake:32"), "recovered"),
    (("rewrite", "in.txt", "--terms", "terms.txt", "--epsilon", "20", "--words", "200"), "texts"),
]


@pytest.mark.parametrize(("arguments", "key"), COMMANDS, ids=lambda value: value[0])
def test_standard_output_is_json(run, tmp_path, arguments, key):
    code, out, err = run(*arguments, "--json", "-")
    assert code == 0, err
    assert key in json.loads(out)
    assert err.strip()  # what people read goes there
    assert not (tmp_path / "-").exists()


def test_without_it_people_read_standard_output(run, tmp_path):
    code, out, err = run("mechanisms", "--json", "m.json")
    assert code == 0 and "laplace" in out and not err
    assert json.loads((tmp_path / "m.json").read_text())["mechanisms"]


def test_texts_of_a_rewrite_are_in_the_json_alone_or_in_their_file(run, tmp_path):
    rewrite = ("rewrite", "in.txt", "--terms", "terms.txt", "--budgets", "0,0,inf,inf", "--words", "200")
    _, out, _ = run(*rewrite, "--json", "-")
    assert len(json.loads(out)["texts"]) == len(TEXTS) and out.count("visit 0 to us") == 1
    _, out, _ = run(*rewrite, "--json", "-", "-o", "out.txt")
    assert json.loads(out)["texts"] == (tmp_path / "out.txt").read_text().splitlines()


def test_all_other_outputs_refuse_a_dash(run, tmp_path):
    for arguments in (
        ("protect", "in.npy", "--mechanism", "laplace", "--epsilon", "9", "-o", "-"),
        ("learn", "in.txt", "--terms", "terms.txt", "--embedder", "fake:32", "-o", "-"),
        ("rewrite", "in.txt", "--epsilon", "20", "-o", "-"),
        ("demo", "--embedder", "fake", "-o", "-"),
    ):
        code, out, err = run(*arguments)
        assert code == 2 and not out and len(err.splitlines()) == 1 and "for --json alone" in err
    assert not (tmp_path / "-").exists()


def test_there_is_one_way_to_take_the_option():
    for name in main.COMMANDS:
        command = main.own_module(name).command
        asked = inspect.signature(command).parameters.get("json")
        assert asked is None or asked.annotation == "JsonOption", name
