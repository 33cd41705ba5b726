"""Sealed collections from the command line: sealed, searched, erased; and what is refused, in one line."""

from __future__ import annotations

import json
import stat

import pytest
from tests.cli.test_main import sfumato
from tests.sealing.collections import metadata, names, notes

from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.records import Records
from sfumato.stores import open_store

ROWS = 200
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)
AT = ("--store", "lancedb:db#notes", "--key", "notes.key")


@pytest.fixture
def folder(tmp_path):
    lines = [
        json.dumps({"id": name, "text": text, **fields, "list": [1, "two"], "none": None})
        for name, text, fields in zip(IDS, TEXTS, FIELDS, strict=True)
    ]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines))
    return tmp_path


@pytest.fixture
def sealed_folder(folder):
    done = sfumato("seal", "notes.jsonl", *AT, "--embedder", "fake:48", "--json", "s.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not any(text in done.stdout + done.stderr for text in TEXTS)
    return folder


def test_seal_search_and_erase(sealed_folder):
    facts = json.loads((sealed_folder / "s.json").read_text())
    assert (facts["rows"], facts["changed"], facts["records"]) == (ROWS, ROWS, 2 * ROWS + 1)
    assert facts["bytes"] > 0 and facts["milliseconds"] > 0 and facts["candidates"] > 0 and facts["complete"]
    assert facts["measured"]["metric"] == "recall@10" and facts["measured"]["target"] == 0.99
    assert stat.S_IMODE((sealed_folder / "notes.key").stat().st_mode) == 0o600
    found = sfumato("search", TEXTS[7], *AT, "-k", "3", "--json", "f.json", cwd=sealed_folder)
    assert found.returncode == 0 and IDS[7] in found.stdout and TEXTS[7] in found.stdout
    written = json.loads((sealed_folder / "f.json").read_text())
    assert written["complete"] and written["bytes"] > 0 and len(written["results"][0]["hits"]) == 3
    best = written["results"][0]["hits"][0]
    assert (best["id"], best["text"], best["score"] > 0.99) == (IDS[7], TEXTS[7], True)
    assert best["metadata"] == {**FIELDS[7], "list": '[1, "two"]'}
    gone = sfumato("erase", *AT, "--id", IDS[7], "--id", "absent", "--json", "e.json", cwd=sealed_folder)
    assert gone.returncode == 0 and "1 rows erased; 1 were not there" in gone.stdout
    record = json.loads((sealed_folder / "e.json").read_text())
    assert (record["erased"], record["absent"]) == (1, 1) and record["record"]["count"] >= 1
    again = sfumato("search", TEXTS[7], *AT, "--json", "-", cwd=sealed_folder)
    assert IDS[7] not in [hit["id"] for hit in json.loads(again.stdout)["results"][0]["hits"]]


@pytest.mark.parametrize("handle", ["tags", "codes", "noise"])
def test_every_handle_seals_searches_and_erases(folder, handle):
    made = ("--handle", handle, "--embedder", "fake:48", "--names", "email", "--keep", "recall@10=0.9")
    lines = (folder / "notes.jsonl").read_text().splitlines()
    lines[7] = json.dumps({"id": IDS[7], "text": f"{TEXTS[7]} Write to ann@example.org."})
    (folder / "notes.jsonl").write_text("\n".join(lines))
    done = sfumato("seal", "notes.jsonl", *AT, *made, "--json", "s.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads((folder / "s.json").read_text())
    assert (facts["handle"], facts["rows"], facts["records"]) == (handle, ROWS, 2 * ROWS + 2)
    assert facts["measured"]["metric"] == "recall@10" and facts["measured"]["candidates"] <= ROWS
    assert facts["sees"] in " ".join(done.stdout.split()) and facts["complete"]
    again = sfumato("seal", "notes.jsonl", *AT, cwd=folder)
    assert again.returncode == 0 and "0 of them new or changed" in again.stdout
    found = sfumato("search", TEXTS[9], *AT, "-k", "1", cwd=folder)
    assert found.returncode == 0 and IDS[9] in found.stdout
    found = sfumato("search", "--name", "ANN@example.org", *AT, "--json", "f.json", cwd=folder)
    hits = json.loads((folder / "f.json").read_text())["results"][0]["hits"]
    assert found.returncode == 0 and [hit["id"] for hit in hits] == [IDS[7]]
    assert sfumato("erase", *AT, "--id", IDS[7], cwd=folder).returncode == 0
    gone = sfumato("search", "--name", "ann@example.org", *AT, cwd=folder)
    assert gone.returncode == 0 and IDS[7] not in gone.stdout


def test_many_queries_and_a_filter(sealed_folder):
    (sealed_folder / "queries.txt").write_text("\n".join(TEXTS[:5]))
    done = sfumato("search", "--queries", "queries.txt", *AT, "--json", "f.json", cwd=sealed_folder)
    assert done.returncode == 0, done.stderr
    results = json.loads((sealed_folder / "f.json").read_text())["results"]
    assert [each["query"] for each in results] == [0, 1, 2, 3, 4]
    assert [each["hits"][0]["id"] for each in results] == IDS[:5]
    for where, wards in (
        (["ward=ward 1"], {"ward 1"}),
        (["row=4"], {"ward 1"}),
        (["row=4", "ward=x"], set()),
    ):
        options = [part for each in where for part in ("--where", each)]
        done = sfumato("search", TEXTS[4], *AT, *options, "--json", "f.json", cwd=sealed_folder)
        hits = json.loads((sealed_folder / "f.json").read_text())["results"][0]["hits"]
        assert {hit["metadata"]["ward"] for hit in hits} == wards


def test_sealing_again_adds_what_is_new_and_changed(sealed_folder):
    lines = (sealed_folder / "notes.jsonl").read_text().splitlines()
    lines[3] = lines[3].replace("Note 3", "Remark 3")
    lines.append(json.dumps({"id": "new", "text": "a new note"}))
    (sealed_folder / "more.jsonl").write_text("\n".join(lines))
    done = sfumato("seal", "more.jsonl", *AT, cwd=sealed_folder)
    assert done.returncode == 0 and f"{ROWS + 1} rows sealed, 2 of them new or changed" in done.stdout


def test_a_copy_of_the_key_is_tested(sealed_folder):
    (sealed_folder / "copy.key").write_bytes((sealed_folder / "notes.key").read_bytes())
    (sealed_folder / "copy.key").chmod(0o600)
    SealingKey.create(sealed_folder / "other.key")
    for copy, code in (("copy.key", 0), ("other.key", 2), ("notes.key", 2), ("absent.key", 2)):
        done = sfumato("seal", "notes.jsonl", *AT, "--confirm", copy, cwd=sealed_folder)
        assert done.returncode == code, done.stderr


def test_rows_without_ids_are_numbered(folder):
    (folder / "lines.txt").write_text("\n".join(TEXTS[:20]))
    done = sfumato("seal", "lines.txt", *AT, "--embedder", "fake:48", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = sfumato("search", TEXTS[5], *AT, "--json", "f.json", "-k", "1", cwd=folder)
    assert json.loads((folder / "f.json").read_text())["results"][0]["hits"][0]["id"] == "5"


def test_a_store_that_lost_a_record_is_told_by_the_exit_code(sealed_folder):
    with open_store(f"lancedb:{sealed_folder}/db#notes") as store:
        held = dict(Records(store).scan())
        sizes = sorted(len(each) for each in held.values())
        store.delete([name for name, content in held.items() if len(content) == sizes[len(sizes) // 4]])
    done = sfumato("search", TEXTS[7], *AT, "--json", "f.json", cwd=sealed_folder)
    assert done.returncode == 1 and "incomplete" in done.stderr
    written = json.loads((sealed_folder / "f.json").read_text())
    assert not written["complete"] and written["results"][0]["faults"]


def test_what_is_refused_in_one_line(sealed_folder):
    SealingKey.create(sealed_folder / "other.key")
    state = next((sealed_folder / "notes.key.state").iterdir())
    (sealed_folder / "bad.jsonl").write_text(json.dumps({"text": TEXTS[0]}) + "\n")
    elsewhere = ("--store", "lancedb:elsewhere#notes", "--key", "notes.key")
    other = ("--store", "lancedb:db#notes", "--key", "other.key")
    for arguments in (
        ("search", TEXTS[0], *other),
        ("search", TEXTS[0], *other, "--state", state),
        ("search", TEXTS[0], *AT, "--tenant", "someone"),
        ("search", TEXTS[0], *AT, "--tenant", "someone", "--state", state),
        ("search", TEXTS[0], *elsewhere),
        ("search", TEXTS[0], "--store", "lancedb:db#notes", "--key", "absent.key"),
        ("search", TEXTS[0], "--queries", "notes.jsonl", *AT),
        ("search", *AT),
        ("search", TEXTS[0], *AT, "-k", "0"),
        ("search", TEXTS[0], *AT, "--where", "ward"),
        ("search", TEXTS[0], *AT, "--embedder", "fake:16"),
        ("erase", *other, "--id", IDS[0]),
        ("erase", *AT),
        ("seal", "notes.jsonl", *other),
        ("seal", "notes.jsonl", "--store", "lancedb:db#notes", "--key", "fresh.key"),
        ("seal", "bad.jsonl", *AT, "--id-column", "number"),
        ("seal", "notes.jsonl", *elsewhere, "--handle", "unheard", "--embedder", "fake:48"),
        ("seal", "notes.jsonl", *elsewhere, "--handle", "codes", "--bits", "1", "--embedder", "fake:48"),
        ("seal", "notes.jsonl", *elsewhere, "--names", "unheard", "--embedder", "fake:48"),
        ("seal", "notes.jsonl", *AT, "--handle", "tags"),
        ("search", TEXTS[0], "--name", "Maria", *AT),
        ("search", "--name", "Maria", *AT),
        ("seal", "notes.jsonl", *elsewhere, "--keep", "cosine=0.9", "--embedder", "fake:48"),
    ):
        done = sfumato(*arguments, cwd=sealed_folder)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2 and len(lines) == 1 and lines[0].startswith("sfumato: "), (
            arguments,
            done,
        )
        assert not any(text in done.stdout + done.stderr for text in TEXTS) and not done.stdout
    assert not (sealed_folder / "fresh.key").exists()
    done = sfumato("search", TEXTS[9], *AT, "-k", "1", cwd=sealed_folder)
    assert IDS[9] in done.stdout
