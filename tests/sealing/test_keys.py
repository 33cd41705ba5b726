"""A sealing key lies in a closed file, leaves it only as subkeys, and is told from any other key."""

from __future__ import annotations

import copy
import os
import pickle
import stat
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sfumato.errors import InputError, ParameterError, RandomnessError
from sfumato.sealing import Envelope, SealingKey

KEY = bytes(range(100, 132))


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def test_a_subkey_is_hkdf_of_length_prefixed_names():
    info = b"".join(
        len(part).to_bytes(4, "big") + part
        for part in (b"sfumato sealing", b"seal", b"acme", "nötes".encode())
    )
    expected = HKDF(SHA512(), 32, salt=None, info=info).derive(KEY)
    assert SealingKey(KEY).derive("seal", "acme", "nötes") == expected


def test_no_two_purposes_or_contexts_share_a_subkey():
    key = SealingKey(KEY)
    purposes = ("seal", "address", "id", "name", "state", "check")
    contexts = ((), ("",), ("", ""), ("ab",), ("a", "b"), ("b", "a"), ("\0\0\0\1a",), ("\ud800",))
    subkeys = {key.derive(purpose, *context) for purpose in purposes for context in contexts}
    assert len(subkeys) == len(purposes) * len(contexts)
    assert all(len(each) == 32 and each != KEY for each in subkeys)
    assert not subkeys & {SealingKey(KEY[::-1]).derive(each) for each in purposes}


def test_an_unknown_purpose_is_refused():
    with pytest.raises(ParameterError, match="seal, address"):
        SealingKey(KEY).derive("sael")


@pytest.mark.parametrize("key", [b"", KEY[:31], KEY + b"x", "k" * 32, bytearray(KEY), None])
def test_a_key_of_another_size_or_type_is_refused(key):
    with pytest.raises(ParameterError, match="exactly 32 bytes"):
        SealingKey(key)


def test_the_fingerprint_names_the_key_and_is_no_part_of_it():
    key = SealingKey(KEY)
    assert len(key.fingerprint) == 16 and int(key.fingerprint, 16)
    assert key.fingerprint == SealingKey(KEY).fingerprint != SealingKey(KEY[::-1]).fingerprint
    assert key.fingerprint not in KEY.hex()


@pytest.mark.parametrize("holder", [SealingKey(KEY), Envelope(KEY)])
def test_nothing_shows_copies_or_pickles_a_key(holder):
    for text in (repr(holder), str(holder), repr([holder])):
        assert KEY.hex() not in text and repr(KEY) not in text
    assert not hasattr(holder, "__dict__")
    for carry in (copy.copy, copy.deepcopy, pickle.dumps, lambda each: pickle.dumps([each], 0)):
        with pytest.raises(RandomnessError, match="cannot be copied or pickled"):
            carry(holder)


def test_a_new_file_is_closed_to_others_and_opens_as_the_same_key(tmp_path):
    path = tmp_path / "key"
    old = os.umask(0)
    try:
        made = SealingKey.create(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SealingKey.load(path).derive("seal") == made.derive("seal")
    assert SealingKey.open(str(path)).fingerprint == made.fingerprint
    assert os.listdir(tmp_path) == ["key"]


def test_create_refuses_an_existing_file_and_leaves_it(tmp_path):
    path = tmp_path / "key"
    SealingKey.create(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="must be new"):
        SealingKey.create(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["key"]


def test_keys_differ():
    assert len({SealingKey(os.urandom(32)).fingerprint for _ in range(50)}) == 50


def test_two_files_hold_two_keys(tmp_path):
    assert SealingKey.create(tmp_path / "a").fingerprint != SealingKey.create(tmp_path / "b").fingerprint


def test_racing_openers_agree_on_one_key(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: SealingKey.open(tmp_path / "key").fingerprint, range(64)))
    assert len(set(made)) == 1 and os.listdir(tmp_path) == ["key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620, 0o602])
def test_a_file_open_to_others_is_refused(mode, tmp_path):
    path = tmp_path / "key"
    SealingKey.create(path)
    path.chmod(mode)
    for read in (SealingKey.load, SealingKey.open):
        with pytest.raises(InputError, match=f"Found mode {mode:04o}"):
            read(path)


def damaged(line: bytes) -> dict[str, bytes]:
    header, digits, checksum = line.split()
    flipped = (b"0" if digits[:1] != b"0" else b"1") + digits[1:]
    return {
        "empty": b"",
        "raw": KEY,
        "hex alone": digits,
        "short": b" ".join((header, digits[:-2], checksum)),
        "long": b" ".join((header, digits + b"00", checksum)),
        "one digit changed": b" ".join((header, flipped, checksum)),
        "no checksum": b" ".join((header, digits)),
        "another version": b" ".join((header.replace(b"-1", b"-2"), digits, checksum)),
        "two lines": line + line,
        "not text": b"\xff" * 64,
        "huge": line.strip() + b" " * 5000 + b"x",
    }


@pytest.mark.parametrize("damage", damaged(b"h 00 1"))
def test_a_damaged_file_is_refused_in_one_line_and_never_replaced(damage, tmp_path):
    path = tmp_path / "key"
    SealingKey.create(path)
    line = path.read_bytes()
    content = damaged(line)[damage]
    path.write_bytes(content)
    for read in (SealingKey.load, SealingKey.open):
        with pytest.raises(InputError) as caught:
            read(path)
        assert len(str(caught.value).splitlines()) == 1
        assert line.split()[1].decode()[2:40] not in shown(caught.value)
    assert path.read_bytes() == content


def test_folders_pipes_dangling_links_and_missing_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("absent", "pipe", "link"):
        with pytest.raises(InputError):
            SealingKey.load(tmp_path / name)
    for name in ("pipe", "link", "no/folder"):
        with pytest.raises(InputError):
            SealingKey.open(tmp_path / name)
    with pytest.raises(InputError):
        SealingKey.load(tmp_path)
    assert not (tmp_path / "nowhere").exists()


def test_a_path_of_any_length_is_a_path(tmp_path, monkeypatch):
    """Also where it has as many characters, and such characters, as 32 bytes in base64."""
    monkeypatch.chdir(tmp_path)
    for length in (43, 44, 63):
        made = SealingKey.create("k" * length)
        assert made.fingerprint == SealingKey.load("k" * length).fingerprint


def test_a_key_given_as_a_path_is_not_shown(tmp_path):
    SealingKey.create(tmp_path / "key")
    line = (tmp_path / "key").read_text()
    for given in (line, line.split()[1]):
        with pytest.raises(InputError, match="looks like a key itself") as caught:
            SealingKey.load(given)
        assert line.split()[1] not in shown(caught.value)


def test_a_copy_is_confirmed_and_another_key_or_the_file_itself_is_not(tmp_path):
    key = SealingKey.create(tmp_path / "key")
    (tmp_path / "copy").write_bytes((tmp_path / "key").read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / "copy").chmod(0o600)
    key.confirm(tmp_path / "copy")
    SealingKey.load(tmp_path / "copy").confirm(tmp_path / "key")
    SealingKey.create(tmp_path / "other")
    with pytest.raises(InputError, match=key.fingerprint):
        key.confirm(tmp_path / "other")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    os.link(tmp_path / "key", tmp_path / "twin")
    for same in ("key", "link", "twin"):
        with pytest.raises(InputError, match="itself"):
            key.confirm(tmp_path / same)
    (tmp_path / "copy").chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        key.confirm(tmp_path / "copy")
