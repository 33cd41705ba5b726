from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from sfumato import files
from sfumato.artifacts import CONFIG, TENSORS, load, save
from sfumato.errors import ArtifactError
from sfumato.files import atomic_file, write_atomic


def example() -> dict[str, np.ndarray]:
    return {"mask": np.linspace(0.5, 1.0, 96), "index": np.arange(7)}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save(tmp_path / "mask", "mask", {"old": True}, example())
    return tmp_path / "mask"


def test_disk_full_at_every_step_leaves_the_old_artifact(saved, monkeypatch):
    before = load(saved, "mask").digest
    for step in range(1, 40):
        calls = 0

        def failing(real, step=step):
            def call(*arguments, **options):
                nonlocal calls
                calls += 1
                if calls == step:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return real(*arguments, **options)

            return call

        with monkeypatch.context() as patch:
            for name in ("fsync", "rename", "mkdir", "chmod"):
                patch.setattr(os, name, failing(getattr(os, name)))
            patch.setattr(Path, "write_bytes", failing(Path.write_bytes))
            try:
                save(saved, "mask", {"new": step}, example())
            except ArtifactError as error:
                assert "No space left on device" in str(error)
            if calls < step:
                break
        assert saved.is_dir()
        found = load(saved, "mask")
        # The last sync comes after the new artifact is in place.
        assert found.digest == before or found.config == {"new": step}
        before = found.digest
        assert [path.name for path in saved.parent.iterdir() if ".new-" in path.name] == []
    assert 6 < step < 39
    assert load(saved, "mask").config == {"new": step}
    assert [path.name for path in saved.parent.iterdir()] == ["mask"]


@pytest.fixture
def full_disk():
    """A real limit of the operating system on the size of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_real_write_errors_leave_what_was_there(tmp_path, full_disk):
    save(tmp_path / "a", "mask", {"old": True}, {})
    write_atomic(tmp_path / "file", b"old")
    with pytest.raises(ArtifactError, match="File too large"):
        save(tmp_path / "a", "mask", {}, {"big": np.zeros(10_000)})
    with pytest.raises(ArtifactError, match="File too large"):
        write_atomic(tmp_path / "file", bytes(10_000))
    assert load(tmp_path / "a", "mask").config == {"old": True}
    assert (tmp_path / "file").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "file"]


def test_no_permission_is_one_clear_line(saved, monkeypatch):
    def refuse(*_arguments, **_options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(files.os, "open", refuse)
    with pytest.raises(ArtifactError, match="Could not write .*: Permission denied"):
        save(saved, "mask", {}, {})
    with pytest.raises(ArtifactError, match="Could not write .*: Permission denied"):
        write_atomic(saved / "x", b"")
    with pytest.raises(ArtifactError, match="Could not read .*: Permission denied"):
        load(saved, "mask")


def test_everything_is_synced_before_it_is_renamed(saved, monkeypatch):
    events = []
    real_sync, real_rename = files._sync, os.rename
    monkeypatch.setattr(files, "_sync", lambda path: (events.append(path.name), real_sync(path)))
    monkeypatch.setattr(os, "rename", lambda a, b: (events.append("rename"), real_rename(a, b)))
    save(saved, "mask", {}, {})
    assert events[0:2] == [TENSORS, CONFIG]
    assert events[2].startswith(".mask.new-")
    assert events[3:] == ["rename", "rename", saved.parent.name]


# A killed process


def in_child(action) -> int:
    """Run `action` in a forked child and give the child's process id."""
    child = os.fork()
    if child:
        return child
    try:
        action()
    finally:
        os._exit(0)


