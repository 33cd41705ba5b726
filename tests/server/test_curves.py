"""A gateway that counts curves: its ceiling, its restarts, and ledgers of either kind."""

from __future__ import annotations

import pytest

from sfumato.errors import ArtifactError, InputError
from sfumato.mechanisms import Identity, Laplace
from sfumato.protector import Protector
from sfumato.server.settings import GatewaySettings
from sfumato.server.tenancy.keys import TenantSettings, new_key, read_keys
from sfumato.server.tenancy.state import SpendingLimits, State
from sfumato.server.tenancy.tenants import limits_of
from tests.cli.test_main import sfumato
from tests.server.running import DIM, gateway, save_fake

NOISE = Protector(Laplace(epsilon=40.0), f"fake:{DIM}", learned={"dim": DIM})
CURVE = SpendingLimits("curve", None, 0.5, 0.1)


def test_a_ceiling_stops_queries_and_a_restart_forgets_nothing(tmp_path):
    protector = save_fake(tmp_path / "plain")
    options = ("--accounting", "curve", "--ceiling-advantage", "0.5", "--distance", "0.05")
    answers = []
    with gateway(tmp_path / "run", protector, *options) as running:
        for _ in range(12):
            answers.append(running.embed(["asked often"], input_type="query")[0])
        assert running.embed(["asked once"], input_type="query")[0] == 200
        told = running.ask("GET", "/console/state")[2]["ledger"]
        assert told["ceiling_advantage"] == 0.5 and told["ceiling"] is None
        for _ in range(30):  # sticky: the same vector again
            assert running.embed(["a document"], input_type="document")[0] == 200
    fits = answers.count(200)
    assert answers == [200] * fits + [429] * (12 - fits) and 2 <= fits < 12
    with gateway(tmp_path / "run", protector, *options) as running:
        assert running.embed(["asked often"], input_type="query")[0] == 429
        assert running.embed(["asked once"], input_type="query")[0] == 200
    state = tmp_path / "run" / "state"
    done = sfumato("serve", "--protector", protector, "--state", state)
    assert done.returncode == 2 and "--accounting curve" in done.stderr
    (state / "ledgers" / "local.sqlite").unlink()
    done = sfumato("serve", "--protector", protector, "--state", state, *options)
    assert done.returncode == 2 and "--new-ledger local" in done.stderr


def test_a_ledger_of_sums_is_taken_over(tmp_path):
    state = State(tmp_path / "state")
    before = state.ledger("acme", NOISE, SpendingLimits("own"))
    before.spend(["one"], NOISE.guarantee)
    state.check("acme", NOISE, CURVE)
    assert (
        state.ledger("acme", NOISE, SpendingLimits("own")).spent("one").releases == 1
    )  # a check changes nothing
    after = state.ledger("acme", NOISE, CURVE)
    assert after.metric == "curve" and after.ceiling_advantage == 0.5 and after.distance == 0.1
    with pytest.raises(ArtifactError, match="--accounting curve"):
        state.ledger("acme", NOISE, SpendingLimits("own"))


def test_a_ceiling_under_which_nothing_fits_is_refused_before_a_gateway_starts(tmp_path):
    state = State(tmp_path / "state")
    for protector, limits, words in (
        (NOISE, SpendingLimits("curve", None, 0.01, 0.1), "none fits"),
        (NOISE, SpendingLimits("curve", None, 0.5), "--distance"),
        (NOISE, SpendingLimits("curve", 5.0, None, 0.1), "--ceiling-advantage"),
        (NOISE, SpendingLimits("auto", None, 0.5), "--accounting curve"),
        (Protector(Identity(), learned={"dim": DIM}), CURVE, "none fits"),
    ):
        with pytest.raises(InputError, match=words):
            state.check("acme", protector, limits)
    assert not list((tmp_path / "state" / "ledgers").iterdir())
    state.check("acme", NOISE, CURVE)


def test_settings_of_two_kinds_do_not_mix(tmp_path):
    curve = {"protector": tmp_path, "accounting": "curve"}
    made = GatewaySettings(**curve, ceiling_advantage=0.3, distance=0.2)
    assert GatewaySettings.from_environment(made.to_environment()) == made
    for wrong in (
        {**curve, "ceiling": 3.0},
        {**curve, "counting": "l2"},
        {**curve, "ceiling_advantage": 1.5},
        {**curve, "distance": 0.0},
        {"protector": tmp_path, "ceiling_advantage": 0.3},
        {"protector": tmp_path, "accounting": "curves"},
    ):
        with pytest.raises(ValueError):
            GatewaySettings(**wrong)


def test_a_tenant_s_own_ceiling_goes_first(tmp_path):
    keys = tmp_path / "keys.json"
    new_key(keys, "acme", ceiling_advantage=0.1)
    settings = GatewaySettings(protector=tmp_path, accounting="curve", ceiling_advantage=0.3)
    assert limits_of(settings, read_keys(keys).tenants["acme"]).ceiling_advantage == 0.1
    assert limits_of(settings, TenantSettings()).ceiling_advantage == 0.3
    new_key(keys, "other", ceiling_advantage=0.5)
    keys.write_text(keys.read_text().replace("0.5", "1.5"))
    with pytest.raises(InputError, match="between 0 and 1"):
        read_keys(keys)
