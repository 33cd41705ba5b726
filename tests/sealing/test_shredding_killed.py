"""An erasure killed at any step has happened or has not, and is ended by whoever comes next."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.erasure.shredding import Shredder

# Numerical libraries keep idle threads, of which Python 3.12 and later warn at every fork.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

KEY = SealingKey(bytes(range(32)))
ROWS = [f"row {number}" for number in range(60)]
GONE, KEPT = ROWS[::6], [row for row in ROWS if row not in ROWS[::6]]
CALLS = "open close mkdir fsync rename replace unlink pwrite ftruncate chmod stat listdir".split()


def killed_before(call: int, work: Callable[[], object]) -> bool:
    """Run `work` in a process that is killed before its n-th call to the system; whether it was."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
        return os.WIFSIGNALED(status)
    code = 1
    try:
        left = call

        def counted(name: str) -> Callable[..., object]:
            plain = getattr(os, name)

            def one(*args: object, **options: object) -> object:
                nonlocal left
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                return plain(*args, **options)

            return one

        for name in CALLS:
            setattr(os, name, counted(name))
        work()
        code = 0
    finally:
        os._exit(code)


def steps(start: Path, folder: Path, work: Callable[[], object]) -> Iterator[int]:
    """The folder as it is when `work` is killed before its first call, its second and so on to the end."""
    for call in range(1, 400):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        was_killed = killed_before(call, work)
        yield call
        if not was_killed:
            return
    raise AssertionError("it never came to an end")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Without waiting for the disk: a kill takes nothing back that was written, synced or not."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def start(tmp_path):
    folder = tmp_path / "start"
    salts = Shredder.open(folder, KEY).salts(ROWS)
    return folder, dict(zip(ROWS, salts, strict=True)), (folder / "shred-root-1").read_bytes()


def settled(folder: Path, salts: dict[str, bytes], old_root: bytes) -> bool:
    """Check a folder that was opened after a kill; whether the erasure has happened."""
    shredder = Shredder.open(folder, KEY)
    assert shredder.find(KEPT) == [salts[row] for row in KEPT]
    found = shredder.find(GONE)
    assert found in ([salts[row] for row in GONE], [None] * len(GONE))
    happened = found[0] is None
    assert [record.count for record in shredder.erasures] == [len(GONE)] * happened
    generation = 2 if happened else 1
    assert sorted(os.listdir(folder)) == [f"salts-{generation}", "salts.lock", f"shred-root-{generation}"]
    assert happened != any(old_root in path.read_bytes() for path in folder.iterdir())
    return happened


def test_an_erasure_killed_at_any_step_has_happened_or_not(start, tmp_path):
    before, salts, old_root = start
    folder = tmp_path / "folder"
    seen = []
    for _ in steps(before, folder, lambda: Shredder.open(folder, KEY).shred(GONE)):
        seen.append(settled(folder, salts, old_root))
        shredder = Shredder.open(folder, KEY)
        assert shredder.shred(GONE).count == (0 if seen[-1] else len(GONE))
        assert shredder.find(GONE) == [None] * len(GONE)
        assert [record.count for record in shredder.erasures] == [len(GONE)]
        (new,) = shredder.salts(["new"])
        assert Shredder.open(folder, KEY).find(["new", *KEPT]) == [new, *(salts[row] for row in KEPT)]
    assert seen == sorted(seen) and not seen[0] and seen[-1] and 10 < len(seen)
    assert seen.count(True) > 5  # killed after it had happened, too


def test_ending_a_killed_erasure_may_be_killed_as_well(start, tmp_path):
    before, salts, old_root = start
    half, folder = tmp_path / "half", tmp_path / "folder"
    tried, known = 0, set()
    for _ in steps(before, half, lambda: Shredder.open(half, KEY).shred(GONE)):
        left = frozenset(
            (re.sub("[0-9a-f]{16}", "", path.name), path.stat().st_size, any(path.read_bytes()[:32]))
            for path in half.iterdir()
        )
        if len(left) <= 3 or left in known:
            continue  # nothing was left half done, or just as much as before
        known.add(left)
        shutil.copytree(half, tmp_path / "left", dirs_exist_ok=False)
        outcomes = set()
        for _ in steps(tmp_path / "left", folder, lambda: Shredder.open(folder, KEY)):
            outcomes.add(settled(folder, salts, old_root))
            tried += 1
        assert len(outcomes) == 1  # what has happened does not depend on who ends it
        shutil.rmtree(tmp_path / "left")
    # Salts half and whole, root half and whole, old root overwritten and gone.
    assert len(known) >= 6 and tried > 10 * len(known)


