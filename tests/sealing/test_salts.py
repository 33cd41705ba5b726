"""The table of salts finds what was put in; its file refuses damage and leaves out what was not finished."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sfumato.errors import ArtifactError, InputError
from sfumato.sealing.crypto.envelope import Envelope
from sfumato.sealing.erasure.salt_file import SaltFile, header_alone
from sfumato.sealing.erasure.salts import SaltTable, as_rows

ENVELOPE = Envelope(bytes(range(32)))


def made(count: int) -> dict[bytes, bytes]:
    return {os.urandom(16): os.urandom(32) for _ in range(count)}


def read(path, envelope=ENVELOPE, generation=1) -> SaltTable:
    table = SaltTable()
    table.extend(SaltFile(path, envelope, generation).read_on())
    return table


def holds(table: SaltTable, salts: dict[bytes, bytes]) -> bool:
    return len(table) == len(salts) and table.find(list(salts)) == list(salts.values())


@pytest.mark.parametrize("sizes", [[1], [1, 1, 1], [5000, 3], [3, 5000], [700] * 9])
def test_a_table_is_a_dictionary(sizes):
    table, all_of_it = SaltTable(), {}
    assert table.find([]) == [] and table.find([bytes(16)]) == [None]
    for row, size in enumerate(sizes):
        part = made(size)
        all_of_it |= part
        if row % 2:
            table.extend(as_rows(part))
        else:
            table.add(part)
        assert holds(table, all_of_it)
    assert table.find([os.urandom(16) for _ in range(50)]) == [None] * 50
    gone = list(all_of_it)[::3]
    left = table.without([*gone, os.urandom(16), gone[0]])
    assert left.find(gone) == [None] * len(gone)
    assert holds(left, {each: salt for each, salt in all_of_it.items() if each not in set(gone)})
    assert holds(table, all_of_it)


def test_ids_that_end_in_zeros_are_told_apart():
    """Fixed-width byte strings of numpy drop zeros at the end when one is looked at."""
    ids = [b"\1" * length + bytes(16 - length) for length in range(17)]
    salts = {each: os.urandom(31) + b"\0" for each in ids}
    table = SaltTable()
    table.extend(as_rows(salts))
    assert holds(table, salts)


def test_the_first_salt_of_an_id_stays():
    table = SaltTable()
    table.extend(as_rows({bytes(16): b"a" * 32}))
    table.extend(as_rows({bytes(16): b"b" * 32}))
    assert table.find([bytes(16)]) == [b"a" * 32] and len(table) == 1


def test_a_row_takes_48_bytes_of_memory():
    table = SaltTable()
    table.add(made(10_000))
    ids, salts = table.rows()
    assert ids.nbytes + salts.nbytes == 48 * 10_000


@pytest.mark.parametrize("count", [0, 1, 18, 19, 20, 1000])
def test_a_file_comes_back_and_grows(count, tmp_path):
    salts = made(count)
    file = SaltFile.write(tmp_path / "salts", ENVELOPE, 1, {"note": 5}, as_rows(salts))
    assert holds(read(tmp_path / "salts"), salts) and file.notes["note"] == 5
    assert header_alone(tmp_path / "salts") == (count == 0)
    for size in (1, 30):
        more = made(size)
        file.append(as_rows(more))
        salts |= more
        assert holds(read(tmp_path / "salts"), salts)
    assert file.unchanged()
    assert os.stat(tmp_path / "salts").st_mode & 0o777 == 0o600


def test_more_rows_than_are_held_at_once_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.sealing.erasure.salt_file._AT_ONCE", 3)
    salts = made(500)
    file = SaltFile.write(tmp_path / "salts", ENVELOPE, 1, {}, as_rows(salts))
    more = made(333)
    file.append(as_rows(more))
    assert holds(read(tmp_path / "salts"), salts | more)


def test_nothing_of_a_file_can_be_read(tmp_path):
    salts = made(200)
    SaltFile.write(tmp_path / "salts", ENVELOPE, 1, {"note": "plain"}, as_rows(salts))
    whole = (tmp_path / "salts").read_bytes()
    assert not any(each in whole or salt in whole for each, salt in salts.items()) and b"plain" not in whole


def test_another_key_or_generation_is_refused(tmp_path):
    SaltFile.write(tmp_path / "salts", ENVELOPE, 1, {}, as_rows(made(3)))
    with pytest.raises(ArtifactError, match="check the key"):
        read(tmp_path / "salts", Envelope(bytes(32)))
    with pytest.raises(ArtifactError, match="check the key"):
        read(tmp_path / "salts", generation=2)
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "absent")


def test_a_write_that_was_not_finished_is_left_out_and_written_over(tmp_path):
    path = tmp_path / "salts"
    salts = made(40)
    SaltFile.write(path, ENVELOPE, 1, {}, as_rows(salts))
    whole = path.read_bytes()
    lost = SaltFile(path, ENVELOPE, 1)
    lost.read_on()
    lost.append(as_rows(made(60)))
    longer = path.read_bytes()
    block = longer[len(whole) : len(whole) + 1024]
    tails = {
        "part of a block": block[:700],
        "zeros": bytes(3 * 1024),
        "half a block, then zeros": block[:512] + bytes(512 + 1024),
        "zeros, then half a block": bytes(512) + block[512:],
        "zeros and a part": bytes(1024 + 17),
    }
    for tail in tails.values():
        path.write_bytes(whole + tail)
        assert holds(read(path), salts)
        file = SaltFile(path, ENVELOPE, 1)
        file.read_on()
        more = made(25)
        file.append(as_rows(more))
        assert holds(read(path), salts | more)


def test_every_flipped_bit_behind_the_header_is_refused(tmp_path):
    path = tmp_path / "salts"
    SaltFile.write(path, ENVELOPE, 1, {}, as_rows(made(19 * 6)))
    whole = path.read_bytes()
    rng = np.random.Generator(np.random.PCG64(8))
    for bit in rng.choice(np.arange(4096 * 8, len(whole) * 8), 300, replace=False):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(ArtifactError, match="damaged behind block"):
            read(path)


def test_blocks_that_are_zeroed_moved_or_of_another_file_are_refused(tmp_path):
    path = tmp_path / "salts"
    SaltFile.write(path, ENVELOPE, 1, {}, as_rows(made(19 * 6)))
    whole = path.read_bytes()
    SaltFile.write(path, ENVELOPE, 1, {}, as_rows(made(19 * 6)))
    other = path.read_bytes()
    start, block = 4096, 1024
    first, second = whole[start : start + block], whole[start + block : start + 2 * block]
    for damaged in (
        whole[:start] + bytes(block) + whole[start + block :],
        whole[:start] + second + first + whole[start + 2 * block :],
        whole[:start] + other[start:],
        whole[:start] + whole[start + block :],
    ):
        path.write_bytes(damaged)
        with pytest.raises(ArtifactError, match="damaged behind block 0"):
            read(path)


def test_what_is_no_file_of_salts_is_refused(tmp_path):
    path = tmp_path / "salts"
    for content in (b"", b"sfmsalt1", b"sfmsalt1\xff\xff\xff\xff", b"x" * 5000, b"sfmsalt1\0\0\0\7short"):
        path.write_bytes(content)
        with pytest.raises(ArtifactError):
            read(path)


def test_rows_that_came_one_by_one_are_worth_a_new_file(tmp_path):
    salts = made(1)
    file = SaltFile.write(tmp_path / "salts", ENVELOPE, 1, {"note": 1}, as_rows(salts))
    assert not file.sparse(1)
    file.blocks = 300
    assert file.sparse(300) and not file.sparse(300 * 19)
    file.blocks = 1
    more = made(40)
    anew = file.rewritten(as_rows(salts | more))
    assert anew.notes["note"] == 1 and holds(read(tmp_path / "salts"), salts | more)
    assert anew.same() and not file.same() and not file.unchanged()
