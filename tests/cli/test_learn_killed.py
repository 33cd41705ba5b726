"""`sfumato learn` that is killed: what was embedded is kept, privately, and the next run goes on with it."""

from __future__ import annotations

import re
import stat

import pytest
from tests.cli.test_main import sfumato
from tests.test_protector import PLACES, sentences

from sfumato.cli import progress
from sfumato.embedders import cache
from sfumato.embedders.fake import Fake

SECRET = "Zanzibar"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_FIRST", 20)
    monkeypatch.setattr(cache, "_MOST", 20)
    texts = [f"{text} {SECRET}" for text in sentences(200)]
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    (tmp_path / "places.txt").write_text("\n".join(PLACES) + "\n")
    return tmp_path


@pytest.fixture
def embedded(monkeypatch):
    """The texts that were embedded; `left` says after how many the run is interrupted."""
    plain = Fake.embed

    class Seen(list):
        left = None

    seen = Seen()

    def embed(self, texts, *, on_batch=None):
        if seen.left is not None and len(seen) >= seen.left:
            raise KeyboardInterrupt
        seen.extend(texts)
        return plain(self, texts, on_batch=on_batch)

    monkeypatch.setattr(Fake, "embed", embed)
    return seen


def learn(folder, out, *more):
    given = ("learn", "texts.txt", "--terms", "places.txt", "--embedder", "fake:32", "-o", out, *more)
    return sfumato(*given, cwd=folder)


def protector(folder, name):
    return {path.name: path.read_bytes() for path in (folder / name).iterdir()}


def test_a_killed_run_goes_on_and_learns_the_same(folder, embedded):
    assert learn(folder, "whole").returncode == 0
    all_of_them = len(embedded)
    assert len(set(embedded)) == all_of_them
    embedded.clear()
    embedded.left = 100
    assert learn(folder, "killed").returncode not in (0, 2)
    place, first = folder / ".killed.learning", list(embedded)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700 and not (folder / "killed").exists()
    for path in place.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and SECRET.encode() not in path.read_bytes()
    embedded.clear()
    embedded.left = None
    assert learn(folder, "killed").returncode == 0
    assert len(first) == 100 and len(embedded) == all_of_them - 100 and not set(embedded) & set(first)
    assert protector(folder, "killed") == protector(folder, "whole") and not place.exists()


def test_a_cache_that_was_named_stays(folder, embedded):
    assert learn(folder, "one", "--cache", "kept").returncode == 0
    assert {path.name for path in (folder / "kept").iterdir()} == {"key", "vectors.sqlite"}
    embedded.clear()
    assert learn(folder, "two", "--cache", "kept", "--strength", "7").returncode == 0
    assert not embedded
    (folder / "kept").chmod(0o755)
    done = learn(folder, "three", "--cache", "kept")
    assert done.returncode == 2 and "chmod 700" in done.stderr and done.stderr.count("\n") == 1


def test_what_is_refused_leaves_nothing(folder):
    (folder / "places.txt").write_text("Atlantis\n")
    done = learn(folder, "none")
    assert done.returncode == 2
    assert sorted(path.name for path in folder.iterdir()) == ["places.txt", "texts.txt"]


def test_a_log_is_told_how_much_is_done_and_left(folder, monkeypatch, embedded):
    monkeypatch.setattr(progress, "FIRST_LINE", 0.0)
    monkeypatch.setattr(progress, "LONGEST_PAUSE", 0.0)
    done = learn(folder, "logged")
    assert done.returncode == 0
    told = re.findall(r"sfumato: learning: (\d+) of (\d+), after \d+ s, about [\d,]+ s to go", done.stderr)
    assert told and {int(total) for _, total in told} == {len(embedded)}
    assert "?" not in done.stderr and SECRET not in done.stderr
