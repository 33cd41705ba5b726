"""Several writers with a state each, and readers: no address twice, all rows found, nothing forged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import ArtifactError, InputError
from sfumato.sealing.client.bundles import destroy_bundle
from sfumato.sealing.client.contents import RecordPlace, SealedRow, counter_content, text_content
from sfumato.sealing.client.session import COUNTER, POSTING, TEXT
from sfumato.sealing.crypto.packing import pack
from sfumato.sealing.records import Records
from sfumato.sealing.store import SealedStore
from sfumato.stores import Memory, open_store
from tests.sealing.collections import ENCODER, contents, key_in, metadata, names, notes, sealed
from tests.stores.servers import postgres

ROOT = Path(__file__).parents[2]
ROWS = 150
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


def add(store, low, high):
    return store.add(IDS[low:high], TEXTS[low:high], FIELDS[low:high])


def join(folder, store, bundle, **options):
    key = key_in(folder)
    return SealedStore.join(store, key=key, folder=folder / "two", bundle=bundle, embedder=ENCODER, **options)


@pytest.fixture
def rows():
    return Memory()


def test_two_lanes_share_a_collection_and_find_each_others_rows(tmp_path, rows):
    one = sealed(tmp_path, rows)
    add(one, 0, 100)
    one.export_reader(tmp_path / "bundle")
    two = join(tmp_path, rows, tmp_path / "bundle")
    assert two.settings.collection == one.settings.collection and two.settings.lane != one.settings.lane
    add(two, 100, 150)
    assert [two.search(TEXTS[row], 1).hits[0].id for row in (3, 120)] == [IDS[3], IDS[120]]
    assert two.search(TEXTS[3], 1).complete
    # Each looks after its own rows: the other's are found and not changed.
    assert len(two) == 50 and two.get([IDS[3]]) == [] and two.delete([IDS[3]]) == 0
    two.export_reader(tmp_path / "other")
    with SealedStore.reader(
        rows, key=key_in(tmp_path), bundles=[tmp_path / "bundle", tmp_path / "other"], embedder=ENCODER
    ) as reader:
        assert len(reader) == ROWS and reader.stale() == []
        found = reader.search(TEXTS[::10], 3)
        assert [each.hits[0].id for each in found] == IDS[::10] and all(each.complete for each in found)
        assert [row.text for row in reader.get([IDS[120], IDS[3]])] == [TEXTS[120], TEXTS[3]]
        assert sorted(row.id for part in reader.iterate(40) for row in part) == sorted(IDS)
        # The best of all lanes, as one search of all rows ranks them.
        order = np.argsort(-(ENCODER.embed(TEXTS[:1]) @ ENCODER.embed(TEXTS).T)[0], kind="stable")[:3]
        assert {hit.id for hit in found[0].hits} == {IDS[row] for row in order}
    assert two.search(TEXTS[3], 2, where={"ward": "ward 0"}).hits[0].id == IDS[3]
    one._client.state.file.close()
    two._client.state.file.close()


def test_two_processes_add_at_once_and_no_address_is_used_twice(tmp_path):
    with postgres() as base:
        url = f"{base}#notes"
        with sealed(tmp_path, open_store(url)) as one:
            add(one, 0, 10)
            one.export_reader(tmp_path / "bundle")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        running = [
            subprocess.Popen(
                [
                    sys.executable, "-m", "tests.sealing.add_in_lane", url, str(tmp_path / name),
                    str(shutil.copytree(tmp_path / "bundle", tmp_path / f"for-{name}")), str(low), str(high),
                ],
                env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True,
            )
            for name, low, high in (("a", 10, 80), ("b", 80, 150))
        ]  # fmt: skip
        for each in running:
            _, said = each.communicate(timeout=300)
            assert each.returncode == 0, said
        bundles = [tmp_path / "bundle", tmp_path / "a-bundle", tmp_path / "b-bundle"]
        with SealedStore.reader(
            open_store(url), key=key_in(tmp_path), bundles=bundles, embedder=ENCODER
        ) as reader:
            assert len(reader) == ROWS and reader.stale() == []
            assert [each.hits[0].id for each in reader.search(TEXTS, 1)] == IDS
            ids = Counter(
                name
                for lane in reader._lanes
                for part in lane.client.state.walk(100)
                for name in _ids(lane.client, part)
            )
            assert max(ids.values()) == 1 and len(ids) + len(bundles) == len(contents(reader.store))


def _ids(client, members):
    ids = client.state.ids()
    return [ids.posting(*place) for each in members for place in each.places] + [
        ids.text(each.number) for each in members
    ]


def test_a_stale_bundle_is_said_to_be_stale(tmp_path, rows):
    one = sealed(tmp_path, rows)
    add(one, 0, 50)
    one.export_reader(tmp_path / "bundle")
    with SealedStore.reader(
        Records(rows).store, key=key_in(tmp_path), bundles=[tmp_path / "bundle"], embedder=ENCODER
    ) as reader:
        assert reader.search(TEXTS[3], 1).complete
        before = next(rows.batches(1000))
        one.erase([IDS[3]])
        one.delete([IDS[4]])
        assert reader.stale() == ["the bundle `bundle` is stale: 2 changes came after it"]
        found = reader.search(TEXTS[7], 1)
        assert found.hits[0].id == IDS[7] and not found.complete
        assert any("the bundle `bundle`: the state is an older copy" in fault for fault in found.faults)
        # With a copy of the store from before, the old bundle still opens what was erased.
        copy = Memory()
        copy.add(before.ids, before.vectors, before.metadata)
        reader._lanes[0].client.records.store = copy
        assert reader.get([IDS[3]])[0].text == TEXTS[3]
    one.export_reader(tmp_path / "bundle")
    with SealedStore.reader(
        rows, key=key_in(tmp_path), bundles=[tmp_path / "bundle"], embedder=ENCODER
    ) as reader:
        assert reader.stale() == [] and reader.get([IDS[3]]) == [] and reader.search(TEXTS[7], 1).complete
    destroy_bundle(tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
    one._client.state.file.close()


def forge(client, member, text):
    """What a reader with the key and a bundle can write: a record that opens like the writer's own."""
    settings, ids = client.state.settings, client.state.ids()
    (salt,) = client.state.salts([member.number])
    sealer, places = client.sealer(settings.epoch), []
    places.append((TEXT, RecordPlace(ids.text(member.number), member.number, salt), text_content(text)))
    vector = pack(ENCODER.embed([text.text]), settings.precision)[0]
    places += [
        (POSTING, RecordPlace(ids.posting(*place), member.number, salt), vector) for place in member.places
    ]
    client.records.put(
        [place.id for _, place, _ in places],
        [sealer.seal(kind, [place], [plain])[0] for kind, place, plain in places],
    )


