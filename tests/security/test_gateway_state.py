"""Keys that are taken away, ledgers that are deleted, protectors that change, and what the console tells."""

from __future__ import annotations

import json
import os
import subprocess
import time

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.errors import InputError
from sfumato.mechanisms import Mahalanobis
from sfumato.protector import Protector
from sfumato.saving import load_protector, save_protector
from sfumato.server.settings import default_state
from sfumato.server.tenancy.keys import KeyRing, new_key, revoke
from tests.cli.test_main import sfumato
from tests.server.running import COMMAND, DIM, gateway, save_fake


def serve(*arguments, cwd=None, **variables):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **variables},
    )


class Clock:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def ring(tmp_path):
    path = tmp_path / "keys.json"
    keys = {name: new_key(path, name) for name in ("stays", "leaves")}
    clock = Clock()
    return KeyRing(path, grace=30.0, clock=clock), path, keys, clock


def without(path, tenant):
    held = json.loads(path.read_text())
    return json.dumps({**held, "keys": [each for each in held["keys"] if each["tenant"] != tenant]})


def replaced(path, content, mode):
    fresh = path.with_name("fresh")
    fresh.write_text(content)
    fresh.chmod(mode)
    os.rename(fresh, path)


def test_a_key_taken_out_of_a_file_with_the_wrong_mode_stops_at_once_and_the_rest_after_a_grace(ring):
    found, path, keys, clock = ring
    replaced(path, without(path, "leaves"), 0o644)
    assert found.tenant_of(keys["leaves"]) is None
    assert found.tenant_of(keys["stays"]) == "stays" and not found.closed
    clock.now += 30.0
    assert found.tenant_of(keys["stays"]) is None and found.closed
    path.chmod(0o600)
    assert found.tenant_of(keys["stays"]) == "stays" and found.tenant_of(keys["leaves"]) is None


@pytest.mark.parametrize("damage", ["deleted", "damaged", "a folder", "opened to others"])
def test_a_keys_file_that_cannot_be_used_closes_after_a_grace(ring, damage):
    found, path, keys, clock = ring
    good = path.read_text()
    if damage == "opened to others":
        path.chmod(0o640)
    elif damage == "damaged":
        path.write_text("{")
    else:
        path.unlink()
    if damage == "a folder":
        path.mkdir()
    assert found.tenant_of(keys["stays"]) == "stays"
    clock.now += 29.0
    assert found.tenant_of(keys["stays"]) == "stays"
    clock.now += 1.0
    assert found.tenant_of(keys["stays"]) is None
    if damage == "a folder":
        path.rmdir()
    replaced(path, good, 0o600)
    assert found.tenant_of(keys["stays"]) == "stays"


def test_the_gateway_says_at_once_that_its_keys_file_is_gone_and_closes(tmp_path):
    path = tmp_path / "keys.json"
    key = new_key(path, "acme")
    options = ("--keys", str(path), "--keys-grace", "3", "--no-console")
    with gateway(tmp_path / "run", save_fake(tmp_path / "plain"), *options) as running:
        assert running.embed(["x"], key)[0] == 200
        path.unlink()
        for _ in range(100):
            if "keys file unusable" in running.log:
                break
            time.sleep(0.1)
        told = next(line for line in running.lines() if line["event"] == "keys file unusable")
        assert told["level"] == "error" and told["closed_in"] == 3.0
        for _ in range(100):
            status, _, answer = running.embed(["x"], key)
            if status != 200:
                break
            time.sleep(0.1)
        assert status == 401 and answer["error"]["code"] == "keys_unavailable"
        assert running.ask("GET", "/health")[0] == 200


