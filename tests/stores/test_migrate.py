"""Protecting a collection that is there: each row once, whatever kills the job, and nothing clean left."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.accounting import Secret
from sfumato.cli.main import run
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Identity, Laplace, Projection
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.saving import save_protector
from sfumato.stores import Memory, migrate, open_store
from sfumato.stores.provenance import PROVENANCE
from tests.stores.recorded import recorded_server
from tests.stores.servers import postgres, quick_folder, redis_server

ROWS, DIM = 450, 48
IDS = [f"note {row}" for row in range(ROWS)]
TEXTS = [f"Note {row}: the patient has {['asthma', 'gout', 'mumps'][row % 3]}." for row in range(ROWS)]

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")


def clean_vectors():
    made = generator(3).standard_normal((ROWS, DIM))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


CLEAN = clean_vectors()


def protector(**changes):
    return Protector(Laplace.from_noise_ratio(0.4, dim=DIM), **changes)


def fill(store):
    store.add(IDS, CLEAN, [{"group": row % 3, "document": TEXTS[row]} for row in range(ROWS)])
    store.flush()


@pytest.fixture
def saved(tmp_path):
    save_protector(protector(), tmp_path / "protector")
    return tmp_path / "protector"


@contextlib.contextmanager
def places(product, folder):
    """Addresses of two collections of one product."""
    if product == "pgvector":
        with postgres() as base:
            yield f"{base}#clean", f"{base}#safe"
    elif product == "redis":
        with redis_server() as base:
            yield f"{base}#clean", f"{base}#safe"
    elif product == "opensearch":
        with recorded_server(product) as (base, _):
            yield f"{product}+{base}#clean", f"{product}+{base}#safe"
    elif product == "qdrant":
        with quick_folder() as quick:
            yield f"qdrant:{quick}/clean#notes", f"qdrant:{quick}/safe#notes"
    else:
        yield f"{product}:{folder}/clean#notes", f"{product}:{folder}/safe#notes"


def noise_ratio(store):
    """How far each stored direction is from the clean one, as the length of noise that would do it."""
    rows = store.get(IDS)
    assert rows.ids == IDS
    vectors = rows.vectors.astype(np.float64)
    cosines = np.vecdot(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), CLEAN.astype(np.float64))
    return float(np.sqrt(np.mean(np.maximum(1 / cosines**2 - 1, 0)))), rows


def once(store):
    """Every row carries one mark and the noise of one release: of two it would be 1.4 times as long."""
    ratio, rows = noise_ratio(store)
    assert {fields[PROVENANCE] for fields in rows.metadata} == {rows.metadata[0][PROVENANCE]}
    assert [fields["group"] for fields in rows.metadata] == [row % 3 for row in range(ROWS)]
    assert 0.36 < ratio < 0.44
    return rows


def crash(*arguments):
    command = [sys.executable, str(Path(__file__).parent / "crash.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


PRODUCTS = (
    "memory", "faiss", "chroma", "qdrant", "pgvector", "lancedb", "sqlite", "milvus", "redis", "opensearch",
)  # fmt: skip


def command_line(capsys, *arguments):
    """Run a command in this process; return its exit code and what it printed."""
    with pytest.raises(SystemExit) as stopped:
        run([str(each) for each in arguments])
    said = capsys.readouterr()
    return stopped.value.code, said.out, said.err


KILLS = [(product, "inside", 250) for product in PRODUCTS]
KILLS += [
    (product, when, done)
    for product in ("memory", "pgvector")
    for when, done in (("before", 200), ("after", 300))
]


@pytest.mark.parametrize(("product", "when", "done"), KILLS)
def test_killed_and_run_again_gives_each_row_once(product, when, done, tmp_path, saved, capsys):
    with places(product, tmp_path) as (clean, safe):
        with open_store(clean) as store:
            fill(store)
        # Memory and FAISS write to disk at the end: a kill before it leaves nothing behind.
        done = 0 if when == "before" and product == "memory" else done
        crash(clean, safe, saved, "-", when, 3)
        with open_store(safe) as store:
            kept = store.get(IDS)
            assert len(kept) == done
        command = ("migrate", "--from", clean, "--to", safe, "--protector", saved, "--json", tmp_path / "m")
        code, _, said = command_line(capsys, *command)
        assert code == 0, said
        found = json.loads((tmp_path / "m").read_text())
        assert (found["rows"], found["released"], found["before"]) == (ROWS, ROWS - done, done)
        with open_store(safe, create=False) as store:
            rows = once(store)
            # What was written before the kill was not written again.
            assert not done or np.array_equal(store.get(kept.ids).vectors, kept.vectors)
        assert not any("document" in fields for fields in rows.metadata)
        with open_store(clean) as store:
            assert noise_ratio(store)[0] < 1e-3


@pytest.mark.parametrize(
    ("product", "sticky"), [*((name, False) for name in PRODUCTS), ("memory", True), ("pgvector", True)]
)
def test_in_place_no_row_is_released_twice(product, sticky, tmp_path, saved, capsys):
    key = tmp_path / "key" if sticky else "-"
    if sticky:
        Secret.from_file(key, create=True)
    with places(product, tmp_path) as (clean, _):
        with open_store(clean) as store:
            fill(store)
        crash(clean, "-", saved, key, "inside", 2)
        with open_store(clean) as store:
            half = store.get(IDS)
            marked = [PROVENANCE in fields for fields in half.metadata]
            assert sum(marked) == 150
        command = ["migrate", "--from", clean, "--in-place", "--protector", saved, "--json", tmp_path / "m"]
        command += ["--secret", key] if sticky else []
        code, out, said = command_line(capsys, *command)
        assert code == 0, said
        assert f"{ROWS} rows still hold their text" in out
        with open_store(clean) as store:
            rows = once(store)
            assert np.array_equal(rows.vectors[marked], half.vectors[marked])
            assert [fields["document"] for fields in rows.metadata] == TEXTS
        assert command_line(capsys, *command)[0] == 0
        assert json.loads((tmp_path / "m").read_text())["released"] == 0
        with open_store(clean) as store:
            assert np.array_equal(store.get(IDS).vectors, rows.vectors)


@pytest.mark.parametrize("product", ["memory", "faiss", "lancedb", "sqlite"])
def test_in_place_leaves_no_clean_vector_on_the_disk(product, tmp_path):
    with open_store(f"{product}:{tmp_path}/clean?metric=l2#notes") as store:
        fill(store)
        assert remains(tmp_path) == ROWS
        migrate(store, None, protector())
    assert remains(tmp_path) == 0


def remains(folder):
    files = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    return sum(vector.tobytes()[:64] in files for vector in CLEAN)


def test_in_place_leaves_no_clean_vector_in_a_table_of_postgres(tmp_path):
    with postgres() as base, open_store(f"{base}#notes") as store:
        fill(store)
        import psycopg

        with psycopg.connect(base, autocommit=True) as connection:
            folder = Path(connection.execute("SHOW data_directory").fetchone()[0])

            def pages():
                connection.execute("CHECKPOINT")
                name = connection.execute("SELECT pg_relation_filepath('notes')").fetchone()[0]
                data = (folder / name).read_bytes()
                return sum(vector.tobytes()[:64] in data for vector in CLEAN)

            assert pages() > 0.9 * ROWS
            migrate(store, None, protector())
            assert pages() == 0


def test_a_table_of_ones_own_is_protected_in_place_column_by_column():
    with postgres() as base:
        import psycopg

        with psycopg.connect(base, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(
                f'CREATE SCHEMA "my app"; CREATE TABLE "my app"."the ""notes""" '
                f"(key bigint PRIMARY KEY, body text, tag text, v vector({DIM}))"
            )
            rows = [(row, TEXTS[row], "x", str(CLEAN[row].tolist())) for row in range(ROWS)]
            connection.cursor().executemany(
                'INSERT INTO "my app"."the ""notes""" VALUES (%s, %s, %s, %s)', rows
            )
            url = base + '&id=key&vector=v#my app.the "notes"'
            with open_store(url, create=False) as store:
                assert len(store) == ROWS
                done = migrate(store, None, protector(), text_field="body")
                assert done.rows == ROWS and done.texts_left == ROWS
                assert store.get(["7"]).metadata[0].keys() == {"body", "tag", PROVENANCE}
                assert store.search(CLEAN[:1], 5, where={PROVENANCE: done.mark})[0][0].id == "0"
            changed = connection.execute(
                'SELECT count(*) FROM "my app"."the ""notes""" WHERE body IS NOT NULL'
            ).fetchone()
            assert changed == (ROWS,)