@pytest.mark.parametrize("signed", [False, True])
def test_a_reader_cannot_forge_what_others_accept(tmp_path, rows, signed):
    """The control: where nothing is signed, everybody with the key writes what everybody accepts."""
    one = sealed(tmp_path, rows, signed=signed)
    add(one, 0, 60)
    assert bool(one.writer) == signed
    one.export_reader(tmp_path / "bundle")
    writers = [one.writer] if signed else None
    options = {"key": key_in(tmp_path), "embedder": ENCODER, "writers": writers}
    with SealedStore.reader(Memory(), bundles=[tmp_path / "bundle"], **options) as thief:
        client = thief._lanes[0].client
        client.records = Records(rows)
        forge(client, client.state.find([IDS[5]])[IDS[5]], SealedRow(IDS[5], "a forged note", {}))
        if signed:
            # Nor can he say that nothing has changed since.
            place = client.generation_place()
            one.delete([IDS[9]])
            claim = client.sealer(0).seal(COUNTER, [place], [counter_content(1, bytes(8), bytes(64))])
            client.records.put([place.id], claim)
            assert not (tmp_path / "bundle" / "writer-key").exists()
            with pytest.raises(InputError), client.state.file.changing():
                client.count_change()
    with SealedStore.reader(rows, bundles=[tmp_path / "bundle"], **options) as reader:
        found = reader.search("a forged note", 1)
        if signed:
            assert not found.complete and found.hits[0].text != "a forged note"
            assert any(
                "was changed: it does not open" in fault for fault in reader.search(TEXTS[5], 1).faults
            )
            assert reader.stale() and "not its writer's" in reader.stale()[0]
            with pytest.raises(ArtifactError, match="do not open"):
                reader.get([IDS[5]])
        else:
            assert found.hits[0].text == "a forged note" and reader.get([IDS[5]])[0].text == "a forged note"
    one._client.state.file.close()


def test_a_signed_collection_takes_changes_and_is_restored_from_a_backup(tmp_path, rows):
    with sealed(tmp_path, rows, signed=True) as one:
        add(one, 0, 100)
        one.update([IDS[3]], ["another text"])
        one.erase([IDS[4]])
        one.relearn()
        found = one.search("another text", 1)
        assert found.complete and found.hits[0].id == IDS[3] and len(one) == 99
        digests = one._client.state.file.run("SELECT COUNT(*) FROM digests")[0][0]
        assert digests == len(rows) - 1
        one.backup(tmp_path / "copy")
        public = one.writer
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "copy").rename(tmp_path / "state")
    with sealed(tmp_path, rows) as again:
        assert again.writer == public and add(again, 100, 110) == 10
        assert again.search(TEXTS[105], 1).complete


