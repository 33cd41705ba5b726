"""A reader on a server: the paper's evaluator, asked with its own words (STAMP, appendix C)."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato.files import write_atomic
from sfumato.text.chat import Chat

SYSTEM = (
    "You are a helpful assistant that answers questions based on the provided context. "
    "Limit your answer to one word."
)
_MOST_TOKENS = 5


class Judge:
    """Answers questions like `Reader`, by a chat model that sees the private text and the question.

    Args:
        chat: the model to ask.
        recording: keeps what is asked and answered, if given.
    """

    def __init__(self, chat: Chat, recording: Recording | None = None) -> None:
        self.chat, self.recording = chat, recording

    def answer(self, context: str, question: str) -> str:
        """What the model says, without the spaces around it."""
        asked = f"Context: {context}\nQuestion: {question}"
        said = self.chat.ask(SYSTEM, asked, most_tokens=_MOST_TOKENS)
        if self.recording is not None:
            self.recording.add(self.chat.request(SYSTEM, asked, most_tokens=_MOST_TOKENS), said)
        return said.strip()


@dataclass
class Recording:
    """Requests and answers of one run: word for word, or digests alone where the texts are not ours."""

    about: dict[str, Any] = field(default_factory=dict)
    """Which server it was and when."""
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What was asked and answered, by the digest of the request."""
    words: bool = True
    """Whether texts are kept."""

    def add(self, request: Mapping[str, Any], answer: str) -> None:
        """Keep one request and what was answered."""
        kept = {"request": dict(request), "answer": answer} if self.words else {"answer": digest(answer)}
        self.asked[digest(request)] = kept

    def answer_to(self, request: Mapping[str, Any]) -> str:
        """What was answered to this very request; one that was never made is refused."""
        found = self.asked.get(digest(request))
        if found is None:
            raise InputError("The recording holds no such request. Found another one.")
        return str(found["answer"])

    def save(self, path: Path) -> None:
        """Write it as JSON, compressed where the name ends in .gz."""
        found = {"about": self.about, "words": self.words, "asked": self.asked}
        text = (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode()
        write_atomic(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Read one that was written."""
        text = path.read_bytes()
        found = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
        return cls(found["about"], found["asked"], found["words"])


def digest(value: Mapping[str, Any] | str) -> str:
    """SHA-256 of a request or an answer."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
