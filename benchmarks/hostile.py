"""What a hostile tenant of the gateway does to another one's waiting time.

    python benchmarks/hostile.py --rounds 3 --seconds 15

A good tenant asks for a few sentences at a steady pace, in turns alone and while another tenant floods the
same gateway with all that its key allows: huge texts full of terms, huge batches, long texts, and many small
requests. Both are of one run, so that a noisy machine hits both. Everything stays on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from sfumato.concepts.concept import Concept
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from sfumato.server.tenancy.keys import new_key

SERVE = [sys.executable, "-c", "from sfumato.cli.main import run; run()", "serve"]
CITIES = ["Rome", "Paris", "Lisbon", "Oslo", "Vienna", "Prague", "Madrid", "Dublin", "Athens", "Bern"]
ROME = "Rome " * 20_000
FLOOD = [
    lambda n: [ROME],
    lambda n: [f"{n} {ROME}"[:100_000]] * 8,
    lambda n: [f"Parcel {n}-{row} came late." for row in range(512)],
    lambda n: [f"{n} " + "The note of the ward says little. " * 60 for _ in range(64)],
    lambda n: [f"A small one {n}."],
]


def ask(port, key, texts, timeout=120.0):
    """Status of one request, or the name of what went wrong."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        body = json.dumps({"input": texts, "encoding_format": "base64"})
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/embeddings", body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


def flood(port, key, threads):
    """A hostile tenant, until it is killed; says how each request ended."""
    os.nice(15)  # its own work is done elsewhere: only what it makes the gateway do should count
    numbers = itertools.count()

    def one(kind):
        while True:
            print(ask(port, key, FLOOD[kind % len(FLOOD)](next(numbers))), flush=True)

    running = [threading.Thread(target=one, args=(kind,)) for kind in range(threads)]
    for each in running:
        each.start()


@contextlib.contextmanager
def flooding(port, key, threads, statuses):
    """A hostile tenant in a process of its own, killed in the middle of what it does."""
    command = [sys.executable, __file__, "--flood", str(port), key, str(threads)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        process.kill()
        for status in process.communicate()[0].split():
            statuses[status] = statuses.get(status, 0) + 1


def paced(port, key, seconds, pace, count, waits, statuses):
    """A good tenant: so many sentences every `pace` seconds, one request at a time."""
    end, numbers = time.monotonic() + seconds, itertools.count()
    while time.monotonic() < end:
        number = f"{time.monotonic_ns()}-{next(numbers)}"
        texts = [f"Note {number}-{row}: seen in {CITIES[row % 10]}." for row in range(count // 2)]
        texts += [f"Note {number}-{row}: the parcel was late." for row in range(count - count // 2)]
        begun = time.perf_counter()
        status = ask(port, key, texts)
        waits.append(time.perf_counter() - begun)
        statuses[status] = statuses.get(status, 0) + 1
        time.sleep(max(0.0, pace - waits[-1]))


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(folder, rounds, seconds, pace, count, threads, options=()):
    """Waiting times alone and under attack."""
    concept = Concept.from_terms("place", CITIES)
    made = Protector(Laplace.from_noise_ratio(0.5, dim=384), "minilm", (concept,), learned={"dim": 384})
    save_protector(made, folder / "places")
    keys = {name: new_key(folder / "keys.json", name) for name in ("good", "hostile")}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = ["--protector", folder / "places", "--state", folder / "state", "--keys", folder / "keys.json"]
    given += ["--port", port, "--no-console", *options]
    waits, good, hostile = {"alone": [], "attacked": []}, {"alone": {}, "attacked": {}}, {}
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([*SERVE, *map(str, given)], stderr=log, stdout=log)
    try:
        while ask(port, keys["good"], ["up"]) != 200:
            if process.poll() is not None:
                raise SystemExit((folder / "log").read_text())
            time.sleep(0.2)
        paced(port, keys["good"], 3.0, 0.1, count, [], {})
        for _ in range(rounds):
            paced(port, keys["good"], seconds, pace, count, waits["alone"], good["alone"])
            with flooding(port, keys["hostile"], threads, hostile):
                time.sleep(3.0)
                paced(port, keys["good"], seconds, pace, count, waits["attacked"], good["attacked"])
            time.sleep(3.0)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    figures = {
        name: {"requests": len(found), **{f"p{q}": round(quantile(found, q / 100), 3) for q in (50, 90, 99)}}
        for name, found in waits.items()
    }
    ratio = {f"p{q}": round(figures["attacked"][f"p{q}"] / figures["alone"][f"p{q}"], 2) for q in (50, 99)}
    return {**figures, "ratio": ratio, "good": good, "hostile": hostile}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--pace", type=float, default=0.5)
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    os.environ.setdefault("no_proxy", "*")
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name), given.rounds, given.seconds, given.pace, given.texts, given.threads)
    for key, value in found.items():
        print(f"{key}: {value}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--flood"]:
        flood(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main()