def test_bundles_that_are_refused(tmp_path, rows):
    one = sealed(tmp_path, rows, signed=True)
    add(one, 0, 20)
    bundle = tmp_path / "bundle"
    one.export_reader(bundle)
    other = sealed(tmp_path / "state", Memory(), signed=True)
    add(other, 0, 5)
    other.export_reader(tmp_path / "strange")
    key = key_in(tmp_path)

    def refused(message, folder=bundle, kind=(InputError, ArtifactError), **options):
        options = {"key": key, "writers": [one.writer], **options}
        with pytest.raises(kind, match=message) as caught:
            SealedStore.reader(rows, bundles=[folder], **options)
        assert "\n" not in str(caught.value)

    refused("is signed", writers=None)
    refused("none of the `writers`", writers=[other.writer])
    refused("64 hex digits", writers=["x"])
    refused("must open under this key", key=key_in(tmp_path / "state"))
    refused("must open under this key", tenant="someone")
    refused("must be a bundle", folder=tmp_path / "state")
    with pytest.raises(InputError, match="lane that is there already"):
        SealedStore.reader(rows, key=key, bundles=[bundle, bundle], writers=[one.writer])
    with pytest.raises(InputError, match="at least one writer"):
        SealedStore.reader(rows, key=key, bundles=[])
    with pytest.raises(InputError, match="is a bundle"):
        SealedStore(rows, key=key, folder=bundle)
    with pytest.raises(InputError, match="has to be empty"):
        SealedStore(rows, key=key, folder=tmp_path / "fresh")
    for keep in (tmp_path / "state", tmp_path / "state" / "state"):
        with pytest.raises(InputError, match="must be new, or a bundle"):
            one.export_reader(keep)
    # A reader who changes a bundle and seals its manifest again cannot sign it.
    whole = {path.name: path.read_bytes() for path in bundle.iterdir()}
    for name in whole:
        if name.startswith(("salts-", "shred-root", "state.sqlite")) and not name.endswith(("-wal", "-shm")):
            damaged = bytearray(whole[name])
            damaged[-1] ^= 1
            (bundle / name).write_bytes(damaged)
            refused("refused|salts|root")
            (bundle / name).write_bytes(whole[name])
    (bundle / "bundle").write_bytes(b"")
    refused("was not finished")
    for each in (one, other):
        each._client.state.file.close()


def test_two_copies_of_one_state_that_both_write_are_found_out(tmp_path, rows):
    one = sealed(tmp_path, rows)
    add(one, 0, 20)
    one._client.state.file.scrub()
    shutil.copytree(tmp_path / "state", tmp_path / "copy" / "state")
    shutil.copy(tmp_path / "key", tmp_path / "copy" / "key")
    copy = sealed(tmp_path / "copy", rows)
    # Both look before either has written: only afterwards can it be seen.
    copy._client.refuse_stale = lambda: None
    add(one, 20, 25)
    copy._client.outbox._records = Records(Memory())
    add(copy, 25, 30)
    record = copy._client.outbox._records.scan()
    rows_of_copy = dict(record)
    Records(rows).put(list(rows_of_copy), list(rows_of_copy.values()))
    with pytest.raises(InputError, match="a copy that writes, too"):
        add(one, 30, 35)
    for each in (one, copy):
        each._client.state.file.close()


def test_a_lane_is_begun_once_and_kept(tmp_path, rows):
    one = sealed(tmp_path, rows)
    add(one, 0, 20)
    one.export_reader(tmp_path / "bundle")
    lanes = []
    for low in (20, 25):
        two = join(tmp_path, rows, tmp_path / "bundle")
        add(two, low, low + 5)
        lanes.append(two.settings.lane)
        for lane in two._lanes:
            lane.client.state.file.close()
    assert lanes[0] == lanes[1] > 0
    with pytest.raises(InputError, match="very writer"):
        SealedStore.join(rows, key=key_in(tmp_path), folder=tmp_path / "state", bundle=tmp_path / "bundle")
    one._client.state.file.close()


def test_a_value_is_found_in_the_rows_of_every_writer(tmp_path, rows):
    told = ["Anna Meyer called about the lantern.", "The river is high."]
    with sealed(tmp_path, rows, names="person") as one:
        one.add(["a", "b"], told)
        one.export_reader(tmp_path / "bundle")
    with join(tmp_path, rows, tmp_path / "bundle", names="person") as two:
        two.add(["c"], ["Anna Meyer wrote a letter."])
        result = two.search_name("anna  MEYER")
        assert {hit.id for hit in result.hits} == {"a", "c"} and result.complete
        assert len(two.search_name("Anna Meyer", k=1).hits) == 1
        two.export_reader(tmp_path / "other")
    bundles = [tmp_path / "bundle", tmp_path / "other"]
    with SealedStore.reader(rows, key=key_in(tmp_path), bundles=bundles, embedder=ENCODER) as reader:
        assert {hit.id for hit in reader.search_name("Anna Meyer").hits} == {"a", "c"}
        assert not reader.search_name("Bertha Meyer").hits
