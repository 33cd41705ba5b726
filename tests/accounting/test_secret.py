"""A secret is exactly 32 bytes from a closed file or a variable, and never leaves its object."""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import os
import pickle
import stat
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from sfumato.accounting import Secret
from sfumato.errors import InputError, ParameterError, RandomnessError

KEY = bytes(range(100, 132))


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def test_generated_secrets_differ():
    assert len({Secret.generate().key_id for _ in range(50)}) == 50


def test_key_id_and_subkeys_are_what_they_claim():
    secret = Secret(KEY)
    assert secret.key_id == hashlib.sha256(b"sfumato key id\0" + KEY).hexdigest()[:16]
    assert secret.derive(b"label") == hmac.new(KEY, b"label", hashlib.sha256).digest()
    assert secret.derive(b"other") != secret.derive(b"label")


@pytest.mark.parametrize("key", [b"", KEY[:31], KEY + b"x", "k" * 32, bytearray(KEY), None])
def test_a_key_of_another_size_or_type_is_refused(key):
    with pytest.raises(ParameterError, match="exactly 32 bytes"):
        Secret(key)


@pytest.mark.parametrize("label", [b"", "label", None])
def test_a_label_must_be_bytes(label):
    with pytest.raises(ParameterError, match="label"):
        Secret(KEY).derive(label)


def test_nothing_shows_the_key():
    secret = Secret(KEY)
    for text in (repr(secret), str(secret), f"{secret}", repr([secret]), repr({"s": secret})):
        assert secret.key_id in text
        assert KEY.hex() not in text and repr(KEY) not in text
    assert not hasattr(secret, "__dict__")


@pytest.mark.parametrize("carry", [copy.copy, copy.deepcopy, pickle.dumps, lambda s: pickle.dumps([s], 0)])
def test_it_cannot_be_copied_or_pickled(carry):
    with pytest.raises(RandomnessError, match="cannot be copied or pickled"):
        carry(Secret(KEY))


@pytest.mark.parametrize(
    "form",
    [
        KEY.hex(),
        KEY.hex().upper(),
        KEY.hex() + "\n",
        base64.b64encode(KEY).decode(),
        base64.b64encode(KEY).decode().rstrip("="),
        base64.urlsafe_b64encode(KEY).decode() + "\n",
    ],
)
def test_hex_and_base64_are_read_from_variables_and_files(form, monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_SECRET", form)
    assert Secret.from_env().key_id == Secret(KEY).key_id
    path = tmp_path / "key"
    path.write_text(form)
    path.chmod(0o600)
    assert Secret.from_file(path).key_id == Secret(KEY).key_id


def test_both_base64_alphabets_are_read(monkeypatch):
    key = bytes([0xFB, 0xEF, 0xBE, *range(29)])
    for form in (base64.b64encode(key), base64.urlsafe_b64encode(key)):
        monkeypatch.setenv("KEY", form.decode())
        assert Secret.from_env("KEY").key_id == Secret(key).key_id


@pytest.mark.parametrize(
    "form", ["", "MARKER", KEY.hex()[:-2], KEY.hex() + "00", "ü" * 64, "g" * 64, "!" * 44]
)
def test_a_malformed_variable_is_refused_without_showing_it(form, monkeypatch):
    monkeypatch.setenv("SFUMATO_SECRET", form)
    with pytest.raises(InputError, match="exactly 32 bytes") as caught:
        Secret.from_env()
    assert len(str(caught.value).splitlines()) == 1
    assert not form or form not in shown(caught.value)


def test_a_placeholder_key_is_refused(monkeypatch):
    monkeypatch.setenv("SFUMATO_SECRET", "00" * 32)
    with pytest.raises(InputError, match="random bytes"):
        Secret.from_env()


def test_an_unset_variable_is_named(monkeypatch):
    monkeypatch.delenv("SFUMATO_SECRET", raising=False)
    with pytest.raises(InputError, match="SFUMATO_SECRET is not set"):
        Secret.from_env()


def test_a_file_is_made_once_with_mode_0600(tmp_path):
    path = tmp_path / "key"
    old = os.umask(0)
    try:
        first = Secret.from_file(path, create=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Secret.from_file(path).key_id == Secret.from_file(path, create=True).key_id == first.key_id
    assert os.listdir(tmp_path) == ["key"]


def test_racing_creators_agree_on_one_key(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: Secret.from_file(tmp_path / "key", create=True).key_id, range(64)))
    assert len(set(made)) == 1
    assert os.listdir(tmp_path) == ["key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620, 0o602])
def test_a_file_open_to_others_is_refused(mode, tmp_path):
    path = tmp_path / "key"
    path.write_text(KEY.hex())
    path.chmod(mode)
    with pytest.raises(InputError, match=f"Found mode {mode:04o}") as caught:
        Secret.from_file(path)
    assert KEY.hex() not in shown(caught.value)


def test_missing_files_folders_and_wrong_contents_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Secret.from_file(tmp_path / "absent")
    with pytest.raises(InputError, match="cannot be created"):
        Secret.from_file(tmp_path / "no" / "folder", create=True)
    with pytest.raises(InputError, match="cannot be read"):
        Secret.from_file(tmp_path)
    path = tmp_path / "key"
    for content in (b"", KEY, KEY.hex().encode() * 2, b"\xff" * 64):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(InputError, match="exactly 32 bytes"):
            Secret.from_file(path)
        with pytest.raises(InputError, match="exactly 32 bytes"):  # never replaced by a new key
            Secret.from_file(path, create=True)
