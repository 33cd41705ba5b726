"""Clean queries through the gateway: by the operator's consent alone, told apart, and never free."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.server.settings import GatewaySettings
from sfumato.server.tenancy.keys import new_key, read_keys
from tests.server.running import DIM, PRIVATE, gateway, save_fake


@pytest.fixture(scope="module")
def protector(tmp_path_factory):
    return save_fake(tmp_path_factory.mktemp("protectors") / "mild")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """One tenant that may, one that may not, one with a ceiling."""
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    made = {
        "open": new_key(path, "open", clean_queries=True),
        "shut": new_key(path, "shut"),
        "strict": new_key(path, "strict", ceiling=1e9),
    }
    return path, made


@pytest.fixture(scope="module")
def running(tmp_path_factory, protector, keys):
    with gateway(tmp_path_factory.mktemp("run"), protector, "--keys", str(keys[0])) as found:
        yield found


def asked(running, key, kind, text=PRIVATE):
    return running.embed([text], key, input_type=kind, encoding_format="float")


def test_who_is_allowed_gets_the_texts_own_vector_marked_as_unprotected(running, keys, protector):
    status, _, answer = asked(running, keys[1]["open"], "clean_query")
    assert status == 200 and answer["model"].endswith("#unprotected")
    own = Fake(dim=DIM).embed([PRIVATE])
    assert np.array_equal(np.float32(answer["data"][0]["embedding"]), own[0])
    for kind in ("query", "document"):
        status, _, protected = asked(running, keys[1]["open"], kind)
        assert status == 200 and "#" not in protected["model"]
        assert not np.allclose(protected["data"][0]["embedding"], own[0], atol=0.01)
    short = running.embed([PRIVATE], keys[1]["open"], input_type="clean_query", dimensions=8)[2]
    assert len(short["data"][0]["embedding"]) == 8


def test_it_is_on_the_ledger_as_a_release_without_a_promise(running, keys, protector):
    text = "asked in the clear once"
    assert asked(running, keys[1]["open"], "clean_query", text)[0] == 200
    made = running.python_path(protector, "open")
    made.ledger = running.ledger("open")
    assert made.spent(text).epsilon == math.inf and made.spent(text).releases == 1
    assert {"identity"} <= {each["mechanism"] for each in made.ledger.summary()["spends"]}
    lines = [line for line in running.lines() if line.get("role") == "clean_query"]
    assert lines and {line["tenant"] for line in lines} <= {"open", "shut", "strict"}
    assert text not in running.log
    figures = running.ask("GET", "/metrics", key=keys[1]["open"])[2]
    assert 'sfumato_texts_released_total{role="clean_query"}' in figures


@pytest.mark.parametrize("tenant", ["shut", "strict"])
def test_nobody_else_gets_one_and_nothing_is_charged(running, keys, protector, tenant):
    status, _, answer = asked(running, keys[1][tenant], "clean_query")
    assert status == 403 and answer["error"]["code"] == "clean_queries_not_allowed"
    assert PRIVATE not in str(answer) and "data" not in answer
    path = running.state / "ledgers" / f"{tenant}.sqlite"
    made = running.python_path(protector, tenant)
    made.ledger = running.ledger(tenant)
    assert path.exists() and made.spent(PRIVATE).releases == 0


def test_the_operator_can_take_it_back(running, keys):
    key = new_key(keys[0], "brief", clean_queries=True)
    assert asked(running, key, "clean_query")[0] == 200
    new_key(keys[0], "brief", clean_queries=False)
    assert asked(running, key, "clean_query")[0] == 403
    assert asked(running, key, "query")[0] == 200


def test_a_whole_gateway_may_allow_it_and_says_so(tmp_path, protector):
    with gateway(tmp_path / "run", protector, "--clean-queries") as found:
        assert asked(found, None, "clean_query")[0] == 200
        assert any(line["level"] == "warning" and "clean queries" in line["event"] for line in found.lines())


def test_it_excludes_a_ceiling(tmp_path, protector):
    for limit in ({"ceiling": 5.0}, {"ceiling_advantage": 0.5, "accounting": "curve"}):
        with pytest.raises(InputError, match="cost infinity"):
            GatewaySettings(protector=protector, clean_queries=True, **limit)
    path = tmp_path / "keys.json"
    with pytest.raises(InputError, match="cost infinity"):
        new_key(path, "acme", clean_queries=True, ceiling=5.0)
    assert not path.exists()
    new_key(path, "acme", clean_queries=True)
    with pytest.raises(AssertionError, match="cost infinity"):  # the gateway's ceiling is the tenant's, too
        with gateway(tmp_path / "run", protector, "--keys", str(path), "--ceiling", "1e9"):
            pass
    held = json.loads(path.read_text())
    held["tenants"]["acme"]["clean_queries"] = "yes"
    path.write_text(json.dumps(held))
    with pytest.raises(InputError, match="something it should not"):
        read_keys(path)
