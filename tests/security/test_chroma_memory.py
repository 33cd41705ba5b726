"""What Chroma writes out of this process's memory into a new graph does not stay there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato.randomness import generator
from sfumato.stores import open_store
from sfumato.stores.kinds import chroma
from sfumato.stores.kinds.chroma_folder import clear_room

pytest.importorskip("chromadb")
pytestmark = pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")

ROWS, DIM = 60, 8
VECTORS = generator(5).standard_normal((1500, DIM)).astype(np.float32)
IDS = [f"row {row}" for row in range(1500)]
SECRET = b"a text of another collection"


def parts(folder):
    """The two files of the only graph that are written before there are rows in it."""
    (header,) = Path(folder).glob("*/header.bin")
    return header.parent / "data_level0.bin", header.parent / "length.bin"


def dirty(folder):
    """Have the room of the graph hold what the allocator may have left in it."""
    for part in parts(folder):
        size = part.stat().st_size
        part.write_bytes((SECRET * size)[:size])


def clean(folder):
    """Whether the room of the graph holds nothing."""
    return not any(part.read_bytes().strip(b"\0") for part in parts(folder))


def test_memory_that_was_written_out_is_overwritten_when_the_folder_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(chroma, "clear_room", lambda folder: (dirty(folder), clear_room(folder)))
    with open_store(f"chroma:{tmp_path}#notes") as store:
        store.add(IDS[:ROWS], VECTORS[:ROWS])
    assert clean(tmp_path)
    with open_store(f"chroma:{tmp_path}#notes") as store:
        assert [hits[0].id for hits in store.search(VECTORS[:ROWS], 1)] == IDS[:ROWS]
    assert clean(tmp_path)


def test_nothing_is_overwritten_while_somebody_has_the_folder_open(tmp_path):
    with open_store(f"chroma:{tmp_path}#notes") as store:
        store.add(IDS[:ROWS], VECTORS[:ROWS])
        with open_store(f"chroma:{tmp_path}#notes") as reader:
            dirty(tmp_path)
            assert len(reader) == ROWS
        assert not clean(tmp_path)
    assert clean(tmp_path)


def test_a_graph_that_is_full_of_rows_stays_as_it_is(tmp_path):
    with open_store(f"chroma:{tmp_path}#notes") as store:
        for start in range(0, 1500, 100):
            store.add(IDS[start : start + 100], VECTORS[start : start + 100])
    before = [part.read_bytes() for part in parts(tmp_path)]
    assert len(before[1]) >= 4 * 1000 and clear_room(tmp_path) == 0
    assert [part.read_bytes() for part in parts(tmp_path)] == before
    with open_store(f"chroma:{tmp_path}#notes") as store:
        assert [hits[0].id for hits in store.search(VECTORS[:200], 1)] == IDS[:200]


def test_what_is_laid_out_otherwise_is_left_alone(tmp_path):
    with open_store(f"chroma:{tmp_path}#notes") as store:
        store.add(IDS[:30], VECTORS[:30])
    dirty(tmp_path)
    (header,) = tmp_path.glob("*/header.bin")
    good = header.read_bytes()
    later, overfull = b"\x02" + good[1:], good[:20] + b"\xff" * 8 + good[28:]
    for bad in (later, overfull, good[:28] + b"\x07" + good[29:], good[:40], b""):
        header.write_bytes(bad)
        assert clear_room(tmp_path) == 0
    header.write_bytes(good)
    assert clear_room(tmp_path) == sum(part.stat().st_size for part in parts(tmp_path))
    assert clean(tmp_path)


@pytest.mark.parametrize("way", ["link", "second name", "folder"])
def test_a_link_that_came_while_the_folder_was_open_leads_to_no_file_of_others(way, tmp_path):
    victim, place = tmp_path / "victim", tmp_path / "db"
    with open_store(f"chroma:{place}#notes") as store:
        store.add(IDS[:ROWS], VECTORS[:ROWS])
        part, length = parts(place)
        victim.mkdir()
        for each in (part, length, part.parent / "header.bin"):
            (victim / each.name).write_bytes(each.read_bytes())
        (victim / part.name).write_bytes(kept := b"x" * part.stat().st_size)
        if way == "folder":
            (place / "beside").symlink_to(victim)
        else:
            part.unlink()
            (part.symlink_to if way == "link" else part.hardlink_to)(victim / part.name)
    assert (victim / part.name).read_bytes() == kept
