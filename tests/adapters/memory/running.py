"""A real memory server, spoken to by the SDK's own client or, where that is too polite, line by line."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import anyio

CODE = "from sfumato.cli.main import run; run()"
READY = "serving on stdio"


def arguments(folder, *more, store="memory:{}/db", embedder="fake:64"):
    chosen = () if embedder is None else ("--embedder", embedder)
    return ["mcp", "--store", store.format(folder), "--key", f"{folder}/memory.key", *chosen, *more]


def talk(folder, scenario, *more, mode="auto", **options):
    """Start a server, run `scenario(client)` with the SDK's client, and return what it said on stderr."""
    from mcp import Client, StdioServerParameters, stdio_client

    given = ["-c", CODE, *arguments(folder, *more, **options)]
    server = StdioServerParameters(command=sys.executable, args=given, env=dict(os.environ))
    log = folder / "stderr.txt"

    async def run():
        with log.open("w") as file:
            async with Client(stdio_client(server, errlog=file), mode=mode) as client:
                await scenario(client)

    anyio.run(run)
    return log.read_text()


class ByLines:
    """A server whose lines are written and read as they are."""

    def __init__(self, folder, *more, code=CODE, **options):
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments(folder, *more, **options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._number = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        assert self.ask("initialize", hello)["result"]["serverInfo"]["name"] == "sfumato"
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        """Send a request and return its answer; every line that comes must be a message."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send(json.dumps(message))
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self._number:
                return answer

    def call(self, tool, **given):
        return self.ask("tools/call", {"name": tool, "arguments": given})["result"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.end()

    def end(self):
        """Close its input, and return exit code and what is left of both outputs."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err
