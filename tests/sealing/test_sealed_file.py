"""A sealed file is closed, whole, and opens in its own place alone."""

from __future__ import annotations

import os
import stat
from dataclasses import replace

import pytest

from sfumato.errors import ArtifactError, InputError
from sfumato.sealing.crypto.envelope import Bound, Envelope
from sfumato.sealing.crypto.sealed_file import read_sealed, write_sealed

ENVELOPE = Envelope(bytes(range(32)))
BOUND = Bound(tenant="acme", collection="notes", record_id="codebook", kind="state", epoch=2)


def test_it_comes_back_and_nothing_of_it_can_be_read(tmp_path):
    path = tmp_path / "codebook"
    data = b"centroid " * 1000
    old = os.umask(0)
    try:
        write_sealed(path, data, ENVELOPE, BOUND)
    finally:
        os.umask(old)
    assert read_sealed(path, ENVELOPE, BOUND) == data
    assert b"centroid" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and os.listdir(tmp_path) == ["codebook"]
    write_sealed(path, b"new", ENVELOPE, BOUND)
    assert read_sealed(path, ENVELOPE, BOUND) == b"new"


def test_another_key_place_or_content_is_refused(tmp_path):
    path = tmp_path / "codebook"
    write_sealed(path, b"data", ENVELOPE, BOUND)
    for envelope, bound in ((Envelope(bytes(32)), BOUND), (ENVELOPE, replace(BOUND, epoch=1))):
        with pytest.raises(ArtifactError, match="check the key"):
            read_sealed(path, envelope, bound)
    whole = path.read_bytes()
    for damage in (b"", whole[:-1], whole + b"x", whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(damage)
        with pytest.raises(ArtifactError, match="check the key"):
            read_sealed(path, ENVELOPE, BOUND)


def test_a_file_that_is_too_large_or_none_is_refused_unread(tmp_path):
    path = tmp_path / "codebook"
    write_sealed(path, bytes(100), ENVELOPE, BOUND)
    assert read_sealed(path, ENVELOPE, BOUND, largest=100) == bytes(100)
    with pytest.raises(ArtifactError, match="at most"):
        read_sealed(path, ENVELOPE, BOUND, largest=99)
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(tmp_path / "pipe")
    for name in ("sparse", "pipe"):
        with pytest.raises(ArtifactError, match="plain file"):
            read_sealed(tmp_path / name, ENVELOPE, BOUND)
    for name in ("absent", "."):
        with pytest.raises(InputError, match="cannot be read"):
            read_sealed(tmp_path / name, ENVELOPE, BOUND)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "counters"
    write_sealed(path, b"old", ENVELOPE, BOUND)

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(ArtifactError, match="No space"):
        write_sealed(path, b"new", ENVELOPE, BOUND)
    assert read_sealed(path, ENVELOPE, BOUND) == b"old" and os.listdir(tmp_path) == ["counters"]
