"""A row's salt is there until it is erased, and then nothing that is left opens the row."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sfumato.errors import ArtifactError, InputError, ParameterError, RandomnessError
from sfumato.sealing.crypto.envelope import Bound, Envelope
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.erasure.salt_file import SaltFile
from sfumato.sealing.erasure.salts import SaltTable
from sfumato.sealing.erasure.shredding import Shredder

KEY = SealingKey(bytes(range(32)))
ROWS = [f"row {number}" for number in range(100)]


@pytest.fixture
def quick(monkeypatch):
    """Without waiting for the disk, where what is tested is not that."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def test_salts_are_made_once_and_kept(tmp_path):
    shredder = Shredder.open(tmp_path / "shred", KEY)
    salts = shredder.salts(ROWS)
    assert len(set(salts)) == 100 and all(len(salt) == 32 for salt in salts)
    assert shredder.salts(ROWS[::-1]) == salts[::-1]
    assert shredder.salts([ROWS[3], "new", ROWS[3], "new"])[::2] == [salts[3]] * 2
    again = Shredder.open(tmp_path / "shred", KEY)
    assert again.salts(ROWS) == again.find(ROWS) == salts and len(again) == 101
    assert again.find(["new"]) == shredder.salts(["new", "new"])[:1]


def test_looking_makes_no_salt(tmp_path):
    shredder = Shredder.open(tmp_path, KEY)
    assert shredder.find(ROWS) == [None] * 100 and len(shredder) == 0
    assert shredder.salts([]) == shredder.find([]) == []


def test_erased_rows_are_gone_and_others_stay(tmp_path):
    shredder = Shredder.open(tmp_path, KEY)
    salts = shredder.salts(ROWS)
    record = shredder.shred([*ROWS[10:20], "never there", ROWS[10]])
    assert record.count == 10 and record.old_root != record.new_root
    for each in (shredder, Shredder.open(tmp_path, KEY)):
        assert each.find(ROWS) == [*salts[:10], *[None] * 10, *salts[20:]]
        assert len(each) == 90 and each.erasures == [record]
    assert shredder.salts(ROWS[10:11])[0] not in salts  # a row that comes back is another row
    second = shredder.shred(ROWS)
    assert second.count == 91 and second.old_root == record.new_root and len(shredder) == 0
    assert Shredder.open(tmp_path, KEY).erasures == [record, second]


def test_erasing_nothing_changes_nothing(tmp_path):
    shredder = Shredder.open(tmp_path, KEY)
    salts = shredder.salts(ROWS)
    record = shredder.shred(["never there"])
    assert record.count == 0 and record.old_root == record.new_root
    assert shredder.shred([]).count == 0
    assert shredder.erasures == [] and shredder.find(ROWS) == salts


def test_a_record_and_the_folder_name_no_row(tmp_path):
    shredder = Shredder.open(tmp_path, KEY)
    shredder.salts(["Maria Jensen", *ROWS])
    record = shredder.shred(["Maria Jensen"])
    assert "Maria" not in repr(record) and "Maria" not in repr(shredder)
    assert sorted(os.listdir(tmp_path)) == ["salts-2", "salts.lock", "shred-root-2"]
    assert not any(b"Maria" in path.read_bytes() for path in tmp_path.iterdir())
    assert os.stat(tmp_path / "shred-root-2").st_mode & 0o777 == 0o600


def old_table(folder, root: bytes, key: SealingKey = KEY) -> SaltTable:
    """What a thief of the first salts reads with a root and the sealing key, by plain `cryptography`."""
    sealing = HKDF(SHA512(), 32, salt=root, info=b"sfumato salts").derive(key.derive("state", "shredding"))
    table = SaltTable()
    table.extend(SaltFile(folder / "salts-1", Envelope(sealing), 1).read_on())
    return table


