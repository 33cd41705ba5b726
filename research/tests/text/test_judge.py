"""A reader on a server is asked with the paper's words, sees the private text alone, and can be recorded."""

from __future__ import annotations

import pytest
from tests.text.small import chat_server

from sfumato.errors import InputError
from sfumato.text.chat import Chat
from sfumato_research.text.judge import SYSTEM, Judge, Recording, digest


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def test_the_judge_asks_in_the_papers_words():
    with chat_server(lambda body: " Fever \n") as (address, seen):
        answer = Judge(Chat("m", base_url=address)).answer("The patient has fever.", "What is it?")
    assert answer == "Fever"
    ((_, body),) = seen
    assert [one["content"] for one in body["messages"]] == [
        SYSTEM,
        "Context: The patient has fever.\nQuestion: What is it?",
    ]
    assert body["max_tokens"] == 5 and body["temperature"] == 0.2


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_a_recorded_run_answers_again(tmp_path, name):
    recording = Recording({"server": "here"})
    with chat_server(lambda body: " Fever \n") as (address, seen):
        Judge(Chat("m", base_url=address), recording).answer("The patient has fever.", "What is it?")
    recording.save(tmp_path / name)
    read = Recording.load(tmp_path / name)
    assert read.about == {"server": "here"} and read.words
    # What was kept is what was sent.
    assert read.answer_to(seen[0][1]) == " Fever \n"
    with pytest.raises(InputError, match="no such request"):
        read.answer_to({**seen[0][1], "temperature": 1.0})


def test_texts_that_are_not_ours_are_kept_as_digests(tmp_path):
    recording = Recording(words=False)
    with chat_server(lambda body: "Fever") as (address, seen):
        Judge(Chat("m", base_url=address), recording).answer("The patient has fever.", "What is it?")
    recording.save(tmp_path / "run.json")
    kept = (tmp_path / "run.json").read_text()
    assert "patient" not in kept and "Fever" not in kept and digest("Fever") in kept
    assert Recording.load(tmp_path / "run.json").answer_to(seen[0][1]) == digest("Fever")
