"""What the gateway costs above its encoder, and how it bears many clients.

    python benchmarks/gateway.py --rounds 40 --clients 200 --seconds 60

The encoder and the gateway embed the same batches in turn, in one run, so that a noisy machine hits both. The
protector is plain noise: what a learned one adds (neutral texts) is its own cost and not the gateway's.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from sfumato.embedders import load_embedder
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.records import make_records
from sfumato.saving import load_protector, save_protector

BATCH = 32
SERVE = [sys.executable, "-c", "from sfumato.cli.main import run; run()", "serve"]


class Client:
    """One connection that is kept."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def embed(self, texts):
        body = json.dumps({"input": texts, "encoding_format": "base64"})
        self.connection.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        found = answer.read()
        return answer.status, found


def start(folder, embedder, dim):
    protector = Protector(Laplace.from_noise_ratio(0.5, dim=dim), embedder, learned={"dim": dim})
    save_protector(protector, folder / "plain")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--protector", folder / "plain", "--state", folder / "state", "--port", port, "--no-console"]
    log = open(folder / "log", "w")  # noqa: SIM115
    process = subprocess.Popen([*SERVE, *map(str, options)], stderr=log, stdout=log)
    while True:
        try:
            if Client(port).embed(["up"])[0] == 200:
                return process, port, log
        except OSError:
            if process.poll() is not None:
                raise SystemExit((folder / "log").read_text()) from None
            time.sleep(0.2)


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def overhead(encoder, protector, port, texts, rounds):
    """Seconds for each batch: the encoder alone, the Python path, the gateway; a new batch each round."""
    client, rows = Client(port), {"encoder": [], "python": [], "gateway": []}
    work = {"encoder": encoder.embed, "python": protector.embed, "gateway": client.embed}
    for turn in range(rounds + 2):
        batch = texts[turn * BATCH : (turn + 1) * BATCH]
        names = list(work)[turn % 3 :] + list(work)[: turn % 3]
        for name in names:
            seconds = timed(lambda: work[name](batch))  # noqa: B023
            if turn >= 2:
                rows[name].append(seconds)
    return rows


def memory(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def crowd(process, port, clients, seconds):
    """Many clients at once, one text a request; statuses, and the gateway's memory as it goes."""
    end = time.monotonic() + seconds
    statuses, waits, lock = {}, [], threading.Lock()

    def one(number):
        client, turn = Client(port), 0
        while time.monotonic() < end:
            begun = time.perf_counter()
            try:
                status = client.embed([f"client {number} asks about parcel {turn}"])[0]
            except (OSError, http.client.HTTPException) as error:
                status = type(error).__name__
                client = Client(port)
            with lock:
                statuses[status] = statuses.get(status, 0) + 1
                waits.append(time.perf_counter() - begun)
            turn += 1

    threads = [threading.Thread(target=one, args=(number,)) for number in range(clients)]
    for each in threads:
        each.start()
    sizes = []
    while any(each.is_alive() for each in threads):
        sizes.append(memory(process.pid))
        time.sleep(1.0)
    return statuses, waits, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    encoder = load_embedder(given.embedder)
    texts = [record.text for record in make_records((given.rounds + 2) * BATCH, seed=5)]
    os.environ.setdefault("no_proxy", "*")
    with tempfile.TemporaryDirectory() as name:
        process, port, log = start(Path(name), given.embedder, encoder.dim)
        try:
            protector = load_protector(Path(name) / "plain")
            protector.embedder = encoder
            rows = overhead(encoder, protector, port, texts, given.rounds)
            statuses, waits, sizes = crowd(process, port, given.clients, given.seconds)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
            log.close()
    median = {each: statistics.median(found) for each, found in rows.items()}
    pairs = sorted(a / b for a, b in zip(rows["gateway"], rows["encoder"], strict=True))
    quarter = len(sizes) // 4
    result = {
        "texts_per_second": {each: BATCH / found for each, found in median.items()},
        "gateway_over_encoder": {
            "median": statistics.median(pairs),
            "quartiles": [pairs[len(pairs) // 4], pairs[3 * len(pairs) // 4]],
        },
        "clients": given.clients,
        "seconds": given.seconds,
        "statuses": {str(key): value for key, value in statuses.items()},
        "wait_median": statistics.median(waits),
        "wait_longest": max(waits),
        "memory_mib": {"after_a_quarter": sizes[quarter], "end": sizes[-1], "largest": max(sizes)},
    }
    for key, value in result.items():
        print(f"{key}: {value}")
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
