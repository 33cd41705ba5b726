"""Limits that follow the speed: what is allowed is done in time, and what is not is refused at once."""

from __future__ import annotations

import os
import time

import pytest

from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from sfumato.server.http.problems import Problem
from sfumato.server.settings import GatewaySettings
from sfumato.server.turns.load import Load
from sfumato.server.turns.speed import ServingSpeed, Taken
from sfumato.server.turns.work import Work
from tests.server.running import DIM, gateway

TIMEOUT = 10.0
EACH = 0.02
MODULE = f"""
import os, time
from sfumato.embedders.fake import Fake

class Slow(Fake):
    '''Takes as long for each text as a file says.'''
    def __init__(self):
        super().__init__(dim={DIM})
        self.name, self.model_id = "slow", "slow-1"
    def embed(self, texts, *, on_batch=None):
        with open(os.environ["SLOW_FILE"]) as file:
            time.sleep(float(file.read()) * len(texts))
        return super().embed(texts, on_batch=on_batch)
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """Where the seconds a text are written, and a gateway with an encoder that follows them."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "site" / "slow-1.0.dist-info").mkdir(parents=True)
    (folder / "site" / "slow_encoder.py").write_text(MODULE)
    info = folder / "site" / "slow-1.0.dist-info"
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n")
    info.joinpath("entry_points.txt").write_text("[sfumato.embedders]\nslow = slow_encoder:Slow\n")
    seconds = folder / "seconds"
    seconds.write_text(str(EACH))
    made = Protector(
        Laplace.from_noise_ratio(0.5, dim=DIM), "slow", learned={"dim": DIM, "model_id": "slow-1"}
    )
    save_protector(made, folder / "plain")
    path = os.pathsep.join([str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = ("--timeout", str(TIMEOUT), "--allow-remote", "slow", "--no-console")
    variables = {"PYTHONPATH": path, "SLOW_FILE": str(seconds)}
    with gateway(folder / "run", folder / "plain", *options, **variables) as running:
        yield running, seconds


def texts(count):
    return [f"{row:04d}".ljust(100, "x") for row in range(count)]


def allowed(running):
    status, _, found = running.ask("GET", "/v1/models")
    assert status == 200
    return found["data"][0]["limits"]


def test_the_most_that_is_allowed_is_done_and_more_is_refused_at_once(slow):
    running, _ = slow
    limits = allowed(running)
    most = limits["texts_by_characters"]["100"]
    assert limits["texts"] == 2048 and limits["seconds"] == TIMEOUT
    assert 20 < most <= TIMEOUT / 2 / EACH  # the encoder alone takes that long
    assert limits["texts_by_characters"]["10000"] <= most
    begun = time.monotonic()
    status, _, found = running.embed(texts(2048))
    assert status == 413 and time.monotonic() - begun < TIMEOUT / 2
    error = found["error"]
    assert error["code"] == "too_many_for_now" and error["param"] == "input"
    assert "texts of this length (100 characters" in error["message"] and "found 2048" in error["message"]
    status, _, found = running.embed(texts(most))
    assert status == 200 and len(found["data"]) == most
    assert [line for line in running.lines() if line["event"] == "speed"][0]["texts_of_100"] == most
    assert 504 not in [line.get("status") for line in running.lines()]


def test_the_limits_follow_what_requests_take(slow):
    running, seconds = slow
    before = allowed(running)["texts_by_characters"]["100"]
    seconds.write_text(str(5 * EACH))
    for _ in range(6):
        assert running.embed(texts(8))[0] == 200
    after = allowed(running)["texts_by_characters"]["100"]
    assert after < before / 2
    assert running.embed(texts(before))[0] == 413
    assert running.embed(texts(1))[0] == 200


def settings(tmp_path, **given):
    return GatewaySettings(protector=tmp_path, **given)


def test_a_speed_is_learned_quickly_upwards_and_slowly_downwards(tmp_path):
    speed = ServingSpeed(settings(tmp_path, timeout=20.0), Taken(0.0, 0.01, 0.0))
    assert speed.texts_of(100) == 1000 and speed.require(["x"] * 1000) == pytest.approx(10.0)
    for _ in range(8):
        speed.note(["x"] * 100, 4.0)
    slower = speed.texts_of(100)
    assert 245 <= slower <= 260
    with pytest.raises(Problem, match=r"within 10 seconds.*found 400") as refused:
        speed.require(["x"] * 400)
    assert refused.value.status == 413
    speed.note(["x"] * 100, 1.0)
    assert slower < speed.texts_of(100) < 300
    for _ in range(100):
        speed.note(["x"], 1e-4)  # a call that is nothing says nothing
    assert speed.texts_of(100) < 300
    speed.note(["x"] * 2, 1e6)
    assert speed.texts_of(100) == 1 and speed.require(["x"]) > 10.0  # one text is never refused


def test_limits_stay_within_the_settings(tmp_path):
    fast = ServingSpeed(
        settings(tmp_path, max_batch=70, max_bytes=2048, max_characters=5000), Taken(0, 1e-9, 1e-12)
    )
    limits = fast.limits()
    assert limits["texts_by_characters"] == {"100": 20, "1000": 2} and limits["texts"] == 70
    assert fast.texts_of(0) == 70


def work(tenant, seconds=10.0):
    return Work(tenant, deadline=time.monotonic() + seconds)


def test_what_would_not_be_done_beside_others_is_refused():
    load = Load()
    first, second = work("a"), work("a")
    with load.taken(first, 100, 5.0):
        with pytest.raises(Problem) as refused, load.taken(second, 100, 5.0):
            pass
        assert refused.value.status == 503 and refused.value.headers == {"Retry-After": "1"}
        with load.taken(second, 1, 5.0):  # a single text
            pass
        with load.taken(work("b"), 10, 1.0):  # another tenant's few are done first
            pass
        load.done(first, 4.0)
        with load.taken(second, 100, 5.0):
            pass
    with pytest.raises(Problem), load.taken(work("a", 1.0), 100, 5.0):  # it waited for its turn too long
        pass
    with load.taken(second, 100, 5.0):
        pass
