"""`sfumato audit --store` on a sealed collection: it is recognised, checked without the key, and judged."""

from __future__ import annotations

import json

import pytest
from tests.auditing.schema import problems
from tests.cli.test_main import sfumato
from tests.sealing.collections import ENCODER, metadata, names, notes, sealed

from sfumato.sealing.inspection.snapshot import is_sealed, look_at
from sfumato.sealing.records import CONTENT_FIELD, vectors_of
from sfumato.stores import Memory, open_store

ROWS = 300


@pytest.fixture
def held(tmp_path):
    """The records of a collection, and where they are."""
    store = open_store(f"memory:{tmp_path}/db")
    with sealed(tmp_path, store) as made:
        made.add(names(ROWS), notes(ROWS), metadata(ROWS))
    return tmp_path


def test_a_sealed_collection_passes_and_shows_counts_and_sizes(held):
    done = sfumato("audit", "--store", "memory:db", "--json", "a.json", cwd=held)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stderr
    found = json.loads((held / "a.json").read_text())
    assert problems(found) == [] and found["verdict"] == "pass" and found["leakage"] is None
    assert found["sealed"]["records"] == 2 * ROWS + 1 == sum(found["sealed"]["sizes"].values())
    assert all(each["holds"] for each in found["sealed"]["checks"]) and found["attacks"] == []
    refused = sfumato("audit", "--store", "memory:db", "-o", "page.html", cwd=held)
    assert refused.returncode == 2 and len(refused.stderr.strip().splitlines()) == 1


def broken(store, how):
    """Damage what must hold."""
    rows = next(store.batches(10_000))
    fields = [dict(each) for each in rows.metadata]
    ids, vectors = list(rows.ids), rows.vectors
    if how == "fields":
        fields[5]["ward"] = "ward 1"
    elif how == "ids":
        ids = [f"{row:08x}-0000-0000-0000-000000000000" for row in range(len(ids))]
        vectors = vectors_of(ids)
    elif how == "repeats":
        fields[5] = fields[6]
    elif how == "vectors":
        vectors = vectors[::-1]
    elif how == "sizes":
        for row in range(40):
            fields[row][CONTENT_FIELD] = fields[row][CONTENT_FIELD][: 4 * (30 + row)]
    elif how == "contents":
        for each in fields[:200]:
            text = each[CONTENT_FIELD]
            each[CONTENT_FIELD] = text[:80] + ("QUFB" * 100)[: len(text) - 84] + text[-4:]
    elif how == "places":
        order = sorted(range(len(ids)), key=lambda row: len(fields[row][CONTENT_FIELD]))
        ids, fields = sorted(ids), [fields[row] for row in order]
        vectors = vectors_of(ids)
    made = Memory()
    made.add(ids, vectors, fields)
    return made


@pytest.mark.parametrize("how", ["fields", "ids", "repeats", "vectors", "sizes", "contents", "places"])
def test_each_check_fails_where_it_should(held, how):
    with open_store(f"memory:{held}/db") as store:
        whole, made = look_at(store), look_at(broken(store, how))
    assert whole.holds and is_sealed(broken(store, how))
    failing = {each.name for each in made.checks if not each.holds}
    assert how in failing and failing <= {how, "compression"}


def test_one_clear_row_fails_and_a_clear_collection_is_audited_as_before(held):
    with open_store(f"memory:{held}/db") as store:
        store.add(["note-1"], vectors_of(["note-1"]), [{"document": "a text in the clear"}])
    done = sfumato("audit", "--store", "memory:db", cwd=held)
    assert done.returncode == 1 and "`document` in 1 rows; 1 rows are not sealed" in done.stdout
    with open_store(f"memory:{held}/clear") as store:
        store.add(names(5), ENCODER.embed(notes(5)), [{"document": text} for text in notes(5)])
        assert not is_sealed(store) and not is_sealed(Memory())
    done = sfumato("audit", "--store", "memory:clear", "--concept", "disease", cwd=held)
    assert "sealed" not in done.stdout + done.stderr
