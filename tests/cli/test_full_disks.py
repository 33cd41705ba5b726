"""Places that cannot be written to are found out before the work, and a disk that fills up loses nothing."""

from __future__ import annotations

import json
import resource
import shutil
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_main import as_program, sfumato
from tests.test_protector import PLACES, sentences

from sfumato import files
from sfumato.cli import audited
from sfumato.cli.output import kept_elsewhere
from sfumato.errors import ArtifactError
from sfumato.files import require_room, write_atomic

Disk = namedtuple("Disk", "total used free")
WORK = [
    ("learn", "notes.txt", "--terms", "places.txt", "-o", "p"),
    ("protect", "v.npy", "--mechanism", "laplace", "--epsilon", "9", "-o", "o.npy"),
    ("audit", "notes.txt", "--terms", "places.txt", "--embeddings", "v.npy", "-o", "r.html"),
    ("audit", "notes.txt", "--terms", "places.txt", "--embeddings", "v.npy", "--json", "r.json"),
    ("attack", "notes.txt", "--attack", "tokens", "--terms", "places.txt", "--save", "s"),
    ("attack", "notes.txt", "--attack", "tokens", "--terms", "places.txt", "--json", "a.json"),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "notes.txt").write_text("\n".join(sentences(60)))
    (tmp_path / "places.txt").write_text("\n".join(PLACES))
    np.save(tmp_path / "v.npy", np.eye(60, 32, dtype=np.float32) + 0.01)
    return tmp_path


@pytest.mark.parametrize("words", WORK, ids=lambda words: f"{words[0]} {words[-2]}")
def test_a_full_disk_is_found_out_before_the_work(folder, words, monkeypatch):
    def read(*_, **__):
        raise AssertionError("the input was read before the output was looked at")

    monkeypatch.setattr(files.shutil, "disk_usage", lambda path: Disk(1 << 30, 1 << 30, 1000))
    for place in ("cli.learn", "cli.attacked", "cli.vectors", "scale.release"):
        monkeypatch.setattr(f"sfumato.{place}.read", read)
    before = sorted(folder.iterdir())
    done = sfumato(*words, cwd=folder)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "0 MiB are free" in done.stderr and sorted(folder.iterdir()) == before


def test_a_disk_that_takes_no_byte_is_found_out_by_a_program(folder):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = as_program(*WORK[0], cwd=folder, preexec_fn=small)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "Could not write" in done.stderr
    assert not list(folder.glob(".*"))


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    def refused(self, data):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.write_bytes", refused)
    with pytest.raises(ArtifactError, match="Permission denied"):
        require_room(tmp_path / "r.html")


def test_protect_knows_how_much_it_will_write(folder, monkeypatch):
    np.save(folder / "long.npy", np.ones((3000, 2000), np.float32) / 50)
    monkeypatch.setattr(files.shutil, "disk_usage", lambda path: Disk(1 << 30, 0, 40 << 20))
    words = ("protect", "long.npy", "--mechanism", "laplace", "--noise-ratio", "0.5", "-o", "o.npy")
    done = sfumato(*words, cwd=folder)
    assert done.returncode == 2 and "about 45 MiB are needed and 40 MiB are free" in done.stderr


def test_a_disk_that_fills_up_meanwhile_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(audited, "audit_page", lambda found: "<p>a page</p>")
    full = tmp_path / "gone"
    results = [(full / "r.html", lambda: "<p>a page</p>"), (tmp_path / "a.json", lambda: "{}")]
    with pytest.raises(ArtifactError, match="It was kept at `(.*)`") as caught:
        audited._write(results)
    assert (tmp_path / "a.json").read_text() == "{}"
    kept = str(caught.value).split("`")[-2]
    assert Path(kept).read_text() == "<p>a page</p>"
    shutil.rmtree(Path(kept).parent)


def test_where_nothing_can_be_kept_the_first_error_stands(tmp_path):
    def fails(other):
        raise OSError(28, "No space left on device")

    with pytest.raises(ArtifactError, match="no folder"), kept_elsewhere(tmp_path / "x", fails):
        write_atomic(tmp_path / "no" / "x", json.dumps({}).encode())
