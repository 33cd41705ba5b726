"""A language model of this machine behind OpenAI's chat protocol, on loopback: for the judge to be asked.

    python -m sfumato_research.text.serving --model smollm2

It answers POST /v1/chat/completions (one answer, no streaming) and GET /v1/models, one request at a time, and
writes nothing of what it is asked.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sfumato.devices import chosen_device
from sfumato.embedders.huggingface.models import find_model, load_tokenizer, load_weights
from sfumato.randomness import generator

_LARGEST_BODY = 1 << 20
_MOST_TOKENS = 512


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a model says, and how many tokens it read and wrote."""

    text: str
    read: int
    written: int
    ended: bool
    """Whether the model came to its end by itself."""


@dataclass(eq=False)
class ChatModel:
    """A causal language model with a chat template, such as SmolLM2-Instruct.

    Args:
        model: a folder, the local copy of a hub model, or "smollm2".
        device: as torch names it; a GPU where there is one, if left out.
        seed: of the draws where a temperature above 0 is asked for.
    """

    model: str
    device: str | None = None
    seed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        """Load weights and tokenizer."""
        found = find_model(self.model)
        self._place = chosen_device(self.device)
        self._tokenizer = load_tokenizer(found)
        self._weights = load_weights("AutoModelForCausalLM", found).to(self._place).eval()
        self._rng = generator(self.seed)
        self.digest: str = found.digest()

    def answer(
        self, messages: Sequence[Mapping[str, str]], temperature: float = 0.0, most_tokens: int = _MOST_TOKENS
    ) -> ChatAnswer:
        """Answer one conversation; the likeliest token each time at temperature 0."""
        import torch

        with self._lock, torch.inference_mode():
            asked = self._tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, return_tensors="pt", return_dict=True
            )["input_ids"].to(self._place)
            ends = self._weights.generation_config.eos_token_id
            stops = {ends} if isinstance(ends, int) else set(ends or ())
            made: list[int] = []
            ids, past = asked, None
            while len(made) < min(most_tokens, _MOST_TOKENS):
                out = self._weights(input_ids=ids, past_key_values=past, use_cache=True)
                past = out.past_key_values
                token = self._next(out.logits[0, -1].double(), temperature)
                if token in stops:
                    break
                made.append(token)
                ids = torch.tensor([[token]], device=self._place)
        text = str(self._tokenizer.decode(made, skip_special_tokens=True))
        return ChatAnswer(text, int(asked.shape[1]), len(made), len(made) < min(most_tokens, _MOST_TOKENS))

    def _next(self, logits: Any, temperature: float) -> int:
        if temperature <= 0:
            return int(logits.argmax())
        chances = (logits / temperature).softmax(dim=0).cumsum(dim=0)
        return int((chances < self._rng.random()).sum().clamp(max=len(chances) - 1))


@contextmanager
def serving(model: ChatModel, port: int = 0) -> Iterator[str]:
    """Serve a model on loopback while the block runs; yields the address before /chat/completions."""

    class Handler(_Handler):
        served = model

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    served: ChatModel

    def do_GET(self) -> None:
        """The list of models."""
        if self.path != "/v1/models":
            self._refuse(404, "There is nothing here.")
            return
        self._send(200, {"object": "list", "data": [{"id": self.served.model, "object": "model"}]})

    def do_POST(self) -> None:
        """One answer."""
        size = self.headers.get("Content-Length", "")
        if self.path != "/v1/chat/completions":
            self._refuse(404, "There is nothing here.")
        elif not size.isdigit() or int(size) > _LARGEST_BODY:
            self._refuse(413, f"A request must have a length of at most {_LARGEST_BODY} bytes.")
        else:
            try:
                asked = _read(self.rfile.read(int(size)))
            except (ValueError, TypeError, KeyError, RecursionError):
                self._refuse(400, "A request must be JSON with messages of role and content.")
            else:
                self._send(200, self._answered(*asked))

    def _answered(self, messages: list[dict[str, str]], temperature: float, most: int) -> dict[str, Any]:
        found = self.served.answer(messages, temperature, most)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": found.text},
            "finish_reason": "stop" if found.ended else "length",
        }
        usage = {"prompt_tokens": found.read, "completion_tokens": found.written}
        return {
            "id": "chatcmpl-local",
            "object": "chat.completion",
            "created": 0,
            "model": self.served.model,
            "choices": [choice],
            "usage": {**usage, "total_tokens": found.read + found.written},
        }

    def _refuse(self, status: int, why: str) -> None:
        self._send(status, {"error": {"message": why, "type": "invalid_request_error"}})

    def _send(self, status: int, value: Mapping[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: requests hold texts."""


def _read(body: bytes) -> tuple[list[dict[str, str]], float, int]:
    asked = json.loads(body)
    messages = [{"role": str(one["role"]), "content": str(one["content"])} for one in asked["messages"]]
    if not messages:
        raise ValueError
    most = asked.get("max_completion_tokens") or asked.get("max_tokens") or _MOST_TOKENS
    return messages, float(asked.get("temperature") or 0.0), int(most)


def main() -> None:
    """Serve until stopped."""
    options = argparse.ArgumentParser(description="Serve a language model of this machine on loopback.")
    options.add_argument("--model", default="smollm2")
    options.add_argument("--device")
    options.add_argument("--port", type=int, default=8123)
    chosen = options.parse_args()
    with serving(ChatModel(chosen.model, chosen.device), chosen.port) as address:
        sys.stdout.write(f"{chosen.model}@{address}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
