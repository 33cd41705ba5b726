"""Stores that are servers, or start one: who can reach them, what they are told, and what they may send."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from sfumato.errors import ParameterError, SfumatoError
from sfumato.stores import StoreError, open_store
from sfumato.stores.kinds import milvus_folder
from tests.security.journals import trap
from tests.stores.recorded import recorded_server
from tests.stores.servers import redis_server

ROWS = np.eye(4, dtype=np.float32)
SECRET = "hunter2-zz"


def listening():
    """Ports on which this process listens."""
    own = set()
    for each in Path("/proc/self/fd").iterdir():
        try:
            own.add(os.readlink(each))
        except OSError:
            continue
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A" and f"socket:[{parts[9]}]" in own:
                ports.add(parts[1])
    return ports


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="looks into /proc")
def test_milvus_lite_listens_on_no_port_and_on_a_socket_of_this_user_alone(place):
    before = listening()
    with open_store("milvus:lake#notes") as store:
        store.add(["a"], ROWS[:1])
        assert listening() == before
        (served,) = milvus_folder._SERVED.values()
        socket = Path(served.address.removeprefix("unix:"))
        assert socket.exists() and stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        with open_store("milvus:lake#others") as second:
            second.add(["b"], ROWS[:1])
        assert len(store) == 1
    assert not socket.parent.exists() and milvus_folder._SERVED == {}


def test_milvus_says_nothing_of_values_in_its_log(place, capfd):
    with open_store("milvus:lake#notes") as store:
        store.add(["a"], ROWS[:1], [{"word": SECRET}])
        store._client.close()
        with pytest.raises(SfumatoError) as caught:
            store.search(ROWS[:1], 1, where={"word": SECRET})
    said = "".join(capfd.readouterr()) + "".join(traceback.format_exception(caught.value))
    assert SECRET not in said


def test_milvus_reads_no_file_env(place):
    (place / "settings").write_text("SFUMATO_LEAKED=1\nMILVUS_URI=http://evil.example\n")
    script = (
        "import dotenv, os\n"
        "dotenv.main.find_dotenv = lambda *a, **k: 'settings'\n"
        "from sfumato.stores import open_store\n"
        "open_store('milvus:lake#notes').close()\n"
        "assert 'SFUMATO_LEAKED' not in os.environ and 'PYTHON_DOTENV_DISABLED' not in os.environ"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_folder_of_milvus_lite_that_a_stranger_made(place):
    with open_store("milvus:lake?index=hnsw#notes") as store:
        store.add([str(row) for row in range(4)], ROWS)
        store._client.flush("notes")
    with open_store("milvus:lake#notes", create=False) as store:
        assert not store.exact and store.search(ROWS[:1], 1)[0][0].id == "0"
    (index,) = Path("lake").rglob("*.idx")
    shutil.copytree("lake", "linked")
    (Path("linked") / "collections" / "away").symlink_to(place)
    index.write_bytes(b"IxPT" + bytes(200))
    for folder, why in (("lake", "neither FLAT nor HNSW"), ("linked", "links")):
        with pytest.raises(SfumatoError, match=why):
            open_store(f"milvus:{folder}#notes")
    Path("old.db").write_text("a file of version 2")
    with pytest.raises(SfumatoError, match="Milvus Lite 2"):
        open_store("milvus:old.db#notes")


def test_a_collection_of_milvus_with_a_function_is_refused(place):
    pymilvus = pytest.importorskip("pymilvus")
    with open_store("milvus:lake#notes") as store:
        client, types = store._client, pymilvus.DataType
        schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
        schema.add_field("id", types.VARCHAR, is_primary=True, max_length=100)
        schema.add_field("vector", types.FLOAT_VECTOR, dim=4)
        schema.add_field("text", types.VARCHAR, max_length=100, enable_analyzer=True)
        schema.add_field("sparse", types.SPARSE_FLOAT_VECTOR)
        kind = pymilvus.FunctionType.BM25
        function = pymilvus.Function("f", kind, input_field_names=["text"], output_field_names=["sparse"])
        schema.add_function(function)
        client.create_collection("served", schema=schema)
        with pytest.raises(ParameterError, match="functions"):
            open_store("milvus:lake#served")


def test_a_file_of_sqlite_that_a_stranger_made(place):
    apsw = pytest.importorskip("apsw")
    with open_store("sqlite:notes.db#notes") as store:
        store.add(["a"], ROWS[:1], [{"n": 1}])
    shutil.copy("notes.db", "triggered.db")
    with apsw.Connection("triggered.db") as link:
        link.execute("CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM notes; END")
        link.execute("CREATE VIEW seen AS SELECT * FROM notes")
        link.execute("CREATE TABLE other (id TEXT PRIMARY KEY, embedding BLOB, metadata TEXT)")
        link.execute('CREATE TABLE "forged" (/* sfumato cosine 4 */ id TEXT, embedding BLOB, metadata TEXT)')
    for table in ("notes", "seen", "other", "forged", "OTHER"):
        with pytest.raises(ParameterError, match="not made here"):
            open_store(f"sqlite:triggered.db#{table}")
    os.symlink("notes.db", "link.db")
    with pytest.raises(SfumatoError, match="link"):
        open_store("sqlite:link.db#notes")
    mine = place / "mine"
    mine.write_text("a file of the user's")
    trap(place / "notes.db", mine)
    with pytest.raises(SfumatoError, match="journal"):
        open_store("sqlite:notes.db#notes")
    assert mine.exists()
    Path("text.db").write_text("no database at all, but a page of text. " * 200)
    with pytest.raises(StoreError):
        open_store("sqlite:text.db#notes")


def test_what_sqlite_deleted_is_not_in_its_file(place):
    with open_store("sqlite:notes.db#notes") as store:
        store.add([f"id-{SECRET}", "kept"], 3 * ROWS[:2] + 0.37, [{"word": SECRET}, {}])
        assert SECRET.encode() in Path("notes.db").read_bytes()
        store.delete([f"id-{SECRET}"])
        held = Path("notes.db").read_bytes()
        assert SECRET.encode() not in held and (3 * ROWS[0] + 0.37).tobytes() not in held


def test_redis_with_a_password(monkeypatch):
    with redis_server("--requirepass", SECRET, "--save", "") as base:
        for password in ("", "wrong-" + SECRET[::-1]):
            monkeypatch.setenv("REDIS_PASSWORD", password)
            with pytest.raises(StoreError) as caught:
                open_store(f"{base}#notes")
            assert SECRET[::-1] not in "".join(traceback.format_exception(caught.value))
        monkeypatch.setenv("REDIS_PASSWORD", SECRET)
        with open_store(f"{base}#notes") as store:
            store.add(["a"], ROWS[:1])
            store._client.set("text", "x")
            assert SECRET not in repr(store) and len(store) == 1
            with pytest.raises(ParameterError, match="no vector set"):
                open_store(f"{base}#text")
            store._client.execute_command("VSETATTR", "notes", "a", "[1]")
            with pytest.raises(StoreError, match="JSON object"):
                store.get(["a"])
            store._client.execute_command("VSETATTR", "notes", "a", "[" * 100_000)
            with pytest.raises(SfumatoError):
                store.get(["a"])


def test_a_vector_set_that_was_there_is_taken_over_with_its_attributes():
    with redis_server() as base, open_store(f"{base}#mine") as store:
        add = store._client.execute_command
        add("VADD", "mine", "VALUES", 2, "1", "2", "first", "SETATTR", '{"year": 2024}')
        add("VADD", "mine", "VALUES", 2, "2", "1", "second")
        assert len(store) == 2 and store.dim == 2
        assert store.get(["first"]).metadata == [{"year": 2024}]
        np.testing.assert_allclose(store.get(["first"]).vectors, [[1, 2]], atol=0.02)  # Redis keeps 8 bits
        store.add(["third"], [[1.0, 1.0]], [{"year": 2025}])
        assert [hit.id for hit in store.search([[1.0, 1.0]], 1, where={"year": 2025})[0]] == ["third"]


def test_redis_waits_for_its_file_where_it_keeps_one():
    with redis_server("--appendonly", "yes", "--appendfsync", "everysec") as base:
        with open_store(f"{base}#notes") as store:
            store.add(["a"], ROWS[:1])
            store.flush()
            folder = Path(store._client.config_get("dir")["dir"])
            assert any(b"notes" in file.read_bytes() for file in folder.rglob("*.aof"))


def test_a_server_without_vector_sets_is_named_as_such(monkeypatch):
    redis = pytest.importorskip("redis")
    with redis_server() as base:

        def unknown(self, *command):
            raise redis.exceptions.ResponseError(
                f"unknown command '{command[0]}', with args beginning with: "
            )

        monkeypatch.setattr("sfumato.stores.kinds.redis.Redis._run", unknown)
        with pytest.raises(StoreError, match="has no vector sets"):
            open_store(f"{base}#notes")


@pytest.mark.parametrize("product", ["elasticsearch", "opensearch"])
def test_keys_of_search_engines_come_from_the_environment(product, monkeypatch):
    name = "ELASTICSEARCH_API_KEY" if product == "elasticsearch" else "OPENSEARCH_PASSWORD"
    monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("OPENSEARCH_USERNAME", "ann")
    with (
        recorded_server(product) as (base, engine),
        open_store(f"{product}+{base}?index=hnsw#notes") as store,
    ):
        store.add(["a", "b"], ROWS[:2], [{"n": 1}, {"n": 2}])
        assert not store.exact and [hit.id for hit in store.search(ROWS[:1], 2)[0]] == ["a", "b"]
        assert [hit.id for hit in store.search(ROWS[:1], 2, where={"n": 2})[0]] == ["b"]
        kinds = {headers["Authorization"].partition(" ")[0] for headers in engine.seen_headers}
        assert kinds == {"ApiKey" if product == "elasticsearch" else "Basic"} and SECRET not in repr(store)
        engine.indexes["foreign"] = {"mappings": {"properties": {}}, "rows": {}}
        with pytest.raises(ParameterError, match="not made here"):
            open_store(f"{product}+{base}#foreign")
    monkeypatch.setenv("ELASTICSEARCH_API_KEY", f"{SECRET}\nX-Other: 1")
    with pytest.raises(SfumatoError) as caught:
        open_store("elasticsearch+http://127.0.0.1:1#notes")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


ANSWERS = {
    "a redirect": (302, b"", "HTTP 302"),
    "no JSON": (200, b"<html>", "not JSON"),
    "JSON without end": (200, b"[" * 100_000, "not JSON"),
    "a refusal": (401, b"{}", "key or password was refused"),
    "an error that quotes": (500, json.dumps({"error": SECRET}).encode(), "HTTP 500"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_odd_answers_of_a_search_engine_are_one_line(answer):
    status, body, said = ANSWERS[answer]

    class Odd(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/stolen")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Odd)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(StoreError, match=said) as caught:
            open_store(f"opensearch+http://127.0.0.1:{server.server_address[1]}#notes")
    finally:
        server.shutdown()
        server.server_close()
    assert "\n" not in str(caught.value) and SECRET not in "".join(traceback.format_exception(caught.value))
