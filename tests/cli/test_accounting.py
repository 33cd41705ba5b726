"""`--accounting curve` on the command line: files, folders and collections under one ledger."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cli.test_protect_folder import make_folder

from sfumato.accounting import Ledger, Secret
from sfumato.cli import main
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from sfumato.stores import open_store

LAPLACE = ("--mechanism", "laplace", "--epsilon", "40", "--secret", "key", "--ledger", "spent.db")


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command in this process; return its exit code and what it says on standard error."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((20, 64)).astype(np.float32)
    np.save("v.npy", vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main.run([*map(str, arguments)])
        return stopped.value.code, capfd.readouterr().err

    return call


def test_several_files_share_one_ceiling(run, tmp_path):
    curve = ("--accounting", "curve", "--ceiling-advantage", "0.3", "--distance", "0.1")
    collections = []
    for number in range(10):  # each collection has noise of its own: a fresh release of every vector
        code, said = run(
            "protect", "v.npy", *LAPLACE, *curve, "--collection", f"c{number}", "-o", f"{number}.npy"
        )
        collections.append(code)
    fits = collections.count(0)
    assert collections == [0] * fits + [2] * (10 - fits) and 1 <= fits < 10
    assert "advantage 0.3" in said and len(said.strip().splitlines()) == 1
    assert not (tmp_path / "9.npy").exists()
    # The same noise again is free.
    assert run("protect", "v.npy", *LAPLACE, *curve, "--collection", "c0", "-o", "again.npy")[0] == 0
    # A ceiling alone asks for curves; sums are another ledger's.
    assert run("protect", "v.npy", *LAPLACE, "--ceiling-advantage", "0.3", "--distance", "0.1",
               "--collection", "c0", "-o", "once.npy")[0] == 0  # fmt: skip
    code, said = run("protect", "v.npy", *LAPLACE, "-o", "sum.npy")
    assert code == 2 and "--accounting curve" in said
    ledger = Ledger("spent.db", secret=Secret.from_file("key"), ceiling=None, metric="curve")
    assert ledger.summary()["accounts"][0]["max_releases"] == fits


def test_workers_of_a_folder_count_curves_together(run, tmp_path):
    make_folder(tmp_path / "in", files=2)
    curve = ("--ceiling-advantage", "0.3", "--distance", "0.1", "--workers", "2")
    code, said = run("protect", "in", *LAPLACE, *curve, "-o", "out")
    assert code == 0, said
    ledger = Ledger("spent.db", secret=Secret.from_file("key"), ceiling=None, metric="curve")
    assert ledger.summary()["accounts"][0]["metric"] == "curve"
    code, said = run(
        "protect",
        "in",
        *LAPLACE,
        *curve,
        "--ceiling-advantage",
        "0.05",
        "--collection",
        "other",
        "-o",
        "more",
    )
    assert code == 2


def test_a_collection_is_migrated_under_a_ledger_of_curves(run):
    with open_store("memory:rows") as store:
        store.add([f"r{n}" for n in range(20)], np.load("v.npy"))
    assert run("protect", "v.npy", *LAPLACE, "-o", "x.npy")[0] == 0  # makes the key
    save_protector(Protector(Laplace(epsilon=40.0), learned={"dim": 64}), "made")
    base = ("migrate", "memory:rows", "--protector", "made", "--secret", "key", "--ledger", "m.db")
    code, said = run(*base, "--to", "memory:new", "--ceiling-advantage", "0.3", "--distance", "0.1")
    assert code == 0, said
    code, said = run(*base, "--to", "memory:newer", "--accounting", "curve")
    assert code == 2 and "--distance" in said


@pytest.mark.parametrize(
    "options",
    [
        ("--accounting", "curve", "--ceiling", "3"),
        ("--accounting", "sum", "--ceiling-advantage", "0.3"),
        ("--distance", "0.1"),
        ("--accounting", "abacus"),
        ("--accounting", "curve", "--ceiling-advantage", "2", "--distance", "0.1"),
        ("--accounting", "curve", "--distance", "0"),
        ("--accounting", "curve"),
    ],
)
def test_bad_ceilings_are_one_line_and_nothing_is_left(run, tmp_path, options):
    code, said = run("protect", "v.npy", *LAPLACE, *options, "-o", "out.npy")
    assert code == 2 and len(said.strip().splitlines()) == 1, said
    assert not (tmp_path / "out.npy").exists()


def test_curves_need_a_ledger(run):
    code, said = run(
        "protect", "v.npy", "--mechanism", "laplace", "--epsilon", "4", "--accounting", "curve", "-o", "o.npy"
    )
    assert code == 2 and "--ledger" in said
