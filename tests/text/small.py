"""A small vocabulary, a detector and a server of chat answers for the tests of private text."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sfumato.concepts.base import Span
from sfumato.randomness import generator
from sfumato.text import WordVectors

WORDS = (
    "oil price rose fell year country city river doctor patient treated fever pain hospital bank money "
    "market game team won lost player north south east west red green blue small large old new said told "
    "came went"
).split()


def vocabulary(words=WORDS, dim=16, seed=0):
    return WordVectors(words, generator(seed).standard_normal((len(words), dim)), name="small")


class Pattern:
    """Finds what matches a regular expression."""

    name = "pattern"
    blind_to = "Everything else."

    def __init__(self, expression, label="secret"):
        self.expression, self.label = re.compile(expression), label

    def find(self, text):
        return [Span(*match.span(), self.label) for match in self.expression.finditer(text) if match[0]]


@contextmanager
def chat_server(reply):
    """Serve `reply(body)` as chat answers; yields the address and the bodies that came."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, body))
            answer = reply(body)
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            if isinstance(content, str):
                content = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