def test_old_salts_and_old_records_are_useless_without_the_old_root(tmp_path):
    """The thief has the key, copies of the records and the salts, and all that is there afterwards."""
    folder, stolen = tmp_path / "shred", tmp_path / "stolen"
    shredder = Shredder.open(folder, KEY)
    bound = Bound(tenant="t", collection="c", record_id="r", kind="text")
    envelope = Envelope(KEY.derive("seal"))
    records = envelope.seal_all([b"text"] * 100, [bound] * 100, shredder.salts(ROWS))
    shutil.copytree(folder, stolen)
    old_root = (stolen / "shred-root-1").read_bytes()
    erased = records[:5]
    shredder.shred(ROWS[:5])

    # The control: with the old root everything opens.
    with_root = old_table(stolen, old_root).find(shredder._ids(ROWS[:5]))
    assert envelope.open_all(erased, [bound] * 5, with_root) == [b"text"] * 5
    assert old_root not in b"".join(path.read_bytes() for path in folder.iterdir())

    (stolen / "shred-root-1").unlink()
    new_root = (folder / "shred-root-2").read_bytes()
    with pytest.raises(ArtifactError, match="check the key"):
        old_table(stolen, new_root)
    shutil.copy(folder / "shred-root-2", stolen / "shred-root-1")
    with pytest.raises(ArtifactError, match="check the key"):
        Shredder.open(stolen, KEY)
    left = [salt for salt in shredder.find(ROWS) if salt]
    assert len(left) == 95
    for record in erased:
        tried = [None, *left, new_root]
        assert envelope.open_all([record] * 97, [bound] * 97, tried) == [None] * 97
    assert envelope.open_all(records[5:], [bound] * 95, left) == [b"text"] * 95


