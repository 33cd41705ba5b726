"""The OpenAI protocol against a server on this machine, with everything that can go wrong."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import numpy as np
import pytest

from sfumato.embedders import EndpointError, Fake, OpenAIEndpoint
from sfumato.errors import InputError, ParameterError
from tests.contracts.embedder_cases import SERVED_DIM, answer, embeddings, serving

SECRET = "Zanzibar"
KEY = "sk-never-shown-0123456789"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with serving() as running:
        yield running


def endpoint(server, **options):
    defaults = {"base_url": server.url, "dim": SERVED_DIM, "workers": 1, "retries": 2, "longest_wait": 2.0}
    return OpenAIEndpoint("some-model", **{**defaults, **options})


def status(code, **headers):
    # Servers like to repeat the input.
    body = json.dumps({"error": {"message": f"bad input: {SECRET}"}}).encode()
    return lambda handler, _: handler.reply(code, body, **headers)


def data(change):
    def behave(handler, body):
        handler.reply(200, json.dumps({"data": change(embeddings(body), body)}).encode())

    return behave


@pytest.fixture
def pauses(monkeypatch):
    """How long each pause was meant to be; none is really made."""
    found = []

    class Impatient(threading.Event):
        def wait(self, timeout=None):
            found.append(timeout)
            return self.is_set()

    monkeypatch.setattr("sfumato.embedders.openai.Event", Impatient)
    return found


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("sfumato.embedders.endpoint._FIRST_PAUSE", 0.01)


def test_requests_are_what_the_protocol_asks_for(server, monkeypatch):
    monkeypatch.setenv("SFUMATO_KEY_127_0_0_1", KEY)
    model = endpoint(server, dim=None, dimensions=SERVED_DIM, batch=2)
    assert not server.requests
    texts = ["one", "", "three", "four", "five"]
    found = model.embed(texts)
    wanted = Fake(dim=SERVED_DIM).embed(["one", " ", "three", "four", "five"])
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert [body["input"] for _, _, body in server.requests] == [["one", " "], ["three", "four"], ["five"]]
    path, headers, body = server.requests[0]
    assert path == "/v1/embeddings" and headers["Authorization"] == f"Bearer {KEY}"
    assert body["encoding_format"] == "base64" and body["model"] == "some-model"
    assert body["dimensions"] == SERVED_DIM
    assert KEY not in str(vars(model)) + model.model_id + repr(model)
    assert model.model_id == f"openai:some-model@{server.url};dimensions={SERVED_DIM}"


def test_the_dimension_is_found_out_once(server):
    assert endpoint(server, dim=None).dim == SERVED_DIM
    assert [body["input"] for _, _, body in server.requests] == [["dimension"]]
    assert "Authorization" not in server.requests[0][1]


def test_long_texts_are_spread_over_requests(server):
    endpoint(server).embed(["x" * 150_000, "y" * 100_000, "z"])
    assert [len(body["input"]) for _, _, body in server.requests] == [1, 2]


def test_lists_of_floats_are_taken_as_well(server):
    server.behaviours = [data(lambda _, body: embeddings(body, floats=True))]
    np.testing.assert_allclose(endpoint(server).embed(["a"]), Fake(dim=SERVED_DIM).embed(["a"]), atol=1e-6)


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 529])
def test_passing_failures_are_tried_again(server, code, pauses):
    server.behaviours = [status(code), status(code)]
    assert endpoint(server).embed(["a"]).shape == (1, SERVED_DIM)
    assert len(server.requests) == 3 and pauses[0] < pauses[1] < 10


def test_a_pause_that_the_server_asks_for_is_made(server, pauses):
    later = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=1.5), usegmt=True)
    server.behaviours = [status(429, Retry_After="1"), status(503, Retry_After=later)]
    endpoint(server).embed(["a"])
    assert pauses[0] == 1.0 and 0.0 <= pauses[1] <= 1.6
    server.behaviours = [status(429, Retry_After="3600")]
    with pytest.raises(EndpointError, match=r"HTTP 429, tried once.*limit of requests") as caught:
        endpoint(server).embed(["a"])
    assert caught.value.status == 429
    server.behaviours = [status(429, Retry_After="soon")]
    assert endpoint(server).embed(["a"]).shape == (1, SERVED_DIM)


@pytest.mark.parametrize(
    ("code", "hint"), [(400, "too long"), (401, "key"), (403, "key"), (404, "no such"), (413, "batch")]
)
def test_lasting_failures_are_not_tried_again(server, code, hint):
    server.behaviours = [status(code)]
    with pytest.raises(
        EndpointError, match=rf"for rows 0 to 1 \(HTTP {code}, tried once\).*{hint}"
    ) as caught:
        endpoint(server).embed([SECRET, "b"])
    assert len(server.requests) == 1 and caught.value.status == code


def test_redirects_are_refused(server, monkeypatch):
    monkeypatch.setenv("SFUMATO_KEY_127_0_0_1", KEY)
    for code in (301, 302, 303, 307, 308):
        server.requests.clear()
        server.behaviours = [status(code, Location=f"{server.url}/elsewhere")]
        with pytest.raises(EndpointError, match="redirects, which is not followed"):
            endpoint(server).embed(["a"])
        assert len(server.requests) == 1


def hang(handler, _):
    time.sleep(3.0)


def cut(handler, _):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data"')
    handler.close_connection = True


def test_timeouts_and_lost_connections(server):
    server.behaviours = [hang, cut]
    assert endpoint(server, timeout=1.0).embed(["a"]).shape == (1, SERVED_DIM)
    server.behaviours = [hang]
    with pytest.raises(EndpointError, match="a timeout, tried once"):
        endpoint(server, timeout=0.5, retries=0).embed(["a"])
    server.behaviours = [cut, cut, cut]
    with pytest.raises(EndpointError, match="a lost connection, tried 3 times"):
        endpoint(server).embed(["a"])
    address = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(EndpointError, match="no connection"):
        OpenAIEndpoint("m", base_url=address, dim=2, retries=0).embed(["a"])


BAD_ANSWERS = {
    "not JSON": (lambda h, _: h.reply(200, f"<html>{SECRET}".encode()), "not a list of embeddings"),
    "deep": (lambda h, _: h.reply(200, b"[" * 100_000), "not a list of embeddings"),
    "a list": (lambda h, _: h.reply(200, b"[1]"), "not a list of embeddings"),
    "no data": (lambda h, _: h.reply(200, b'{"object": "list"}'), "not a list of embeddings"),
    "strings": (data(lambda *_: [SECRET]), "not a list of embeddings"),
    "too few": (data(lambda found, _: found[:1]), "with 1 embeddings. It has to give 2"),
    "too many": (data(lambda found, _: found + found), "with 4 embeddings. It has to give 2"),
    "dimension": (
        data(lambda _, body: embeddings(body, dim=8)),
        f"8 dimensions. It has to give {SERVED_DIM}",
    ),
    "twice": (data(lambda found, _: [found[0], found[0]]), "wrong indexes"),
    "index": (data(lambda found, _: [{**item, "index": "x"} for item in found]), "wrong indexes"),
    "NaN": (data(lambda found, _: [{**i, "embedding": [float("nan")] * 24} for i in found]), "finite"),
    "ragged": (data(lambda found, _: [{**i, "embedding": [[1], [2, 3]]} for i in found]), "finite"),
    "base64": (data(lambda found, _: [{**i, "embedding": SECRET + "!"} for i in found]), "finite"),
    "odd bytes": (data(lambda found, _: [{**i, "embedding": "AAAA"} for i in found]), "finite"),
    "none": (data(lambda found, _: [{"index": i["index"]} for i in found]), "finite"),
    "zero": (data(lambda found, _: [{**i, "embedding": [0.0] * 24} for i in found]), "row 0 .* zero"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_wrong_answers_are_refused_and_not_shown(server, case, caplog, capfd):
    behave, wrong = BAD_ANSWERS[case]
    server.behaviours = [behave]
    with caplog.at_level(logging.DEBUG), pytest.raises((EndpointError, InputError), match=wrong) as caught:
        endpoint(server).embed([SECRET, "b"])
    assert "\n" not in str(caught.value)
    error = caught.value
    while error is not None:
        assert SECRET not in repr(error) + str(vars(error))
        error = error.__cause__ or error.__context__
    assert SECRET not in caplog.text + "".join(capfd.readouterr())


def test_one_failure_ends_the_other_requests(server):
    server.behaviours = [status(401), *[status(429, Retry_After="30")] * 3]
    started = time.monotonic()
    with pytest.raises(EndpointError):
        endpoint(server, batch=1, workers=4, longest_wait=60).embed([str(i) for i in range(40)])
    assert time.monotonic() - started < 20 and len(server.requests) < 40


def test_requests_run_at_once_and_keep_the_order(server):
    def slow(handler, body):
        time.sleep(0.5)
        answer(handler, body)

    server.behaviours = [slow] * 8
    texts = [f"text {i}" for i in range(8)]
    started = time.monotonic()
    found = endpoint(server, batch=1, workers=8).embed(texts)
    assert time.monotonic() - started < 3
    np.testing.assert_allclose(found, Fake(dim=SERVED_DIM).embed(texts), atol=1e-6)


def test_the_key_comes_from_the_environment_and_is_never_shown(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY is not set"):
        OpenAIEndpoint("text-embedding-3-small", dim=3).embed(["a"])
    for bad in (f"{KEY}\nX-Other: 1", f"{KEY} ", f"{KEY}é"):
        monkeypatch.setenv("OUR_KEY", bad)
        with pytest.raises(InputError, match="OUR_KEY has to hold a key") as caught:
            endpoint(server, key_variable="OUR_KEY").embed(["a"])
        assert KEY not in repr(caught.value)
    monkeypatch.setenv("OUR_KEY", KEY)
    server.behaviours = [status(401)]
    with pytest.raises(EndpointError) as refused:
        endpoint(server, key_variable="OUR_KEY").embed(["a"])
    assert KEY not in repr(refused.value) and not server.behaviours


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "ftp://host/v1"},
        {"base_url": "file:///etc/passwd"},
        {"base_url": "https://name:word@host/v1"},
        {"base_url": "https://host/v1?key=1"},
        {"base_url": "host"},
        {"base_url": None},
        {"batch": 0},
        {"workers": 0},
        {"timeout": 0},
        {"retries": -1},
        {"dim": 0},
        {"dimensions": 0},
        {"longest_wait": float("nan")},
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_before_anything_is_sent(options):
    with pytest.raises(ParameterError) as caught:
        OpenAIEndpoint("model", **{"dim": 3, **options})
    assert "word" not in str(caught.value).replace("password", "")
    with pytest.raises(ParameterError, match="`model`"):
        OpenAIEndpoint("", dim=3)


def test_an_endless_answer_is_given_up(server, monkeypatch):
    monkeypatch.setattr("sfumato.embedders.endpoint._LARGEST", 1 << 20)
    server.behaviours = [lambda handler, _: handler.reply(200, b" " * ((1 << 20) + 1))]
    with pytest.raises(EndpointError, match="more than 1 MiB"):
        endpoint(server).embed(["a"])


def test_a_broken_status_line_is_a_lost_connection(server, monkeypatch):
    def nonsense(handler, _):
        handler.wfile.write(b"nonsense\r\n\r\n")
        handler.close_connection = True

    server.behaviours = [nonsense]
    with pytest.raises(EndpointError, match="lost connection"):
        endpoint(server, retries=0).embed(["a"])
    assert issubclass(http.client.BadStatusLine, http.client.HTTPException)