def test_texts_are_embedded_anew_without_their_concept(tmp_path):
    source, target = Memory(), Memory()
    encoder = Fake(dim=DIM)
    source.add(IDS[:30], encoder.embed(TEXTS[:30]), [{"document": text} for text in TEXTS[:30]])
    hidden = protector(
        embedder=encoder, concepts=(Concept.from_terms("disease", ["asthma", "gout", "mumps"]),)
    )
    done = migrate(source, target, hidden, texts=True)
    assert done.from_texts and done.rows == 30 and done.fields == ()
    wanted = hidden.prepare(TEXTS[:30]).vectors
    stored = target.get(IDS[:30]).vectors
    assert np.vecdot(stored, wanted).mean() > np.vecdot(stored, encoder.embed(TEXTS[:30])).mean() + 0.02


def other_rows():
    store = Memory()
    store.add(["stranger"], CLEAN[:1])
    return store


REFUSED = {
    "an empty source": (lambda: Memory(), Memory, protector, {}, "no rows"),
    "a target with other rows": (None, other_rows, protector, {"drop_fields": ["long"]}, "must be new"),
    "no text to embed": (None, Memory, protector, {"texts": True, "text_field": "body"}, "no text in `body`"),
    "a long field": (None, Memory, protector, {}, "--drop-field"),
    "another dimension": (
        None,
        Memory,
        lambda: Protector(Laplace(epsilon=9.0), learned={"dim": 8}),
        {},
        "dimension 8",
    ),
    "no noise": (None, Memory, lambda: Protector(Identity()), {"drop_fields": ["long"]}, "changes nothing"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    make_source, make_target, make_protector, options, message = REFUSED[name]
    source = make_source() if make_source else Memory()
    if make_source is None:
        source.add(IDS, CLEAN, [{"long": "x" * 300} for _ in IDS])
    target = make_target()
    before = len(target)
    with pytest.raises(InputError, match=message):
        migrate(source, target, make_protector(), **options)
    if name != "no noise":
        assert len(target) == before


def test_a_release_is_never_released_again():
    source, target = Memory(), Memory()
    fill(source)
    migrate(source, target, protector())
    for other in (protector(), protector(normalise=False)):
        with pytest.raises(InputError, match="released by .* protector"):
            migrate(target, Memory(), other)
    with pytest.raises(InputError, match="another protector"):
        migrate(target, None, protector(normalise=False))
    assert migrate(target, None, protector()).released == 0


def test_in_place_needs_vectors_of_the_same_dimension():
    store = Memory()
    fill(store)
    shorter = Protector(Projection(epsilon=50.0, components=16))
    with pytest.raises(ParameterError, match="into a new collection"):
        migrate(store, None, shorter)
    assert noise_ratio(store)[0] < 1e-3
    assert migrate(store, Memory(), shorter).rows == ROWS


def test_bad_input_on_the_command_line(tmp_path, saved, capsys):
    with open_store(f"memory:{tmp_path}/clean") as store:
        fill(store)
    source = f"memory:{tmp_path}/clean"
    base = ("migrate", "--protector", str(saved), "--from")
    for arguments in (
        (*base, source),
        (*base, source, "--to", f"memory:{tmp_path}/x", "--in-place"),
        (*base, source, "--to", source),
        (*base, f"memory:{tmp_path}/absent", "--in-place"),
        (*base, "nothing", "--in-place"),
        (*base, "postgresql://ann:hunter2@127.0.0.1:1/x#t", "--in-place"),
        ("migrate", "--protector", str(tmp_path / "absent"), "--from", source, "--in-place"),
    ):
        code, _, said = command_line(capsys, *arguments)
        lines = said.strip().splitlines()
        assert code == 2 and len(lines) == 1 and lines[0].startswith("sfumato: "), (arguments, said)
        assert "hunter2" not in said
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "into a new one"])
def test_rows_released_under_another_key_are_released_anew_from_their_texts(in_place):
    secret = Secret.generate()
    disease = Concept.from_terms("disease", ["asthma", "gout", "mumps"])
    made = protector(embedder=Fake(dim=DIM), concepts=(disease,), neutral=2, secret=secret)
    with Memory() as store, Memory() as other:
        # What version 0.1 left behind: releases under another mark, each with its text beside it.
        old = made.mechanism.privatize(CLEAN)
        store.add(IDS, old, [{"document": text, PROVENANCE: "0123456789abcdef"} for text in TEXTS])
        for target in (None, other):
            with pytest.raises(InputError, match="with --texts"):
                migrate(store, target, made)
        target = None if in_place else other
        done = migrate(store, target, made, texts=True)
        assert done.released == ROWS and done.rows == ROWS
        rows = (store if in_place else other).get(IDS)
        assert {fields[PROVENANCE] for fields in rows.metadata} == {done.mark}
        assert np.allclose(rows.vectors, made.embed(TEXTS), atol=1e-6)
        again = migrate(store, target, made, texts=True)
        assert again.released == 0 and again.before == ROWS
