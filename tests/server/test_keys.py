"""API keys at rest, and the settings of a gateway."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.server import GatewaySettings
from sfumato.server.settings import is_loopback
from sfumato.server.tenancy.keys import KeyRing, new_key, read_keys


def test_a_key_is_kept_as_a_hash_and_found_again(tmp_path):
    path = tmp_path / "keys.json"
    made = [new_key(path, name) for name in ("a", "b", "a")]
    assert len(set(made)) == 3 and all(len(key) == 47 for key in made)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not any(key[4:] in path.read_text() for key in made)
    ring = KeyRing(path)
    assert [ring.tenant_of(key) for key in made] == ["a", "b", "a"]
    for wrong in ("", made[0][:-1], made[0] + "x", made[0].upper(), "\ud800", "x" * 10**6):
        assert ring.tenant_of(wrong) is None


def test_two_tenants_can_differ_in_protector_and_ceiling(tmp_path):
    path = tmp_path / "keys.json"
    new_key(path, "a", protector=tmp_path / "p", ceiling=3.0)
    new_key(path, "a")  # a second key leaves what is set
    new_key(path, "b")
    tenants = read_keys(path).tenants
    assert tenants["a"].ceiling == 3.0 and tenants["a"].protector == (tmp_path / "p").resolve()
    assert tenants["b"].ceiling is None and tenants["b"].protector is None


@pytest.mark.parametrize("name", ["", "../x", "A", "a b", "x" * 65, "-a", "a/b"])
def test_a_tenants_name_is_safe_as_a_file_name(tmp_path, name):
    with pytest.raises(InputError, match="tenant's name"):
        new_key(tmp_path / "keys.json", name)
    assert not (tmp_path / "keys.json").exists()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"version": 2}',
        '{"version": 1}',
        '{"version": 1, "tenants": {}, "keys": [{"tenant": "a", "sha256": "00"}]}',
        '{"version": 1, "tenants": {}, "keys": [{"tenant": "../a", "sha256": "%s"}]}' % ("00" * 32),
        '{"version": 1, "tenants": {"a": {"ceiling": -1}}, "keys": []}',
    ],
)
def test_a_bad_keys_file_is_refused(tmp_path, content):
    path = tmp_path / "keys.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="keys file"):
        read_keys(path)


def test_a_keys_file_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "keys.json"
    new_key(path, "a")
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        read_keys(path)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "gateway.example", "127.0.0.1.example", ""])
def test_without_keys_only_loopback(host, tmp_path):
    assert not is_loopback(host)
    with pytest.raises(InputError, match="--new-key"):
        GatewaySettings(protector=tmp_path, host=host)
    GatewaySettings(protector=tmp_path, host=host, keys=tmp_path / "keys.json")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost", "LOCALHOST", "::ffff:127.0.0.1"]
)
def test_loopback_is_recognised(host, tmp_path):
    assert is_loopback(host)
    GatewaySettings(protector=tmp_path, host=host)


def test_settings_travel_through_the_environment(tmp_path):
    made = GatewaySettings(
        protector=tmp_path, keys=tmp_path / "k", ceiling=2.5, console=False, threads=3, upstream="http://a/v1",
        upstream_model="m", same_encoder=True, timeout=1.5, host="0.0.0.0",
    )  # fmt: skip
    assert GatewaySettings.from_environment(made.to_environment()) == made
    plain = GatewaySettings(protector=Path("x"))
    assert GatewaySettings.from_environment(plain.to_environment()) == plain


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "must name a protector"),
        ({"PROTECTOR": "x", "PORT": "many"}, "SFUMATO_SERVE_PORT"),
        ({"PROTECTOR": "x", "CONSOLE": "maybe"}, "SFUMATO_SERVE_CONSOLE"),
        ({"PROTECTOR": "x", "TLS_CERT": "c"}, "--tls-key"),
        ({"PROTECTOR": "x", "UPSTREAM": "http://a"}, "model's name"),
        ({"PROTECTOR": "x", "THREADS": "0"}, "threads"),
        ({"PROTECTOR": "x", "HOST": "0.0.0.0"}, "Without keys"),
    ],
)
def test_bad_settings_are_refused_in_one_line(variables, words):
    with pytest.raises((InputError, ParameterError), match=words) as caught:
        GatewaySettings.from_environment(
            {f"SFUMATO_SERVE_{name}": value for name, value in variables.items()}
        )
    assert "\n" not in str(caught.value) and "many" not in json.dumps(str(caught.value))
