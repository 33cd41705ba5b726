"""Embeddings through LiteLLM's real proxy: released vectors to the client, neutral texts to the upstream."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import numpy as np
import openai
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.adapters.litellm.releasing import ProxiedEncoder
from sfumato.embedders import OpenAIEndpoint, load_embedder
from sfumato.saving import load_protector
from tests.adapters.litellm import running
from tests.adapters.litellm.upstream import Upstream, serving

pytestmark = pytest.mark.timeout(900)  # the proxy imports for seconds, on a busy machine for minutes
MODEL = "notes-encoder"
NAME = "Zanzibar-Ottoline"
TEXTS = [f"{NAME} has psoriasis.", "The parcel came late.", f"{NAME} has asthma.", "naïve café", ""]
NEUTRAL = [f"{NAME} has something.", "The parcel came late.", "naïve café", " "]


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """The proxy between an upstream and the official client."""
    running.require_proxy()
    folder = tmp_path_factory.mktemp("litellm")
    running.save_placeholders(folder / "diseases")
    upstream = Upstream(load_embedder("minilm-onnx"))
    with serving(upstream), running.proxy(folder, upstream.url) as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key=running.MASTER_KEY, max_retries=0) as client:
            yield SimpleNamespace(folder=folder, upstream=upstream, url=url, client=client)


@pytest.fixture(autouse=True)
def forgetful(there):
    there.upstream.asked.clear()


def released(there, texts, **more):
    """The rows that come back for texts."""
    answer = there.client.embeddings.create(model=MODEL, input=texts, **more)
    assert [each.index for each in answer.data] == list(range(len(answer.data)))
    return np.array([each.embedding for each in answer.data], np.float32)


def expected(there, neutral):
    """What the protector itself releases of the vectors of these neutral texts, under the same secret."""
    secret = Secret(bytes.fromhex(running.SECRET))
    protector = load_protector(there.folder / "diseases", secret=secret)
    vectors = there.upstream.encoder.embed(neutral)
    return protector.protect(vectors, matched=np.ones(len(vectors), bool))


def post(there, body, path="/v1/embeddings", **headers):
    """Status and body of a request that the official client would not send."""
    sent = {"Authorization": f"Bearer {running.MASTER_KEY}", "Content-Type": "application/json", **headers}
    request = urllib.request.Request(there.url + path, json.dumps(body).encode(), sent)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_vectors_are_those_the_protector_releases_and_the_upstream_sees_neutral_texts(there):
    whole = expected(there, NEUTRAL)[[0, 1, 0, 2, 3]]
    for encoding in (openai.omit, "float"):
        assert released(there, TEXTS, encoding_format=encoding).tobytes() == whole.tobytes()
    assert [body["input"] for body in there.upstream.asked] == [NEUTRAL, NEUTRAL]  # one call, each text once
    assert released(there, TEXTS[1]).tobytes() == whole[1:2].tobytes()
    clean = there.upstream.encoder.embed(NEUTRAL)[[0, 1, 0, 2, 3]]
    assert np.all(np.abs(np.sum(whole * clean, axis=1)) < 0.99)


def test_what_is_spent_is_on_the_ledger(there):
    text = "Spent on this one: gout."
    released(there, text)
    released(there, text)
    secret = Secret(bytes.fromhex(running.SECRET))
    ledger = Ledger(there.folder / "embeddings.sqlite", secret=secret, ceiling=running.CEILING)
    protector = load_protector(there.folder / "diseases", secret=secret, ledger=ledger)
    protector.embedder = ProxiedEncoder("litellm")
    assert protector.spent(text).releases == 1  # the same vector again is the same release
    assert protector.spent("Spent on this one: asthma.").releases == 1


def test_queries_have_fresh_noise_and_shortened_vectors_are_of_the_release(there):
    whole = released(there, TEXTS[1])
    short = released(there, TEXTS[1], dimensions=10)
    kept = whole[:, :10].astype(np.float64)
    assert np.allclose(short, kept / np.linalg.norm(kept), atol=1e-6) and short.shape == (1, 10)
    query = {"input_type": "query"}
    first, second = (released(there, "late parcel", extra_body=query) for _ in range(2))
    assert first.tobytes() != second.tobytes()
    assert all(set(body) <= {"input", "model", "encoding_format"} for body in there.upstream.asked)


def test_a_text_over_its_ceiling_is_refused_and_not_tried_again(there):
    query = {"input_type": "query"}
    for _ in range(2):
        released(there, "over and over", extra_body=query)
    with pytest.raises(openai.RateLimitError, match="privacy budget is spent") as refused:
        released(there, "over and over", extra_body=query)
    assert refused.value.response.headers["x-should-retry"] == "false"
    assert "embedding" not in refused.value.response.text


LONG = f"{NAME} has gout " * 100
REFUSED = {
    "tokens": {"input": [[1, 2, 3]]},
    "one list of tokens": {"input": [1, 2, 3]},
    "nothing": {"input": []},
    "no input": {},
    "no text": {"input": [{"text": f"{NAME} has gout"}]},
    "too long": {"input": LONG},
    "too many": {"input": ["a"] * 51},
    "streaming": {"input": f"{NAME} has gout", "stream": True},
    "encoding": {"input": f"{NAME} has gout", "encoding_format": "int8"},
    "dimensions": {"input": f"{NAME} has gout", "dimensions": 0},
    "role": {"input": f"{NAME} has gout", "input_type": "passage"},
    "another field": {"input": "fine", "title": f"{NAME} has gout"},
    "a field in a field": {"input": "fine", "extra_body": {"input": [f"{NAME} has gout"]}},
    "a way around": {"input": f"{NAME} has gout", "fallbacks": ["open"]},
    "a model of nobody's": {"input": f"{NAME} has gout", "model": "nobody"},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_breaks_a_rule_is_refused_in_one_line_and_goes_nowhere(there, case):
    status, body = post(there, {"model": MODEL, **REFUSED[case]})
    message = json.loads(body)["error"]["message"]
    assert status == 400 and "\n" not in message and len(message) < 250
    assert NAME not in body and "gout" not in body
    assert not there.upstream.asked


@pytest.mark.parametrize("model", ["down", "short", "narrow"])
def test_an_upstream_that_fails_lets_nothing_out(there, model):
    status, body = post(there, {"model": model, "input": [f"{NAME} has gout", "b"]})
    assert status >= 500 and "gout" not in body and '"embedding"' not in body
    assert {each["model"] for each in there.upstream.asked} == {model}  # and nobody else is asked instead


def test_an_encoder_of_ours_may_ask_the_proxy(there, monkeypatch):
    """As the gateway does whose upstream the proxy is."""
    monkeypatch.setenv("PROXY_KEY", running.MASTER_KEY)
    endpoint = OpenAIEndpoint(MODEL, base_url=f"{there.url}/v1", key_variable="PROXY_KEY", dim=running.DIM)
    assert np.allclose(endpoint.embed(TEXTS[:2]), expected(there, NEUTRAL[:2]), atol=1e-6)


def test_nobody_switches_it_off(there):
    whole = expected(there, NEUTRAL[1:2])
    off = {"disable_global_guardrails": True, "opted_out_global_guardrails": ["sfumato"], "guardrails": []}
    cached = {"cache": {"no-cache": False}}
    for more in ({"guardrails": []}, {"metadata": off}, {"litellm_metadata": off}, cached):
        status, body = post(there, {"model": MODEL, "input": TEXTS[1], **more})
        row = json.loads(body)["data"][0]["embedding"]
        assert status == 200 and np.array([row], np.float32).tobytes() == whole.tobytes()
    for path in ("/embeddings", f"/engines/{MODEL}/embeddings", f"/openai/deployments/{MODEL}/embeddings"):
        named = {} if MODEL in path else {"model": MODEL}
        status, body = post(there, {"input": TEXTS[1], **named}, path)
        row = json.loads(body)["data"][0]["embedding"]
        assert status == 200 and np.array([row], np.float32).tobytes() == whole.tobytes()
    assert len(there.upstream.asked) == 7  # no answer came out of the proxy's cache


def test_an_unprotected_model_is_let_through_because_the_operator_said_so(there):
    answer = there.client.embeddings.create(model="open", input=[TEXTS[1]], encoding_format="float")
    clean = there.upstream.encoder.embed(TEXTS[1:2])
    assert np.allclose(np.array([answer.data[0].embedding]), clean, atol=1e-6)


def test_logs_and_callbacks_hold_no_text_no_term_and_no_clear_vector(there):
    marked, control = f"{NAME} was seen for asthma on a Tuesday.", "This one is open."
    released(there, marked)
    post(there, {"model": MODEL, "input": [marked], "stream": True})
    post(there, {"model": "down", "input": [marked]})
    post(there, {"model": "open", "input": [control]})
    clear, open_one = there.upstream.encoder.embed([marked.replace("asthma", "something"), control]).tolist()
    kinds = ("before", "after", "success", "failure", "refused")
    for _ in range(300):  # LiteLLM calls back after it has answered
        seen = (there.folder / "seen").read_text()
        if all(f"({kind!r}" in seen for kind in kinds) and repr(open_one[0]) in seen:
            break
        time.sleep(0.1)
    assert "was seen for something on a Tuesday" in seen  # it is called, with neutral texts
    assert all(repr(number) in seen for number in open_one)  # and would have been given clear vectors
    for written in (seen, (there.folder / "log").read_text()):
        assert not [term for term in running.TERMS if term in written]
        assert not [number for number in clear if repr(number)[:14] in written]