def test_a_reader_that_was_there_ends_a_killed_erasure(start, tmp_path):
    """Whoever has the folder open must not add to salts that are no longer the present ones."""
    before, salts, old_root = start
    folder = tmp_path / "folder"
    shutil.copytree(before, folder)
    for call in range(1, 400):
        for path in folder.iterdir():
            path.unlink()
        shutil.copytree(before, folder, dirs_exist_ok=True)
        reader = Shredder.open(folder, KEY)
        was_killed = killed_before(call, lambda: Shredder.open(folder, KEY).shred(GONE))
        (new,) = reader.salts(["new"])
        after = Shredder.open(folder, KEY)
        assert after.find(["new", *KEPT]) == [new, *(salts[row] for row in KEPT)]
        assert reader.find(GONE) == after.find(GONE)
        if not was_killed:
            break
    assert after.find(GONE) == [None] * len(GONE)


def test_a_first_opening_killed_at_any_step_loses_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    folder = tmp_path / "folder"
    for _ in steps(tmp_path / "empty", folder, lambda: Shredder.open(folder, KEY)):
        salts = Shredder.open(folder, KEY).salts(ROWS)
        assert Shredder.open(folder, KEY).find(ROWS) == salts
        assert sorted(os.listdir(folder)) == ["salts-1", "salts.lock", "shred-root-1"]


def test_salts_that_were_handed_out_survive_a_kill_at_any_step(start, tmp_path):
    before, salts, _ = start
    folder, told = tmp_path / "folder", tmp_path / "told"

    def work() -> None:
        shredder = Shredder.open(folder, KEY)
        with open(told, "wb", buffering=0) as file:
            for number in range(3):
                file.write(shredder.salts([f"new {number}"])[0])

    for _ in steps(before, folder, work):
        handed = told.read_bytes() if told.exists() else b""
        names = [f"new {number}" for number in range(len(handed) // 32)]
        found = Shredder.open(folder, KEY).find([*names, *ROWS])
        assert b"".join(found[: len(names)]) == handed and found[len(names) :] == [*salts.values()]
        told.unlink(missing_ok=True)


def test_kills_at_any_moment(start, tmp_path):
    """By the clock, in the middle of whatever it is doing; the salts that were there stay."""
    before, salts, _ = start
    folder = tmp_path / "folder"
    shutil.copytree(before, folder)
    chance = random.Random(4)
    for round_ in range(25):
        victims = [f"victim {round_} {number}" for number in range(2000)]
        before_it = len(Shredder.open(folder, KEY).erasures)
        child = os.fork()
        if not child:
            try:
                shredder = Shredder.open(folder, KEY)
                shredder.salts(victims)
                for part in range(0, 2000, 500):
                    shredder.shred(victims[part : part + 500])
            finally:
                os._exit(0)
        time.sleep(chance.random() * 0.15)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        shredder = Shredder.open(folder, KEY)
        assert shredder.find(ROWS) == [*salts.values()] and len(os.listdir(folder)) == 3
        records = shredder.erasures[before_it:]
        if records:  # then all salts had been made
            gone = 500 * len(records)
            assert {record.count for record in records} == {500}
            there = [salt is not None for salt in shredder.find(victims)]
            assert there == [False] * gone + [True] * (2000 - gone)
        shredder.shred(victims)
        assert len(shredder) == len(ROWS)


def test_the_old_root_goes_only_when_everything_new_is_on_the_disk(start, tmp_path, monkeypatch):
    """The order in which the disk is told: a machine that stops keeps what was synced, and no more."""
    before, _, _ = start
    shredder = Shredder.open(before, KEY)
    told: list[tuple[str, str]] = []

    def name(of: object) -> str:
        path = os.readlink(f"/proc/self/fd/{of}") if isinstance(of, int) else os.fspath(of)
        if os.path.isdir(path):
            return "folder"
        first, _, half = os.path.basename(path).lstrip(".").partition(".")
        return f"half {first}" if half else first

    for call in ("fsync", "rename", "replace", "unlink", "pwrite"):
        plain = getattr(os, call)

        def noted(*args, plain=plain, call=call):
            told.append((call, name(args[0])))
            return plain(*args)

        monkeypatch.setattr(os, call, noted)
    shredder.shred(GONE)
    assert told == [
        ("fsync", "half salts-2"),
        ("replace", "half salts-2"),
        ("fsync", "folder"),
        ("unlink", "half salts-2"),  # it has its name by now
        ("fsync", "half shred-root-2"),
        ("rename", "half shred-root-2"),
        ("fsync", "folder"),
        ("pwrite", "shred-root-1"),
        ("fsync", "shred-root-1"),
        ("unlink", "shred-root-1"),
        ("fsync", "folder"),
        ("unlink", "salts-1"),
        ("fsync", "folder"),
    ]