def seal_is_whole(folder: Path, kind: str = "mask") -> bool:
    """Whether the folder under its final name, with no recovery, is absent or complete."""
    if not folder.exists():
        return True
    alone = folder.parent / "alone" / folder.name
    shutil.copytree(folder, alone)
    try:
        load(alone, kind)
    except ArtifactError:
        return False
    finally:
        shutil.rmtree(alone.parent)
    return True


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_killed_at_fifty_random_points(tmp_path):
    folder = tmp_path / "mask"
    versions = {save(tmp_path / f"v{v}", "mask", {"v": v}, {"a": np.full(5000, v)}) for v in range(4)}

    def save_for_ever():
        for turn in range(1_000_000):
            save(folder, "mask", {"v": turn % 4}, {"a": np.full(5000, turn % 4)})

    rng = random.Random(3)
    for round_number in range(50):
        child = in_child(save_for_ever)
        end = time.monotonic() + rng.uniform(0.002, 0.02)
        while round_number and time.monotonic() < end:
            assert load(folder, "mask").digest in versions  # while it is being replaced
        while not folder.exists():
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert seal_is_whole(folder)
        assert load(folder, "mask").digest in versions
    save(folder, "mask", {"v": 0}, {"a": np.full(5000, 0)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mask", "v0", "v1", "v2", "v3"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("there_before", [False, True])
def test_killed_at_every_step(tmp_path, there_before):
    folder = tmp_path / "mask"
    digests = {save(tmp_path / "new", "mask", {"v": 2}, example())}
    if there_before:
        digests.add(save(folder, "mask", {"v": 1}, example()))

    def save_until(step):
        calls = 0

        def deadly(real):
            def call(*arguments, **options):
                nonlocal calls
                calls += 1
                if calls == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments, **options)

            return call

        for name in ("fsync", "rename", "mkdir", "unlink", "rmdir", "chmod", "open", "close"):
            setattr(os, name, deadly(getattr(os, name)))
        save(folder, "mask", {"v": 2}, example())

    survived = False
    for step in range(1, 200):
        child = in_child(lambda step=step: save_until(step))
        _, status = os.waitpid(child, 0)
        assert seal_is_whole(folder)
        if there_before or folder.exists():
            assert load(folder, "mask").digest in digests
        if not os.WIFSIGNALED(status):
            survived = True
            break
    assert survived
    assert step > 10
    assert load(folder, "mask").config == {"v": 2}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mask", "new"]


def test_what_a_kill_left_aside_is_read_and_later_cleared(saved):
    before = load(saved, "mask").digest
    saved.rename(saved.with_name(".mask.old"))
    shutil.copytree(saved.with_name(".mask.old"), saved.with_name(".mask.new-0123456789abcdef"))
    assert load(saved, "mask").digest == before
    save(saved, "mask", {"new": 1}, {})
    assert [path.name for path in saved.parent.iterdir()] == ["mask"]
    # An old folder beside a damaged one must not stand in for it.
    shutil.copytree(saved, saved.with_name(".mask.old"))
    (saved / TENSORS).unlink()
    with pytest.raises(ArtifactError, match="missing"):
        load(saved, "mask")


# Plain files


def test_write_atomic(tmp_path):
    write_atomic(tmp_path / "file", b"one")
    write_atomic(tmp_path / "file", b"two")
    assert (tmp_path / "file").read_bytes() == b"two"
    write_atomic(tmp_path / "secret", b"key", permissions=0o600)
    write_atomic(tmp_path / "secret", b"another")
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "secret"]


def test_a_missing_folder_is_refused_and_not_made(tmp_path):
    with pytest.raises(ArtifactError, match=r"there is no folder `.*new`. Make it, or choose another place"):
        write_atomic(tmp_path / "new" / "file", b"one")
    (tmp_path / "link").symlink_to(tmp_path / "new" / "file")
    with pytest.raises(ArtifactError, match="there is no folder"):
        write_atomic(tmp_path / "link", b"one")
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_atomic_file_appears_only_at_the_end(tmp_path):
    with atomic_file(tmp_path / "file") as handle:
        handle.write(b"half")
        assert not (tmp_path / "file").exists()
    assert (tmp_path / "file").read_bytes() == b"half"
    with atomic_file(tmp_path / "file") as handle:
        handle.write(b"whole")
        handle.close()
    assert (tmp_path / "file").read_bytes() == b"whole"


@pytest.mark.parametrize("error", [KeyError("x"), KeyboardInterrupt(), FileNotFoundError(2, "input.csv")])
def test_atomic_file_lets_an_error_through_and_leaves_nothing(tmp_path, error):
    write_atomic(tmp_path / "file", b"old")
    with pytest.raises(type(error)) as caught, atomic_file(tmp_path / "file") as handle:
        handle.write(b"new")
        raise error
    assert caught.value is error
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_atomic_file_over_a_folder_is_refused(tmp_path):
    with pytest.raises(ArtifactError, match="Is a directory"):
        write_atomic(tmp_path, b"x")
    assert list(tmp_path.iterdir()) == []


def test_devices_and_pipes_are_written_directly(tmp_path):
    write_atomic("/dev/null", b"x")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(tmp_path / "pipe", b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_killed_while_writing_a_file(tmp_path):
    contents = [bytes([turn]) * 200_000 for turn in range(4)]
    write_atomic(tmp_path / "file", contents[0])

    def write_for_ever():
        for turn in range(1_000_000):
            write_atomic(tmp_path / "file", contents[turn % 4])

    rng = random.Random(4)
    for _ in range(25):
        child = in_child(write_for_ever)
        time.sleep(rng.uniform(0.001, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert (tmp_path / "file").read_bytes() in contents
