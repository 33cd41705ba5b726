"""Clients that send too much, too slowly or hang up, and an upstream that is slow or broken."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
import urllib.request

import numpy as np
import pytest

from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from tests.contracts.embedder_cases import SERVED_DIM, answer, serving
from tests.server.running import PRIVATE, gateway, save_fake

LIMITS = ("--max-bytes", "20000", "--read-timeout", "1.5", "--no-console")
HEAD = "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    with gateway(folder / "run", save_fake(folder / "plain"), *LIMITS) as found:
        yield found


def connect(running):
    return socket.create_connection(("127.0.0.1", running.port), timeout=30)


def everything(connection):
    """All that the gateway says until it hangs up."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts).decode()


def test_a_request_over_the_limit_is_413_before_it_is_read(running):
    status, _, found = running.embed([PRIVATE * 1000])
    assert status == 413 and found["error"]["code"] == "too_large"
    with connect(running) as connection:  # announced, and never sent
        connection.sendall(f"{HEAD}Content-Length: 99999999999999999999\r\n\r\n".encode())
        assert " 413 " in everything(connection)
    assert PRIVATE not in running.log


def test_a_request_without_a_length_is_cut_off_at_the_limit(running):
    with connect(running) as connection:
        connection.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
        try:
            for _ in range(8):
                connection.sendall(chunk)
        except ConnectionError:
            pass
        assert " 413 " in everything(connection)


def test_a_client_that_sends_slowly_is_408(running):
    with connect(running) as connection:
        connection.sendall(f'{HEAD}Content-Length: 5000\r\n\r\n{{"input": "'.encode())
        said = everything(connection)
    assert " 408 " in said and '"too_slow"' in said


def test_headers_that_never_end_are_cut_off(running):
    with connect(running) as connection, connect(running) as silent:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: loc")
        assert everything(connection) == "" and everything(silent) == ""
    assert running.ask("GET", "/health")[0] == 200


def test_something_that_is_no_http_is_refused(running):
    with connect(running) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00" + PRIVATE.encode() + b"\r\n\r\n")
        assert " 400 " in everything(connection)
    assert PRIVATE not in running.log


def test_without_a_console_there_is_a_greeting_and_nothing_behind_it(running):
    assert running.ask("GET", "/console/state")[0] == 404
    status, _, words = running.ask("GET", "/")
    assert status == 200 and words["service"] == "Sfumato gateway"
    assert words["addresses"]["embeddings"] == "POST /v1/embeddings"
    asked = urllib.request.Request(running.url, headers={"Accept": "text/html,*/*;q=0.8"})
    with urllib.request.urlopen(asked) as answer:
        page = answer.read().decode()
        assert answer.headers["Content-Type"].startswith("text/html") and answer.headers["Vary"] == "Accept"
        policy = answer.headers["Content-Security-Policy"]
    assert "The gateway is running" in page and "/v1/embeddings" in page and "No key is needed" in page
    assert "<script" not in page and "unsafe" not in policy


@pytest.fixture
def upstream():
    with serving() as found:
        yield found


def save_upstream_protector(folder):
    made = Protector(Laplace(epsilon=50.0), None, learned={"dim": SERVED_DIM})
    save_protector(made, folder)
    return folder


def through(folder, server, *options, **variables):
    protector = save_upstream_protector(folder / "plain")
    given = ("--upstream", server.url, "--upstream-model", "their-model", "--no-console", *options)
    return gateway(folder / "run", protector, *given, **variables)


def slowly(seconds):
    def behave(handler, body):
        time.sleep(seconds)
        answer(handler, body)

    return behave


def test_an_upstream_embeds_and_its_failures_quote_nothing(tmp_path, upstream):
    with through(tmp_path, upstream, SFUMATO_KEY_127_0_0_1="their-secret-key") as running:
        status, _, found = running.embed(["one", "two"])
        assert status == 200
        path, headers, body = upstream.requests[-1]
        assert path == "/v1/embeddings" and body["model"] == "their-model" and body["input"] == ["one", "two"]
        assert headers["Authorization"] == "Bearer their-secret-key"
        vectors = np.array([each["embedding"] for each in found["data"]])
        assert vectors.shape == (2, SERVED_DIM)
        repeat = json.dumps({"error": {"message": f"bad: {PRIVATE}"}}).encode()
        upstream.behaviours[:] = [lambda handler, _: handler.reply(400, repeat)]
        status, _, found = running.embed([PRIVATE])
        assert status == 502 and found["error"]["code"] == "upstream_failed"
        assert PRIVATE not in str(found) + running.log and "their-secret-key" not in str(found) + running.log
        assert upstream.url not in str(found)
        # One and two are on the ledger, what the upstream refused is not.
        assert [row["accounts"] for row in running.ledger().summary()["accounts"]] == [2]


def test_busy_slow_and_abandoned_requests(tmp_path, upstream):
    limits = ("--threads", "1", "--max-waiting", "1", "--timeout", "4")
    with through(tmp_path, upstream, *limits) as running:
        upstream.behaviours[:] = [slowly(2.0)]
        found = []
        threads = [
            threading.Thread(target=lambda n=n: found.append(running.embed([f"busy {n}"])[0]))
            for n in range(4)
        ]
        for each in threads:
            each.start()
            time.sleep(0.3)
        for each in threads:
            each.join()
        assert sorted(found) == [200, 200, 503, 503]
        upstream.behaviours[:] = [slowly(5.0)]
        status, _, body = running.embed(["too long"])
        assert status == 504 and body["error"]["code"] == "timeout"
        time.sleep(1.5)
        upstream.behaviours[:] = [slowly(1.0)]
        raw = json.dumps({"input": "abandoned"})
        with connect(running) as connection:
            connection.sendall(f"{HEAD}Content-Length: {len(raw)}\r\n\r\n{raw}".encode())
            time.sleep(0.3)
        assert running.embed(["the next"])[0] == 200
        # Two busy ones and the next are on the ledger, what nobody waited for is not.
        assert [row["accounts"] for row in running.ledger().summary()["accounts"]] == [3]
        assert 499 in [line.get("status") for line in running.lines()]


def test_a_polite_stop_lets_a_request_end(tmp_path, upstream):
    with through(tmp_path, upstream) as running:
        upstream.behaviours[:] = [slowly(1.5)]
        found = []
        thread = threading.Thread(target=lambda: found.append(running.embed(["last"])[0]))
        thread.start()
        time.sleep(0.5)
        running.process.send_signal(signal.SIGTERM)
        thread.join()
        assert found == [200] and running.process.wait(30) in (0, -signal.SIGTERM)
        assert running.lines()[-1]["event"] != "failed" and "stopped" in [x["event"] for x in running.lines()]
