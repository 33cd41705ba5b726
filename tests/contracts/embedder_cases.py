"""One case for each registered embedder: a tiny model made on the spot, a server of our own, no network."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.embedders import EMBEDDERS, Fake, load_embedder
from tests.embedders import use_lite

SERVED_DIM = 24
Behaviour = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as an OpenAI-compatible server does, or as the test tells it to."""

    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), body))
            behave = self.server.behaviours.pop(0) if self.server.behaviours else answer
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            behave(self, body)

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers), {}))
        self.reply(200, b"{}")

    def reply(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A server on this machine, with a list of what to do with the next requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.behaviours: list[Behaviour] = []

    def handle_error(self, *_: Any) -> None:
        """A client that went away is part of the tests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def embeddings(body: dict[str, Any], *, dim: int = SERVED_DIM, floats: bool = False) -> list[dict[str, Any]]:
    vectors = Fake(dim=dim).embed(body["input"]) * np.float32(3.0)
    encoded = vectors.tolist() if floats else [base64.b64encode(v.tobytes()).decode() for v in vectors]
    return [{"object": "embedding", "index": i, "embedding": value} for i, value in enumerate(encoded)]


def answer(handler: Handler, body: dict[str, Any]) -> None:
    # Backwards: the client has to go by the indexes.
    data = {"object": "list", "data": embeddings(body)[::-1], "model": body["model"]}
    handler.reply(200, json.dumps(data).encode(), Content_Type="application/json")


def tiny_model(
    folder: Path, *, special: bool = True, side: str = "right", pooling: str = "mean", static: bool = False
) -> Path:
    """Save a small random sentence-transformers model."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding, Transformer
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = [*marks, *letters, *(f"##{letter}" for letter in letters)]
    ids = {token: i for i, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    torch.manual_seed(7)
    if static:
        SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu").save(
            str(folder)
        )
        return folder
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=48,
    )
    BertModel(config).save_pretrained(folder / "bare")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        padding_side=side,
        model_max_length=48,
    ).save_pretrained(folder / "bare")
    inner = Transformer(str(folder / "bare"))
    model = SentenceTransformer(modules=[inner, Pooling(32, pooling_mode=pooling)], device="cpu")
    model.save(str(folder / "model"))
    return folder / "model"


@contextlib.contextmanager
def embedder(name: str, folder: Path) -> Iterator[Any]:
    """The embedder of that name, ready to use."""
    if name == "openai":
        with serving() as server:
            yield load_embedder(f"openai:some-model@{server.url}", workers=2, batch=5)
    elif name == "sentence-transformers":
        yield load_embedder(tiny_model(folder))
    elif name == "use-lite":
        yield load_embedder(f"use-lite:{use_lite.model()}")
    else:
        yield load_embedder(name)


NAMES = [name for name in EMBEDDERS.names() if name != "vectors" and EMBEDDERS.installed(name)]
