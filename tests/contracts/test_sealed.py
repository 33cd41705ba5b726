"""A sealed collection is the same over every registered store and handle; files hold nothing of it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from secrets import token_hex

import numpy as np
import pytest

from sfumato.randomness import generator
from sfumato.sealing.crypto.packing import pack
from sfumato.sealing.handles import HANDLES
from sfumato.stores import open_store
from tests.contracts.store_cases import SEALED, SMALLER, addresses
from tests.sealing.collections import ENCODER, metadata, names, notes, sealed

ROWS, MANY, FEWER, DIM = 300, 10_000, 1000, 16
# What a store ranks says far less than cells do, so it hands over more.
ASKING = {
    "multimap": {"probes": 24},
    "tags": {"probes": 24},
    "codes": {"probes": 100},
    "noise": {"probes": 100, "release": 0.5},
}
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)
SECRET = "Zanzibar Quetzalcoatl"


@pytest.fixture(scope="module", params=SEALED)
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    with addresses(request.param, folder) as address:
        yield request.param, folder, lambda name: address.format(name=name, options="")


@pytest.fixture(params=HANDLES.names())
def handle(request):
    return request.param


@pytest.fixture
def opened(case, handle, tmp_path):
    name = f"{handle}{token_hex(8)}"

    def open_again(**options):
        return sealed(tmp_path, open_store(case[2](name)), handle=handle, **options)

    return open_again


def test_rows_go_in_are_found_change_and_go(opened, handle):
    with opened() as store:
        assert store.add(IDS, TEXTS, FIELDS) == ROWS
        result = store.search(TEXTS[5], 10)
        assert result.complete and len(result.hits) == 10 and result.texts == 32
        assert (result.hits[0].id, result.hits[0].text) == (IDS[5], TEXTS[5])
        assert result.hits[0].metadata == FIELDS[5]
    with opened() as store:
        assert len(store) == ROWS
        store.update([IDS[7]], [SECRET], [{"new": "yes"}])
        assert store.search(SECRET, 1).hits[0].id == IDS[7]
        assert store.delete([*IDS[:5], "absent"]) == 5
        assert store.erase([IDS[8]]) is not None
        assert all(store.search(text, 300).complete for text in TEXTS[:3])
        found = store.search(TEXTS[0], 300, where={"ward": "ward 2"})
        assert found.complete and not set(IDS[:5]) & {hit.id for hit in found.hits}
        store.relearn()
    with opened() as store:
        kept = {IDS[row]: TEXTS[row] for row in range(5, ROWS) if row not in (7, 8)} | {IDS[7]: SECRET}
        assert {row.id: row.text for part in store.iterate(64) for row in part} == kept
        assert [store.search(TEXTS[row], 1).hits[0].id for row in (9, 99, 299)] == [
            IDS[row] for row in (9, 99, 299)
        ]
        members = [each for part in store._client.state.walk(100) for each in part]
        own = sum(len(store._client.handle.records(each)) for each in members)
        assert len(store.store) == own + len(members) + 1
        assert own == len(members) or handle == "multimap"


@pytest.mark.parametrize("handle", ["codes", "noise"])
def test_rows_are_found_where_an_index_lost_its_way_to_them(opened, handle, monkeypatch):
    with opened() as store:
        store.add(IDS[:100], TEXTS[:100])
        product, ids = store.store, store._client.state.ids()
        search, asked = product._search, []

        def only_others(vectors, k, allowed):
            asked.append(k)
            every = search(vectors, 201, allowed)
            return [[hit for hit in hits if ids.number(hit.id) is None][:k] for hits in every]

        monkeypatch.setattr(product, "exact", False)
        monkeypatch.setattr(product, "_search", only_others)
        for row in (5, 99):
            result = store.search(TEXTS[row], 10)
            assert result.complete and result.hits[0].id == IDS[row] and len(result.hits) == 10
            assert result.candidates == asked[-1]
        product.delete([ids.row(store._client.state.find([IDS[5]])[IDS[5]].number)])
        result = store.search(TEXTS[5], 10)
        assert result.faults == ("the store gave 99 of 100 candidates that it was asked for",)
        assert not result.complete and len(result.hits) == 10 and len(asked) == 3


@pytest.mark.parametrize("kind", ["text", "vector"])
def test_a_record_that_the_product_lost_or_changed_shows(opened, kind):
    with opened() as store:
        store.add(IDS[:50], TEXTS[:50])
        client, member = store._client, store._client.state.find([IDS[3]])[IDS[3]]
        name = client.state.ids().text(member.number) if kind == "text" else client.handle.records(member)[0]
        record = store.store.get([name])
        fields, content = record.metadata[0], record.metadata[0]["sealed"]
        store.store.add([name], record.vectors, [{**fields, "sealed": content[:-8] + "AAAA" + content[-4:]}])
        changed = store.search(TEXTS[3], 5)
        store.store.delete([name])
        gone = store.search(TEXTS[3], 5)
        assert [result.complete for result in (changed, gone)] == [False, False]
        for result in (changed, gone):
            assert IDS[3] not in [hit.id for hit in result.hits]
            assert len(result.hits) == (4 if kind == "text" else 5)


def test_a_text_of_a_megabyte(opened):
    texts = ["ü and ASCII, a megabyte of it. " * 34_000, "short"]
    assert len(texts[0].encode()) > 1 << 20
    vectors = generator(3).standard_normal((2, DIM))
    with opened(embedder=None) as store:
        store.add(["long", "short"], texts, vectors=vectors)
        (result,) = store.search(vectors=vectors[:1], k=2)
        assert result.complete and [hit.text for hit in result.hits] == texts


def files_of(case, folder, address):
    """Every byte that the product has on disk."""
    if case.startswith("pgvector"):
        import psycopg

        with psycopg.connect(address.partition("#")[0].replace("&index=hnsw", ""), autocommit=True) as link:
            link.execute("CHECKPOINT")
            folder = Path(link.execute("SHOW data_directory").fetchone()[0])
    elif case.startswith("redis"):
        import redis

        with redis.Redis.from_url(address.partition("?")[0], socket_timeout=60) as link:
            link.save()
            folder = Path(link.config_get("dir")["dir"])
    elif case == "qdrant":
        folder = Path(address.partition(":")[2].partition("?")[0])
    # Postgres removes files of its own at any time.
    for path in sorted(folder.rglob("*")):
        with contextlib.suppress(OSError):
            if path.is_file():
                yield path.read_bytes()


def test_the_products_files_hold_no_text_no_vector_and_no_key(case, handle, tmp_path):
    kind, folder, address = case
    # Words of this case's own: what another one stored in the clear may be in a server that they share.
    secret = " ".join(f"{word}{token_hex(5)}" for word in SECRET.split())
    field = f"field_{token_hex(5)}"
    texts = [f"{secret} {text}" for text in TEXTS[:80]]
    place = address(f"filesread{handle}")
    with sealed(tmp_path, open_store(place), handle=handle, precision="float32") as store:
        store.add([f"id-{secret}-{row}" for row in range(80)], texts, [{field: secret}] * 80)
        store.delete([f"id-{secret}-0"])
        store.search(texts[3])
    held = b"".join(files_of(kind, folder, place))
    if not kind.startswith("pgvector"):
        held += b"".join(
            path.read_bytes() for path in sorted((tmp_path / "state").rglob("*")) if path.is_file()
        )
    assert len(held) > 80 * 300
    line = (tmp_path / "key").read_text().split()[1]
    vectors = ENCODER.embed(texts)
    secrets = [secret.encode(), field.encode(), bytes.fromhex(line), line.encode(), texts[5].encode()]
    for part in secret.split():
        secrets += [part.encode(), part.encode("utf-16-le"), part.encode().hex().encode()]
    secrets += [each for each in pack(vectors, "float32")] + [each[4:40] for each in pack(vectors, "int8")]
    assert not [row for row, each in enumerate(secrets) if each[:64] in held]
    # The same search finds what is there in the clear.
    with open_store(address(f"inclear{handle}")) as clear:
        clear.add(["x"], vectors[:1], [{field: secret}])
    if kind not in ("lancedb",):  # whose files are compressed
        assert secret.encode() in b"".join(files_of(kind, folder, address(f"inclear{handle}")))


@pytest.mark.filterwarnings("ignore:Local mode is not recommended")
def test_ten_thousand_rows(case, handle, tmp_path):
    kind, _, address = case
    many = FEWER if kind in SMALLER else MANY
    made = generator(3).standard_normal((many, DIM)).astype(np.float32)
    ids = [f"row {row}" for row in range(many)]
    options = {"embedder": None, "units": 0, "handle": handle, **ASKING[handle]}
    with sealed(tmp_path, open_store(address(f"many{handle}")), **options) as store:
        store.add(ids, [f"text {row}" for row in range(many)], vectors=made)
        assert len(store) == many and len(store.store) == 2 * many + 1
        results = store.search(vectors=made[:: many // 5], k=5)
        wanted = [f"text {row}" for row in range(0, many, many // 5)]
        assert [result.hits[0].text for result in results] == wanted
        assert all(result.complete and result.candidates < 600 for result in results)
