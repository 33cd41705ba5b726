"""A reader on a server: the paper's evaluator, asked with its own words (STAMP, appendix C)."""

from __future__ import annotations

from sfumato.text.chat import Chat

SYSTEM = (
    "You are a helpful assistant that answers questions based on the provided context. "
    "Limit your answer to one word."
)
_MOST_TOKENS = 5


class Judge:
    """Answers questions like `Reader`, by a chat model that sees the private text and the question."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat

    def answer(self, context: str, question: str) -> str:
        """What the model says, without the spaces around it."""
        asked = f"Context: {context}\nQuestion: {question}"
        return self.chat.ask(SYSTEM, asked, most_tokens=_MOST_TOKENS).strip()
