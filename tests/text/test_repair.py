"""Coherence repair against a server on this machine: what is sent, what is taken, what is refused."""

from __future__ import annotations

import json

import pytest

from sfumato.embedders import EndpointError
from sfumato.errors import InputError, ParameterError
from sfumato.text.chat import Chat
from sfumato.text.repair import Repair, broken_rule
from tests.text.small import chat_server

PRIVATE = "oil price of [hidden] rose 12 times in the North ."


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def repaired(reply, text=PRIVATE):
    with chat_server(lambda body: reply) as (address, seen):
        return Repair(Chat.parse(f"editor@{address}", retries=0)).repair(text), seen


def test_the_private_text_is_sent_with_the_paper_s_rules_and_comes_back_mended():
    mended = "The oil price of [hidden] rose 12 times in the North."
    made, seen = repaired(f"  {mended}\n")
    assert made.accepted and made.text == mended
    path, body = seen[0]
    assert path == "/v1/chat/completions" and body["model"] == "editor" and body["temperature"] == 0.2
    system, user = (message["content"] for message in body["messages"])
    assert "do NOT invent names" in system and "[hidden]" in system and user.endswith(PRIVATE)


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        ("The oil price rose 12 times in the North.", "placeholder"),
        ("The oil price of [hidden] [hidden] rose 12 times in the North.", "placeholder"),
        ("The oil price of [hidden] rose 12 times in the North in 1973.", "number"),
        ("The oil price of [hidden] rose 12 times in Norway.", "name"),
        ("[hidden] rose.", "length"),
        ("[hidden] " + "word " * 60, "length"),
    ],
)
def test_an_answer_that_breaks_a_rule_is_not_taken(answer, rule):
    made, _ = repaired(answer)
    assert not made.accepted and made.text == PRIVATE and rule in made.broken
    assert rule in broken_rule(PRIVATE, answer)


def test_sentences_may_start_with_capitals_and_function_words_may_be_added():
    assert broken_rule("oil rose. it fell", "The oil rose. Then it fell.") == ""


def test_a_text_without_words_is_not_sent():
    made, seen = repaired("anything", text=" ... ")
    assert made.accepted and made.text == " ... " and not seen


@pytest.mark.parametrize(
    "reply", [b"{", json.dumps({"choices": []}).encode(), b"[]", (401, b"no"), (404, b"")]
)
def test_errors_name_the_address_and_never_the_text(reply):
    with pytest.raises(EndpointError) as caught:
        repaired(reply)
    assert "127.0.0.1" in str(caught.value) and "oil" not in str(caught.value)


def test_addresses_models_and_keys_are_checked():
    for address in ("ftp://host/v1", "https://key@host/v1", "host", ""):
        with pytest.raises(ParameterError, match="base_url"):
            Chat("model", base_url=address)
    with pytest.raises(ParameterError, match="name on the server"):
        Chat("")
    # OpenAI's own address is never asked without a key.
    with pytest.raises(InputError, match="OPENAI_API_KEY is not set"):
        Chat("model").ask("system", "user")