def test_revoke_takes_out_all_keys_of_a_tenant_and_leaves_its_ceiling(tmp_path):
    path = tmp_path / "keys.json"
    first, second = new_key(path, "acme", ceiling=5.0), new_key(path, "acme")
    other = new_key(path, "birch")
    ring = KeyRing(path)
    done = serve("--revoke", "acme", "--keys", path)
    assert done.returncode == 0 and "2 keys of acme" in done.stdout
    assert [ring.tenant_of(key) for key in (first, second, other)] == [None, None, "birch"]
    assert ring.file.tenants["acme"].ceiling == 5.0 and path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="no key of"):
        revoke(path, "acme")
    for arguments, words in ((("--revoke", "acme"), "--keys"), (("--revoke", "x", "--keys", path), "no key")):
        done = sfumato("serve", *arguments)
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_a_deleted_ledger_is_not_started_again_unless_somebody_says_so(tmp_path):
    protector = save_fake(tmp_path / "plain")
    epsilon = load_protector(protector).guarantee.epsilon
    options = ("--ceiling", str(1.5 * epsilon), "--no-console")

    def asked(running):
        return running.embed(["spent"], input_type="query")[0]

    with gateway(tmp_path / "run", protector, *options) as running:
        assert [asked(running), asked(running)] == [200, 429]
        state = running.state
    ledger = state / "ledgers" / "local.sqlite"
    ledger.rename(tmp_path / "kept")
    done = serve("--protector", protector, "--state", state, "--port", "0", *options)
    assert done.returncode == 2 and "--new-ledger local" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and not ledger.exists()
    (tmp_path / "kept").rename(ledger)
    with gateway(tmp_path / "run", protector, *options) as running:
        assert asked(running) == 429
    done = sfumato("serve", "--new-ledger", "local", "--state", state)
    assert done.returncode == 0 and list(state.glob("ledgers/local.sqlite.until-*")) and not ledger.exists()
    with gateway(tmp_path / "run", protector, *options) as running:
        assert asked(running) == 200
    assert sfumato("serve", "--new-ledger", "nobody", "--state", state).returncode == 2


def save_shaped(folder, seed):
    shape = np.random.Generator(np.random.PCG64(seed)).uniform(0.5, 1.5, DIM)
    made = Protector(Mahalanobis(epsilon=40.0, shape=shape), f"fake:{DIM}", learned={"dim": DIM})
    save_protector(made, folder)
    return folder


def test_a_new_protector_over_the_same_state_serves_the_old_texts(tmp_path):
    for number in range(2):
        protector = save_shaped(tmp_path / f"shape-{number}", number)
        with gateway(tmp_path / "run", protector, "--no-console") as running:
            assert running.embed(["released before"])[0] == 200
            secret = Secret.from_file(running.state / "secret")
            path = running.state / "ledgers" / "local.sqlite"
            assert Ledger(path, secret=secret, ceiling=None, metric="l2").total()["l2"].releases == number + 1


def test_a_ceiling_under_which_nothing_fits_is_refused_when_it_starts(tmp_path):
    protector = save_shaped(tmp_path / "shape", 0)
    worst = load_protector(protector).guarantee.worst_case_l2
    for counting, ceiling in (("auto", 0.9 * worst), ("own", 39.0)):
        options = ("--ceiling", ceiling, "--counting", counting, "--state", tmp_path / "state")
        done = sfumato("serve", "--protector", protector, *options)
        assert done.returncode == 2 and "fits under the ceiling" in done.stderr
    assert 0.9 * worst > 40.0  # it is the way of counting that refuses


def test_the_console_does_not_tell_whether_a_text_was_released_before(tmp_path):
    path = tmp_path / "keys.json"
    key = new_key(path, "acme")
    with gateway(tmp_path / "run", save_fake(tmp_path / "plain"), "--keys", str(path)) as running:

        def shown():
            return running.ask("GET", "/console/state", key=key)[2]["ledger"]

        for text in ("held", "held", *(f"text {number}" for number in range(12))):
            assert running.embed([text], key)[0] == 200
        before = shown()
        changes = []
        for candidate in ("held", "never seen"):
            assert running.embed([candidate], key)[0] == 200
            changes.append(shown())
        assert changes == [before, before]
        assert "charged" not in json.dumps(before) and not [
            value for call in before["calls"] for value in call.values() if not isinstance(value, str)
        ]


def test_the_state_folder_is_the_users_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert default_state() == tmp_path / "xdg" / "sfumato"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_state() == tmp_path / ".local" / "state" / "sfumato"


def test_a_state_folder_of_version_0_1_is_not_left_behind_in_silence(tmp_path):
    protector = save_fake(tmp_path / "plain")
    old = tmp_path / "sfumato-state"
    old.mkdir()
    Secret.from_file(old / "secret", create=True)
    done = serve("--protector", protector, cwd=tmp_path, XDG_STATE_HOME=str(tmp_path / "xdg"))
    assert done.returncode == 2 and "--state sfumato-state" in done.stderr
    assert not (tmp_path / "xdg").exists()
