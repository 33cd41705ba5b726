"""A soak: good, hostile and dying clients at once against a real gateway, for 20 seconds or as long as asked.

SFUMATO_SOAK_SECONDS=1800 makes it half an hour. Everything stays on this machine and is bounded in number.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections import Counter

import pytest

from sfumato.concepts.concept import Concept
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from sfumato.server.tenancy.keys import new_key
from tests.security.clients import MIB, ROME, connect, head, memory, request
from tests.security.test_gateway_tenants import wait_until_idle
from tests.server.running import DIM, PRIVATE, gateway

SECONDS = float(os.environ.get("SFUMATO_SOAK_SECONDS") or 20.0)
ALLOWED_MIB = 200.0
"""What the gateway may grow by: its budget of 64 MiB, and as much again for what becomes of bodies."""
LIMITS = ("--timeout", "15", "--read-timeout", "5", "--threads", "4", "--max-waiting", "32", "--no-console")
PAUSE = 0.05


def send_and_look(running, data, wait=0.0):
    with contextlib.suppress(OSError), connect(running, 10.0) as connection:
        connection.sendall(data)
        time.sleep(wait)
        connection.recv(4096)


def huge_body(running, key, rng):
    send_and_look(running, head("/v1/embeddings", length=15 * MIB, key=key) + b"x" * (2 * MIB), 0.2)


def keyless_body(running, key, rng):
    path = rng.choice(["/", "/health", "/v1/embeddings", "/openapi.json"])
    send_and_look(running, head(path, length=15 * MIB) + b"x" * MIB)


def slow_body(running, key, rng):
    with contextlib.suppress(OSError), connect(running, 10.0) as connection:
        connection.sendall(head("/v1/embeddings", length=5000, key=key))
        for _ in range(20):
            connection.sendall(b'"')
            time.sleep(0.1)


def silent(running, key, rng):
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connect(running, 10.0))
        time.sleep(1.0)


def many_terms(running, key, rng):
    send_and_look(running, request([ROME], key))


def many_texts(running, key, rng):
    send_and_look(running, request([f"text {rng.random()}" for _ in range(1024)], key))


def long_texts(running, key, rng):
    send_and_look(running, request(["The note of the ward says little. " * 300] * 32, key))


def dying(running, key, rng):
    with contextlib.suppress(OSError), connect(running, 10.0) as connection:
        connection.sendall(request(["The note of the ward says little. " * 2900] * 20, key))
        time.sleep(rng.random())


def wrong_key(running, key, rng):
    send_and_look(running, request([PRIVATE], key[:-2]))


def malformed(running, key, rng):
    bad = rng.choice(
        [b"{", b"[" * 100_000, b'{"input": ["\\ud800"]}', b"\xff\xfe", b'{"input": [[1], ["a"]]}']
    )
    send_and_look(running, head("/v1/embeddings", length=len(bad), key=key) + bad)


def no_http(running, key, rng):
    send_and_look(running, b"\x16\x03\x01\x02\x00" + PRIVATE.encode() + b"\r\n\r\n")


HOSTILE = [
    huge_body,
    keyless_body,
    slow_body,
    silent,
    many_terms,
    many_texts,
    long_texts,
    dying,
    wrong_key,
    malformed,
    no_http,
]


@pytest.mark.timeout(SECONDS + 240)
def test_good_clients_are_served_while_others_do_their_worst(tmp_path, record_property):
    concept = Concept.from_terms("place", ["Rome", "Paris", "Oslo", "Bern"])
    made = Protector(
        Laplace.from_noise_ratio(0.5, dim=DIM), f"fake:{DIM}", (concept,), neutral=2, learned={"dim": DIM}
    )
    save_protector(made, tmp_path / "places")
    path = tmp_path / "keys.json"
    keys = {name: new_key(path, name) for name in ("good", "hostile")}
    with gateway(tmp_path / "run", tmp_path / "places", "--keys", str(path), *LIMITS) as running:
        expected = running.embed([PRIVATE, "from Rome"], keys["good"], encoding_format="base64")[2]["data"]
        before, end = memory(running.process.pid), time.monotonic() + SECONDS
        statuses, waits, sizes, wrong = Counter(), [], [], []

        def harm(kind):
            rng = random.Random(kind.__name__)
            while time.monotonic() < end:
                kind(running, keys["hostile"], rng)
                time.sleep(PAUSE)

        def good(number):
            turn = 0
            while time.monotonic() < end:
                begun = time.perf_counter()
                texts = [PRIVATE, "from Rome", f"{number} {turn}"]
                status, _, answer = running.embed(texts, keys["good"], encoding_format="base64")
                waits.append(time.perf_counter() - begun)
                statuses[status] += 1
                if status == 200 and answer["data"][:2] != expected:
                    wrong.append(turn)
                turn += 1
                time.sleep(PAUSE)

        threads = [threading.Thread(target=harm, args=(kind,)) for kind in HOSTILE]
        threads += [threading.Thread(target=good, args=(number,)) for number in range(2)]
        for each in threads:
            each.start()
        while any(each.is_alive() for each in threads):
            sizes.append(memory(running.process.pid))
            time.sleep(0.5)
        for each in threads:
            each.join()
        assert running.process.poll() is None
        record_property("grown_mib", round(max(sizes) - before, 1))
        record_property("longest", round(max(waits), 2))
        record_property("good", dict(statuses))
        assert set(statuses) == {200} and not wrong
        assert max(sizes) - before < ALLOWED_MIB
        late = sizes[len(sizes) // 2 :]
        assert max(late) - max(sizes[: len(sizes) // 2]) < ALLOWED_MIB / 4  # it does not go on growing
        wait_until_idle(running, keys["good"])
        again = running.embed([PRIVATE, "from Rome"], keys["good"], encoding_format="base64")
        assert again[0] == 200 and again[2]["data"] == expected
        assert running.ask("GET", "/health")[0] == 200
        assert PRIVATE not in running.log and keys["hostile"][:-2] not in running.log
        assert not [line for line in running.lines() if line.get("status") == 500]
