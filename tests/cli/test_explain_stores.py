"""`sfumato explain` on stores: protected rows, sealed rows, and rows nobody vouches for."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.embedders import Fake
from sfumato.explaining import certificate_for, explain
from sfumato.mechanisms import Mahalanobis
from sfumato.saving import save_protector
from sfumato.sealing import SealingKey
from sfumato.sealing.inspection.snapshot import look_at
from sfumato.stores import ProtectedStore, open_store

TEXTS = [f"Note {n} about a visit to Faro." for n in range(40)]
IDS = [f"n{n}" for n in range(40)]
KEPT = {"median": 0.02, "p95": 0.05, "max": 0.1}
CONTRACT = {"attacker", "prior", "success", "total_variation", "bits", "conditions"}


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run the command in this process; return its exit code, what it says, and its certificate."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        (tmp_path / "c.json").unlink(missing_ok=True)
        with pytest.raises(SystemExit) as stopped:
            main.run(["explain", *map(str, arguments), "--json", "c.json"])
        shown = capfd.readouterr()
        written = tmp_path / "c.json"
        found = json.loads(written.read_text())["certificate"] if written.exists() else None
        return stopped.value.code, shown.out + shown.err, found

    return call


@pytest.fixture
def protector():
    mechanism = Mahalanobis(epsilon=60.0, shape=np.linspace(0.5, 1.5, 64))
    return sf.Protector(mechanism, "fake:64", learned={"substitution_distances": KEPT, "dim": 64})


def fill(protector, place="memory:rows", **more):
    with ProtectedStore(open_store(place), protector) as store:
        store.add(IDS, TEXTS, **more)


def test_rows_that_a_protector_released(run, protector):
    save_protector(protector, "made")
    code, said, found = run("memory:rows", "--protector", "made")
    assert code == 2 and "no such folder" in said
    secret = sf.Secret.from_file("key", create=True)
    fill(replace(protector, secret=secret), metadata=[{"year": 2024}] * 40)
    code, said, found = run("memory:rows", "--protector", "made", "--secret", "key", "--trials", "0")
    assert code == 0, said
    assert set(found) >= CONTRACT and found["success"] == certificate_for(protector)["success"]
    assert "40 rows that carry the mark" in said and "not covered: year" in said and "sticky" in said
    # Without the key, or by another protector, no row is its own.
    code, said, found = run("memory:rows", "--protector", "made")
    assert code == 2 and "--secret" in said and found is None and len(said.strip().splitlines()) == 1


def test_other_rows_of_the_store_are_not_covered(run, protector):
    save_protector(protector, "made")
    fill(protector)
    with open_store("memory:rows") as store:
        store.add(["x"], np.eye(1, 64, dtype=np.float32))
    code, said, _ = run("memory:rows", "--protector", "made", "--trials", "0")
    assert code == 0 and "rows of the store without it: 1;" in said
    code, said, _ = run("memory:rows")
    assert code == 2 and "Give --protector" in said


def seal(handle, **options):
    key = SealingKey.open("notes.key")
    with sf.SealedStore(
        open_store("memory:sealed"), key=key, folder="state", embedder=Fake(dim=64), handle=handle, **options
    ) as store:
        store.add(IDS, TEXTS)


def test_a_sealed_store_shows_counts_and_sizes_and_needs_no_key(run):
    seal("multimap")
    code, said, found = run("memory:sealed", "--candidates", "5")
    assert code == 0, said
    assert set(found) >= CONTRACT
    assert found["success"] == {"median": 0.2, "p95": 0.2, "worst": 0.2} and found["bits"] == 0
    assert "records of" in found["sees"] and any("simulator" in each for each in found["conditions"])
    assert "as he would without the store" in said and "epsilon" not in said.lower()
    with_key = run("memory:sealed", "--candidates", "5", "--key", "notes.key", "--state", "state")
    assert with_key[0] == 0 and with_key[2]["success"] == found["success"]
    code, said, _ = run("memory:sealed", "--svg", "a.svg")
    assert code == 2 and "no curve" in said


@pytest.mark.parametrize(
    ("handle", "options", "worst"),
    [("codes", {"bits": 3}, 8 / 100), ("codes", {"bits": 64}, 1.0), ("tags", {}, 1.0)],
)
def test_other_handles_are_bounded_by_what_they_show(run, handle, options, worst):
    seal(handle, **options)
    # Without the key nobody knows what the vectors or tags are: nothing is certified.
    code, said, found = run("memory:sealed", "--candidates", "100")
    assert code == 0 and found["success"]["worst"] == 1, said
    code, said, found = run("memory:sealed", "--candidates", "100", "--key", "notes.key", "--state", "state")
    assert code == 0 and found["success"]["worst"] == pytest.approx(worst), said


def test_the_handle_noise_has_the_certificate_of_its_noise(run):
    seal("noise", release=1.4)
    keyed = ("memory:sealed", "--key", "notes.key", "--state", "state", "--trials", "0")
    code, said, found = run(*keyed)
    assert code == 2 and "--distance" in said
    code, said, found = run(*keyed, "--distance", "0.1")
    assert code == 0, said
    laplace = sf.mechanisms.Laplace.from_noise_ratio(1.4, dim=64)
    wanted = certificate_for(sf.Protector(laplace, learned={"dim": 64}), distance=0.1)
    assert found["success"] == wanted["success"] and 0.1 < found["success"]["worst"] < 1


def test_a_sealed_store_with_a_field_in_the_clear_is_not_certified(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seal("multimap")
    with open_store("memory:sealed") as store:
        rows = next(store.batches())
        store.add(rows.ids[:1], rows.vectors[:1], [{**rows.metadata[0], "name": "Ann"}])
        found = explain(look_at(store))
    assert found.pairs["worst"].success == 1
    assert any("fields in the clear" in each for each in found.conditions)


@pytest.mark.parametrize(
    ("handle", "options"), [("multimap", {}), ("codes", {"bits": 3}), ("noise", {"release": 1.4})]
)
def test_having_the_key_certifies_no_field_in_the_clear(run, handle, options):
    """What the client wrote and what is in the store are two things: it is the store that is stolen."""
    seal(handle, **options)
    keyed = (
        "memory:sealed",
        "--candidates",
        "100",
        "--distance",
        "0.05",
        "--key",
        "notes.key",
        "--state",
        "state",
    )
    code, said, found = run(*keyed, "--trials", "0")
    assert code == 0 and found["success"]["worst"] < 1, said
    with open_store("memory:sealed") as store:
        rows = next(store.batches())
        store.add(rows.ids[:1], rows.vectors[:1], [{**rows.metadata[0], "name": "Ann"}])
    code, said, found = run(*keyed, "--trials", "0")
    assert code == 0 and found["success"]["worst"] == 1 and "fields in the clear" in said
    assert "Ann" not in said


def test_options_of_one_kind_are_refused_for_the_other(run, protector):
    save_protector(protector, "made")
    for more in (("--key", "k"), ("--protector", "made"), ("--sample", "x.jsonl"), ("--trials", "-1")):
        code, said, found = run("made", *more)
        assert code == 2 and found is None and len(said.strip().splitlines()) == 1
    code, said, _ = run("nonsense:rows")
    assert code == 2 and "must begin with" in said


def test_a_labelled_sample_says_how_often_a_term_is_missed(run, protector, tmp_path):
    hides = replace(protector, concepts=(sf.Concept.from_terms("city", ["Faro"]),))
    save_protector(hides, "made")
    rows = [
        {"text": f"in {city} today", "spans": [{"start": 3, "end": 3 + len(city), "label": "LOC"}]}
        for city in ["Faro"] * 90 + ["Lima"] * 10
    ]
    (tmp_path / "sample.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code, said, found = run("made", "--sample", "sample.jsonl", "--truth-spans", "LOC", "--svg", "curve.svg")
    assert code == 0, said
    assert found["detector"]["missed"] == 10 and 0.1 < found["detector"]["upper"] < 0.2
    assert found["over_all_texts"]["worst"] < found["success"]["worst"]
    assert found["measured"]["trials"] == 1000 and "informed attacker" in said
    for name, got in found["measured"]["success"].items():
        assert got["interval"][0] <= found["success"][name]
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    assert "Faro" not in said and "Lima" not in said
    (tmp_path / "plain.txt").write_text("in Faro\n")
    code, said, _ = run("made", "--sample", "plain.txt", "--truth-spans", "LOC")
    assert code == 2 and len(said.strip().splitlines()) == 1
