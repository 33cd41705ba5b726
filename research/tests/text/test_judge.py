"""A reader on a server is asked with the paper's words and sees the private text alone."""

from __future__ import annotations

from tests.text.small import chat_server

from sfumato.text.chat import Chat
from sfumato_research.text.judge import SYSTEM, Judge


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
