"""Addresses of postings: functions of the key, used once each; and the lists that only the client has."""

from __future__ import annotations

import hmac
import itertools
import pickle
import struct
import uuid

import pytest

from sfumato.errors import ArtifactError, RandomnessError
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.multimap import PostingList, RecordIds

KEY = SealingKey(bytes(range(32)))


def test_an_address_is_hmac_of_epoch_table_cell_writer_and_slot():
    ids = RecordIds(KEY, "tenant", "collection", epoch=3, lane=2)
    key = KEY.derive("address", "tenant", "collection", "posting")
    wanted = hmac.digest(key, struct.pack("<5Q", 3, 1, 77, 2, 5), "sha256")[:16]
    assert ids.posting(1, 77, 5) == str(uuid.UUID(bytes=wanted))


def test_no_two_records_share_an_address():
    made = [
        RecordIds(key, tenant, collection, epoch=epoch, lane=lane)
        for key in (KEY, SealingKey(bytes(range(1, 33))))
        for tenant, collection in (("a", "b"), ("", "ab"), ("ab", ""))
        for epoch, lane in itertools.product((0, 1), (0, 1))
    ]
    numbers = list(itertools.product((0, 1), (0, 1, 2), (0, 1)))
    found = [ids.posting(*each) for ids in made for each in numbers]
    texts = {ids.text(row) for ids in made if ids.lane == 0 for row in range(5)}
    counters = {ids.generation() for ids in made if ids.epoch == 0}
    assert len(set(found)) == len(found) and len(texts) == 12 * 5 and len(counters) == 12
    assert not set(found) & texts and not (set(found) | texts) & counters
    # The counter stays when the epoch goes.
    assert made[0].generation() == made[2].generation()


def test_keys_neither_show_nor_travel():
    ids = RecordIds(KEY, "t", "c", epoch=1)
    assert repr(ids) == "RecordIds(epoch=1, lane=0)"
    with pytest.raises(RandomnessError):
        pickle.dumps(ids)


def test_a_slot_is_used_once():
    cell = PostingList()
    assert [cell.append(row) for row in (10, 11, 12)] == [0, 1, 2]
    cell.remove([1, 2, 99])
    cell = PostingList.from_bytes(cell.to_bytes())
    assert cell.append(13) == 3 and cell.rows == {0: 10, 3: 13} and len(cell) == 2


def test_lists_of_few_rows_have_one_size_and_a_cut_one_is_refused():
    sizes = set()
    cell = PostingList()
    for row in range(7):
        sizes.add(len(cell.to_bytes()))
        cell.append(row)
    assert len(sizes) == 1
    for row in range(7, 2000):
        cell.append(row)
    assert PostingList.from_bytes(cell.to_bytes()) == cell
    assert len(cell.to_bytes()) == 32768
    for cut in (b"", cell.to_bytes()[:10], cell.to_bytes()[:32000]):
        with pytest.raises(ArtifactError, match="cut"):
            PostingList.from_bytes(cut)
