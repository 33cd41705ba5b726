"""Keys, tenants and ceilings: who may ask, whose noise it is, and when the budget is spent."""

from __future__ import annotations

import json
import time

import numpy as np
import openai
import pytest

from sfumato.saving import load_protector
from sfumato.server.tenancy.keys import new_key
from tests.server.running import PRIVATE, gateway, save_fake


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tenants")


@pytest.fixture(scope="module")
def protectors(folder):
    return save_fake(folder / "mild"), save_fake(folder / "strong", ratio=2.0)


@pytest.fixture(scope="module")
def keys(folder, protectors):
    """Two plain tenants, one with a protector and a ceiling of its own, one whose protector is gone."""
    path = folder / "keys.json"
    epsilon = load_protector(protectors[1]).guarantee.epsilon
    made = {
        "acme": new_key(path, "acme"),
        "birch": new_key(path, "birch"),
        "strict": new_key(path, "strict", protector=protectors[1], ceiling=2.5 * epsilon),
        "lost": new_key(path, "lost", protector=folder / "nowhere"),
        "leaver": new_key(path, "leaver"),
    }
    return path, made


@pytest.fixture(scope="module")
def running(folder, protectors, keys):
    with gateway(folder / "run", protectors[0], "--keys", str(keys[0])) as found:
        yield found


def embed(running, key, texts, **fields):
    status, _, answer = running.embed(texts, key, encoding_format="float", **fields)
    assert status == 200, answer
    return np.array([each["embedding"] for each in answer["data"]], np.float32)


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {}", "{}", "Bearer {}x"]
)
def test_without_a_valid_key_nothing_is_told(running, keys, header):
    headers = {} if header is None else {"Authorization": header.format(keys[1]["acme"])}
    for method, path in (
        ("POST", "/v1/embeddings"),
        ("GET", "/v1/models"),
        ("GET", "/metrics"),
        ("GET", "/console/state"),
        ("POST", "/console/try"),
        ("GET", "/nowhere"),
    ):
        status, found, answer = running.ask(method, path, {"input": PRIVATE}, headers=headers)
        assert status == 401 and found["www-authenticate"] == "Bearer"
        assert answer["error"]["code"] == "invalid_api_key"
    assert keys[1]["acme"] not in running.log and PRIVATE not in running.log


def test_the_official_client_says_that_the_key_is_wrong(running):
    with (
        openai.OpenAI(base_url=f"{running.url}/v1", api_key="sfm-wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.embeddings.create(model="m", input="x")


def test_health_and_the_page_hold_nothing_and_are_open(running):
    assert running.ask("GET", "/health")[0] == 200
    status, _, words = running.ask("GET", "/")
    assert status == 200 and words["keys"] is True and "acme" not in str(words)


def test_tenants_have_noise_and_ledgers_of_their_own(running, keys, protectors):
    acme, birch = (embed(running, keys[1][name], [PRIVATE]) for name in ("acme", "birch"))
    assert acme.tobytes() != birch.tobytes()
    for name, got in (("acme", acme), ("birch", birch)):
        assert got.tobytes() == running.python_path(protectors[0], name).embed([PRIVATE]).tobytes()
    paths = [running.state / "ledgers" / f"{name}.sqlite" for name in ("acme", "birch", "lost")]
    assert [path.exists() for path in paths] == [True, True, False]
    assert running.releases(protectors[0], PRIVATE, "acme") == 1


def test_a_tenants_own_protector_answers(running, keys, protectors):
    got = embed(running, keys[1]["strict"], ["one"])
    assert got.tobytes() == running.python_path(protectors[1], "strict").embed(["one"]).tobytes()
    models = running.ask("GET", "/v1/models", key=keys[1]["strict"])[2]["data"]
    assert models[0]["id"].startswith("sfumato/strong@")


def test_a_spent_budget_is_429_and_nothing_is_released(running, keys):
    key = keys[1]["strict"]
    embed(running, key, ["asked often"], input_type="query")
    embed(running, key, ["asked often"], input_type="query")
    status, headers, answer = running.embed(["fine", "asked often"], key, input_type="query")
    assert status == 429 and headers["x-should-retry"] == "false"
    assert answer["error"]["code"] == "budget_spent" and answer["error"]["type"] == "insufficient_quota"
    assert "Row 1" in answer["error"]["message"] and "asked often" not in str(answer)
    # Nothing of the refused request was spent: its other text still has all of its budget.
    embed(running, key, ["fine"], input_type="query")
    embed(running, key, ["fine"], input_type="query")
    # A sticky release again costs nothing.
    for _ in range(4):
        embed(running, key, ["a document"])
    with (
        openai.OpenAI(base_url=f"{running.url}/v1", api_key=key) as client,
        pytest.raises(openai.RateLimitError, match="budget is spent"),
    ):
        client.embeddings.create(model="m", input="asked often", extra_body={"input_type": "query"})


def test_a_tenant_that_cannot_be_served_is_503_and_no_path_is_told(running, keys, folder):
    status, _, answer = running.embed(["x"], keys[1]["lost"])
    assert status == 503 and answer["error"]["code"] == "tenant_unavailable"
    assert str(folder) not in str(answer) and "nowhere" not in str(answer)


def test_a_key_that_is_taken_out_stops_working_and_a_new_one_starts(running, keys, monkeypatch):
    path, made = keys
    embed(running, made["leaver"], ["x"])
    held = json.loads(path.read_text())
    held["keys"] = [each for each in held["keys"] if each["tenant"] != "leaver"]
    path.write_text(json.dumps(held))
    assert running.embed(["x"], made["leaver"])[0] == 401
    embed(running, new_key(path, "newcomer"), ["x"])


def test_a_damaged_keys_file_opens_nothing(running, keys):
    path, made = keys
    good = path.read_text()
    path.write_text("{")
    time.sleep(0.01)
    assert running.embed(["x"], made["acme"])[0] == 200  # as it was last read
    assert running.embed(["x"], "sfm-wrong")[0] == 401
    path.write_text(good)


def test_each_tenant_sees_its_own_ledger(running, keys):
    embed(running, keys[1]["birch"], [f"birch {number}" for number in range(7)])
    shown = running.ask("GET", "/console/state", key=keys[1]["birch"])[2]
    assert shown["tenant"] == "birch" and shown["ledger"]["calls"][0]["noise"] == "sticky"
    assert "acme" not in json.dumps(shown)
