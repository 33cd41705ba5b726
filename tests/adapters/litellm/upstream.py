"""A small OpenAI-compatible server on loopback that runs the bundled encoder and notes what it is sent."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Upstream:
    """What the server was asked for; a model's name says how its answers are wrong, if they are."""

    def __init__(self, encoder) -> None:
        self.encoder, self.asked, self._lock = encoder, [], threading.Lock()
        self.url = ""

    @property
    def texts(self) -> list[str]:
        return [text for body in self.asked for text in body["input"]]

    def answer(self, body: dict) -> tuple[int, dict]:
        with self._lock:
            self.asked.append(body)
            rows = self.encoder.embed(body["input"]).tolist()
        if body["model"] == "down":
            return 500, {"error": {"message": f"cannot embed {body['input'][0]}", "type": "server_error"}}
        if body["model"] == "short":
            rows = rows[1:]
        if body["model"] == "narrow":
            rows = [row[:10] for row in rows]
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        # Backwards, as a server may: the index says which is which.
        return 200, {"object": "list", "data": data[::-1], "model": body["model"], "usage": usage}


@contextlib.contextmanager
def serving(upstream: Upstream):
    """Answer until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            status, found = upstream.answer(json.loads(self.rfile.read(size)))
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        upstream.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield upstream
        finally:
            server.shutdown()
            thread.join()
