"""The gateway as clients meet it: the official client, the same bytes as in Python, and honest errors."""

from __future__ import annotations

import base64
import os

import numpy as np
import openai
import pytest

from tests.server.running import DIM, PRIVATE, gateway, save_fake

TEXTS = [f"note {number} about {PRIVATE}" for number in range(5)] + ["", "naïve café", "\u0301 odd"]


@pytest.fixture(scope="module")
def protector(tmp_path_factory):
    return save_fake(tmp_path_factory.mktemp("protectors") / "plain")


@pytest.fixture(scope="module")
def running(tmp_path_factory, protector):
    with gateway(tmp_path_factory.mktemp("gateway"), protector, "--max-batch", "300") as found:
        yield found


@pytest.fixture(scope="module")
def client(running):
    with openai.OpenAI(base_url=f"{running.url}/v1", api_key="unused", max_retries=0) as found:
        yield found


def vectors(answer):
    return np.array([each.embedding for each in answer.data], np.float32)


def test_the_official_client_gets_the_bytes_of_the_python_path(running, client, protector):
    expected = running.python_path(protector).embed(TEXTS)
    for encoding in (openai.omit, "float", "base64"):
        answer = client.embeddings.create(
            model="text-embedding-3-small", input=TEXTS, encoding_format=encoding
        )
        if encoding == "base64":
            got = np.stack([np.frombuffer(base64.b64decode(each.embedding), "<f4") for each in answer.data])
        else:
            got = vectors(answer)
        assert got.tobytes() == expected.tobytes()
    assert answer.usage.prompt_tokens > 0 and answer.model.startswith("sfumato/plain@")


def test_one_text_alone_is_the_same_text_in_a_batch(client):
    whole = vectors(client.embeddings.create(model="m", input=TEXTS))
    alone = vectors(client.embeddings.create(model="m", input=TEXTS[2]))
    assert whole[2].tobytes() == alone[0].tobytes()


def test_a_large_answer_is_streamed_and_equal(running, client, protector):
    many = [f"text {number}" for number in range(300)]
    got = vectors(client.embeddings.create(model="m", input=many, encoding_format="float"))
    assert got.tobytes() == running.python_path(protector).embed(many).tobytes()
    _, headers, _ = running.embed(many)
    assert headers.get("transfer-encoding") == "chunked"


def test_queries_have_fresh_noise_and_documents_do_not(client):
    def once(kind):
        return vectors(client.embeddings.create(model="m", input="a", extra_body={"input_type": kind}))

    assert once("document").tobytes() == once("document").tobytes()
    assert once("query").tobytes() != once("query").tobytes()
    assert once("query").tobytes() != once("document").tobytes()


def test_dimensions_shorten_the_release_and_nothing_else(client):
    whole = vectors(client.embeddings.create(model="m", input=TEXTS)).astype(np.float64)[:, :10]
    short = vectors(client.embeddings.create(model="m", input=TEXTS, dimensions=10))
    expected = whole / np.linalg.norm(whole, axis=1, keepdims=True)
    assert short.shape == (len(TEXTS), 10) and np.allclose(short, expected, atol=1e-6)
    assert vectors(client.embeddings.create(model="m", input="a", dimensions=DIM)).shape == (1, DIM)


def test_what_is_released_is_on_the_ledger_once(running, client, protector):
    text = "counted once"
    for _ in range(3):
        client.embeddings.create(model="m", input=text)
    assert running.releases(protector, text) == 1
    client.embeddings.create(model="m", input=text, extra_body={"input_type": "query"})
    assert running.releases(protector, text) == 2


def test_models_health_and_metrics(running, client):
    assert [each.id for each in client.models.list()][0].startswith("sfumato/plain@")
    status, _, health = running.ask("GET", "/health")
    assert status == 200 and health["status"] == "ok"
    client.embeddings.create(model="m", input=[PRIVATE])
    status, headers, text = running.ask("GET", "/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain")
    assert 'sfumato_requests_total{route="/v1/embeddings",status="200"}' in text
    assert 'sfumato_request_seconds_bucket{le="0.1",route="/v1/embeddings"}' in text
    assert "sfumato_texts_released_total" in text and PRIVATE not in text


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ("{", None),
        ("[]", None),
        ("\xff", None),
        ("[" * 100_000, None),
        ('{"input": ' + "1" * 5000 + "}", None),
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": [PRIVATE, 3]}, "input"),
        ({"input": [[]]}, "input"),
        ({"input": [True]}, "input"),
        ({"input": [1, 2]}, "input"),
        ({"input": {"a": PRIVATE}}, "input"),
        ({"input": ["x"] * 301}, "input"),
        ({"input": "x" * 100_001}, "input"),
        ('{"input": "\\ud800"}', "input"),
        ({"input": "x", "dimensions": DIM + 1}, "dimensions"),
        ({"input": "x", "dimensions": 0}, "dimensions"),
        ({"input": "x", "dimensions": True}, "dimensions"),
        ({"input": "x", "encoding_format": PRIVATE}, "encoding_format"),
        ({"input": "x", "input_type": "passage"}, "input_type"),
        ({"input": "x", "model": 3}, "model"),
    ],
)
def test_bad_requests_are_400_in_the_shape_of_openai(running, body, param):
    raw = body.encode("latin-1") if isinstance(body, str) else body
    status, _, answer = running.ask("POST", "/v1/embeddings", raw)
    assert status == 400 and answer["error"]["type"] == "invalid_request_error"
    assert answer["error"]["param"] == param and set(answer["error"]) == {"message", "type", "param", "code"}
    assert PRIVATE not in str(answer)


def test_the_official_client_understands_the_errors(client):
    with pytest.raises(openai.BadRequestError, match="input"):
        client.embeddings.create(model="m", input=[])


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/v1/embeddings", 405),
        ("DELETE", "/health", 405),
        ("GET", f"/{PRIVATE.replace(' ', '%20')}", 404),
        ("POST", "/docs", 404),
        ("GET", "/v1/embeddings/../../etc/passwd", 404),
    ],
)
def test_other_addresses_and_methods(running, method, path, expected):
    status, headers, answer = running.ask(method, path)
    assert status == expected and "error" in answer
    assert (expected != 405) or headers["allow"]


def test_other_machines_names_and_pages_are_refused_without_keys(running):
    for headers in (
        {"Host": "gateway.example"},
        {"Origin": "https://page.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "127.0.0.1.example"},
    ):
        status, _, answer = running.ask("POST", "/v1/embeddings", {"input": "x"}, headers=headers)
        assert status == 403 and answer["error"]["type"] == "permission_error"
    own = {"Origin": running.url, "Sec-Fetch-Site": "same-origin"}
    assert running.ask("POST", "/v1/embeddings", {"input": "x"}, headers=own)[0] == 200


def test_no_answer_lets_another_origin_read_it(running):
    _, headers, _ = running.ask("GET", "/health", headers={"Origin": running.url})
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"


def test_the_log_is_json_and_holds_no_text(running):
    running.embed([PRIVATE])
    lines = [line for line in running.lines() if line["event"] == "request"]
    assert {"id", "route", "status", "tenant", "texts", "milliseconds"} <= set(lines[-1])
    assert PRIVATE not in running.log and PRIVATE.split()[0] not in running.log
    assert any("no keys" in line["event"] for line in running.lines())


def test_nothing_in_the_state_folder_is_open_to_others_or_holds_a_text(running):
    for path in [running.state, *running.state.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0
        assert path.is_dir() or PRIVATE.encode() not in path.read_bytes()
    assert os.listdir(running.state / "ledgers") == ["local.sqlite"]