def test_root_and_salts_are_useless_without_the_sealing_key(tmp_path):
    Shredder.open(tmp_path, KEY, "tenant").salts(ROWS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for key, context in ((SealingKey(bytes(32)), ["tenant"]), (KEY, ["other"]), (KEY, [])):
        with pytest.raises(ArtifactError, match="check the key"):
            Shredder.open(tmp_path, key, *context)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert len(Shredder.open(tmp_path, KEY, "tenant")) == 100


def test_a_lost_root_is_said_and_nothing_is_thrown_away(tmp_path):
    Shredder.open(tmp_path, KEY).salts(ROWS)
    root = (tmp_path / "shred-root-1").read_bytes()
    (tmp_path / "shred-root-1").unlink()
    with pytest.raises(ArtifactError, match="without it no row opens"):
        Shredder.open(tmp_path, KEY)
    for wrong in (root[:-1], root + b"x", b"", bytes(32)):
        (tmp_path / "shred-root-1").write_bytes(wrong)
        (tmp_path / "shred-root-1").chmod(0o600)
        with pytest.raises(ArtifactError):
            Shredder.open(tmp_path, KEY)
    (tmp_path / "shred-root-1").write_bytes(root)
    assert len(Shredder.open(tmp_path, KEY)) == 100


def test_lost_salts_are_said_and_no_root_is_destroyed(tmp_path):
    shredder = Shredder.open(tmp_path, KEY)
    shredder.salts(ROWS)
    shutil.copy(tmp_path / "shred-root-1", tmp_path / "shred-root-2")
    for read in (lambda: shredder.find(ROWS), lambda: Shredder.open(tmp_path, KEY)):
        with pytest.raises(InputError, match="cannot be read"):
            read()
    (tmp_path / "shred-root-2").unlink()
    assert len(Shredder.open(tmp_path, KEY)) == 100


def test_a_root_open_to_others_or_elsewhere_is_refused(tmp_path):
    folder = tmp_path / "shred"
    Shredder.open(folder, KEY)
    (folder / "shred-root-1").chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        Shredder.open(folder, KEY)
    shutil.move(folder / "shred-root-1", tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o600)
    (folder / "shred-root-1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArtifactError, match="Found a link"):
        Shredder.open(folder, KEY)


def test_an_old_root_that_is_put_back_is_destroyed(tmp_path):
    shredder = Shredder.open(tmp_path, KEY)
    shredder.salts(ROWS)
    old = (tmp_path / "shred-root-1").read_bytes()
    shredder.shred(ROWS[:1])
    (tmp_path / "shred-root-1").write_bytes(old)
    os.link(tmp_path / "shred-root-1", tmp_path / "twin")
    assert len(Shredder.open(tmp_path, KEY)) == 99
    assert not (tmp_path / "shred-root-1").exists() and (tmp_path / "twin").read_bytes() == bytes(32)


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "no" / "folder"):
        with pytest.raises(InputError):
            Shredder.open(folder, KEY)


def test_one_text_is_no_list_of_ids(tmp_path):
    with pytest.raises(ParameterError, match="put it into a list"):
        Shredder.open(tmp_path, KEY).shred("row 1")


def test_it_cannot_be_copied_or_pickled(tmp_path):
    shredder = Shredder.open(tmp_path, KEY)
    for carry in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(RandomnessError, match="cannot be copied or pickled"):
            carry(shredder)


def test_a_disk_that_refuses_leaves_no_salt_that_is_not_on_it(tmp_path, monkeypatch):
    shredder = Shredder.open(tmp_path, KEY)
    salts = shredder.salts(ROWS)

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(ArtifactError, match="No space"):
            shredder.salts(["new"])
        with pytest.raises(ArtifactError, match="No space"):
            shredder.shred(ROWS[:1])
    for each in (shredder, Shredder.open(tmp_path, KEY)):
        assert each.find(["new", *ROWS]) == [None, *salts] and each.erasures == []
    assert shredder.shred(ROWS[:1]).count == 1
    assert sorted(os.listdir(tmp_path)) == ["salts-2", "salts.lock", "shred-root-2"]


def test_a_root_that_could_not_be_destroyed_is_said_and_goes_at_the_next_try(tmp_path, monkeypatch):
    shredder = Shredder.open(tmp_path, KEY)
    shredder.salts(ROWS)

    def refused(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "pwrite", refused)
        with pytest.raises(ArtifactError, match="erase again"):
            shredder.shred(ROWS[:1])
    assert (tmp_path / "shred-root-1").exists() and shredder.find(ROWS[:1]) == [None]
    assert shredder.shred(ROWS[:1]).count == 0
    assert not (tmp_path / "shred-root-1").exists() and [each.count for each in shredder.erasures] == [1]


def test_rows_added_one_by_one_do_not_fill_the_disk(tmp_path, quick):
    shredder = Shredder.open(tmp_path, KEY)
    reader = Shredder.open(tmp_path, KEY)
    salts = [shredder.salts([row])[0] for row in (f"one {number}" for number in range(1500))]
    assert (tmp_path / "salts-1").stat().st_size < 600 * 1024
    names = [f"one {number}" for number in range(1500)]
    assert reader.find(names) == Shredder.open(tmp_path, KEY).find(names) == salts


def test_two_that_share_a_folder_see_each_others_rows_and_erasures(tmp_path, quick):
    one, two = Shredder.open(tmp_path, KEY), Shredder.open(tmp_path, KEY)
    for number in range(50):
        (one, two)[number % 2].salts([f"{number}", f"shared {number // 4}"])
    names = [f"{number}" for number in range(50)] + [f"shared {number}" for number in range(13)]
    assert one.find(names) == two.find(names) and None not in one.find(names)
    one.shred(names[:10])
    assert two.find(names)[:11] == [*[None] * 10, one.find(names)[10]]
    two.salts(["after"])
    two.shred(names[10:20])
    assert one.find(["after"]) == two.find(["after"]) != [None] and len(one) == len(two) == 44


def _claim(folder, names, answers):
    shredder = Shredder.open(folder, KEY)
    answers.put([shredder.salts(names[start : start + 20]) for start in range(0, len(names), 20)])


# Numerical libraries keep idle threads, of which Python 3.12 and later warn at every fork.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_racing_processes_agree_on_every_salt(tmp_path):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    racers = [context.Process(target=_claim, args=(tmp_path, ROWS, answers)) for _ in range(4)]
    for racer in racers:
        racer.start()
    claimed = [answers.get(timeout=60) for _ in racers]
    for racer in racers:
        racer.join(60)
    assert all(each == claimed[0] for each in claimed)
    assert Shredder.open(tmp_path, KEY).find(ROWS) == [salt for part in claimed[0] for salt in part]


def test_threads_agree_on_every_salt(tmp_path):
    shredder = Shredder.open(tmp_path, KEY)
    with ThreadPoolExecutor(8) as pool:
        claimed = list(pool.map(lambda _: shredder.salts(ROWS), range(16)))
    assert all(each == claimed[0] for each in claimed) and len(shredder) == 100
