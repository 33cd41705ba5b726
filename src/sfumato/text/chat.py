"""Any server that speaks the OpenAI chat protocol: one question, one answer."""

from __future__ import annotations

import contextlib
import json
from threading import Event
from typing import Any

from sfumato.embedders.endpoint import EndpointError, Poster
from sfumato.embedders.remote import OPENAI, checked_address
from sfumato.errors import ParameterError
from sfumato.numbers import finite_number, whole_number


class Chat:
    """Asks a model on a server; what is asked goes to that address and nowhere else.

    Args:
        model: the model's name on that server.
        base_url: the address before `/chat/completions`.
        key_variable: the environment variable that holds the key; the one of the host if not said.
        temperature: as the server understands it; the paper's 0.2.
        timeout: seconds without an answer after which a request is given up.
        retries: how often a request is tried again.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI,
        key_variable: str | None = None,
        temperature: float = 0.2,
        timeout: float = 60.0,
        retries: int = 5,
        longest_wait: float = 60.0,
    ) -> None:
        if not isinstance(model, str) or not model:
            raise ParameterError("`model` must be the model's name on the server. Found none.")
        base = checked_address(base_url)
        self.name = f"{model}@{base}"
        self._model = model
        self._temperature = finite_number(temperature, "temperature", 0.0, 2.0)
        self._poster = Poster(
            f"{base}/chat/completions",
            key_variable=key_variable,
            timeout=finite_number(timeout, "timeout", 0.001, 3600.0),
            retries=whole_number(retries, "retries", 0, 100),
            longest_wait=finite_number(longest_wait, "longest_wait", 0.0, 86400.0),
        )

    @classmethod
    def parse(cls, text: str, **options: Any) -> Chat:
        """Read MODEL or MODEL@URL."""
        model, at, address = text.rpartition("@")
        return cls(model, base_url=address, **options) if at else cls(text, **options)

    def request(self, system: str, user: str, *, most_tokens: int | None = None) -> dict[str, Any]:
        """What is sent for a question, as the protocol has it."""
        body: dict[str, Any] = {
            "model": self._model,
            "temperature": self._temperature,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        }
        if most_tokens is not None:
            body["max_tokens"] = most_tokens
        return body

    def ask(self, system: str, user: str, *, row: int = 0, most_tokens: int | None = None) -> str:
        """Return the answer to `user` under the instructions `system`; `row` names the request in errors."""
        body = self.request(system, user, most_tokens=most_tokens)
        answer = self._poster.post(json.dumps(body).encode(), f"for row {row}", Event())
        content: Any = None
        # A decode error carries the answer, which may repeat the text: it ends here.
        with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError, IndexError):
            content = json.loads(answer)["choices"][0]["message"]["content"]
        if not isinstance(content, str):
            raise EndpointError(
                f"{self._poster.address} answered for row {row} with something that is no text."
            )
        return content
