"""Sealed collections over HTTP: documents in, found, changed and erased; who may, and what nobody is told."""

from __future__ import annotations

import json
import threading

import pytest

from sfumato.server.tenancy.keys import new_key
from tests.server.running import PRIVATE, gateway
from tests.server.sealed import BASE, add, allow, found, search

IDS = ("zeta-private-17", "omega/../private 18", "ünïcode-19")
TEXTS = (PRIVATE, "The parcel to Faro came late", "Moved to Lisbon in May")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("collections")


@pytest.fixture(scope="module")
def keys(folder):
    path = folder / "keys.json"
    return path, {name: new_key(path, name) for name in ("acme", "birch", "cedar")}


@pytest.fixture(scope="module")
def running(folder, keys):
    file = allow(
        folder / "collections.json",
        {
            "acme": {"notes": f"memory:{folder}/acme", "other": f"memory:{folder}/acme-other"},
            "birch": {"notes": f"memory:{folder}/birch"},
        },
    )
    options = (
        "--keys",
        str(keys[0]),
        "--collections",
        str(file),
        "--max-bytes",
        "40000",
        "--max-batch",
        "64",
    )
    with gateway(folder / "run", None, *options, "--max-characters", "20000") as started:
        yield started


@pytest.fixture(scope="module")
def acme(running, keys):
    """The key of a tenant whose collection holds three documents."""
    status, _, answer = add(
        running, IDS, TEXTS, [{"year": 2024}, {"year": 2025, "open": True}, {}], keys[1]["acme"]
    )
    assert (status, answer) == (200, {"changed": 3})
    return keys[1]["acme"]


def ask(running, method, path, body=None, key=None):
    status, _, answer = running.ask(method, path, body, key)
    return status, answer


def test_documents_are_found_with_text_metadata_and_rounded_scores(running, acme):
    answer = search(running, "parcel to Faro", acme, k=2)
    first = answer["results"][0]["hits"][0]
    assert first["id"] == IDS[1] and first["text"] == TEXTS[1]
    assert first["metadata"] == {"year": 2025, "open": True}
    scores = [hit["score"] for hit in answer["results"][0]["hits"]]
    assert scores == sorted(scores, reverse=True) and all(round(each, 3) == each for each in scores)
    assert answer["complete"] is True and answer["results"][0]["faults"] == []
    assert ask(running, "GET", "/v1/collections", key=acme)[1]["data"] == [
        {"id": "notes", "object": "collection"},
        {"id": "other", "object": "collection"},
    ]


def test_many_queries_and_filters(running, acme):
    body = {"queries": ["Lisbon in May", "parcel"], "k": 1}
    status, answer = ask(running, "POST", f"{BASE}/search", body, acme)
    assert status == 200 and [row["query"] for row in answer["results"]] == [0, 1]
    assert [row["hits"][0]["id"] for row in answer["results"]] == [IDS[2], IDS[1]]
    assert found(search(running, "parcel", acme, where={"year": [2023, 2024]})) == [IDS[0]]
    assert found(search(running, "parcel", acme, where={"open": True, "year": 2024})) == []


def test_documents_are_read_replaced_deleted_and_erased(running, acme, keys):
    base, key = "/v1/collections/other", keys[1]["acme"]
    ids = [f"d{number}" for number in range(6)]
    assert add(running, ids, [f"text {each}" for each in ids], None, key, base)[2] == {"changed": 6}
    assert add(running, ids, [f"text {each}" for each in ids], None, key, base)[2] == {"changed": 0}
    assert add(running, ["d0"], ["another"], [{"n": 1}], key, base)[2] == {"changed": 1}
    assert ask(running, "GET", f"{base}/documents/d0", key=key)[1] == {
        "documents": [{"id": "d0", "text": "another", "metadata": {"n": 1}}]
    }
    many = ask(running, "POST", f"{base}/documents/get", {"ids": ["d2", "gone", "d1"]}, key)[1]
    assert [each["id"] for each in many["documents"]] == ["d2", "d1"]
    assert ask(running, "DELETE", f"{base}/documents/d1", key=key) == (200, {"deleted": 1, "erased": None})
    assert ask(running, "DELETE", f"{base}/documents/d1", key=key) == (200, {"deleted": 0, "erased": None})
    gone = ask(running, "POST", f"{base}/documents/delete", {"ids": ["d2", "d3"], "erase": True}, key)[1]
    assert gone["deleted"] == 2 and gone["erased"]["old_root"] != gone["erased"]["new_root"]
    assert ask(running, "DELETE", f"{base}/documents/d4?erase=true", key=key)[1]["erased"]["count"] >= 1
    assert ask(running, "GET", f"{base}/documents/d4", key=key)[0] == 404
    assert sorted(found(search(running, "text", key, base))) == ["d0", "d5"]


def test_an_id_may_be_anything_also_in_an_address(running, acme):
    for path, text in (
        ("omega%2F..%2Fprivate%2018", TEXTS[1]),
        ("%C3%BCn%C3%AFcode-19", TEXTS[2]),
    ):
        status, answer = ask(running, "GET", f"{BASE}/documents/{path}", key=acme)
        assert status == 200 and answer["documents"][0]["text"] == text


def test_another_tenants_key_gets_nothing(running, acme, keys):
    birch, cedar = keys[1]["birch"], keys[1]["cedar"]
    assert found(search(running, PRIVATE, birch)) == []
    assert ask(running, "GET", f"{BASE}/documents/{IDS[0]}", key=birch)[0] == 404
    # A collection of another tenant's is not there at all, whatever is asked of it.
    for name in ("notes", "nowhere"):
        base = f"/v1/collections/{name}"
        answers = [
            ask(running, "POST", f"{base}/search", {"query": PRIVATE}, cedar),
            ask(running, "POST", f"{base}/search", b"not even JSON", cedar),
            ask(running, "POST", f"{base}/documents", {"ids": ["x"], "texts": ["x"]}, cedar),
            ask(running, "GET", f"{base}/documents/{IDS[0]}", key=cedar),
            ask(running, "DELETE", f"{base}/documents/{IDS[0]}?erase=true", key=cedar),
        ]
        assert {status for status, _ in answers} == {404}
        assert len({json.dumps(answer) for _, answer in answers}) == 1
    assert ask(running, "GET", "/v1/collections", key=cedar)[1]["data"] == []
    assert ask(running, "POST", "/v1/collections/other/search", {"query": "d"}, birch)[0] == 404
    assert add(running, ["mine"], ["of birch alone"], None, birch)[0] == 200
    assert "mine" not in found(search(running, "of birch alone", acme))


def test_without_a_key_nothing_is_told(running, acme):
    for method, path in (
        ("GET", "/v1/collections"),
        ("POST", f"{BASE}/search"),
        ("POST", f"{BASE}/documents"),
        ("GET", f"{BASE}/documents/{IDS[0]}"),
        ("DELETE", f"{BASE}/documents/{IDS[0]}"),
        ("POST", "/console/sealed"),
    ):
        for key in (None, "sfm-wrong"):
            status, answer = ask(running, method, path, {"query": PRIVATE}, key)
            assert status == 401 and answer["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize(
    "name",
    [
        "..", "%2e%2e", "..%2f..%2fetc", "%2fetc%2fpasswd", "notes%00", "notes%2f..%2fother", "NOTES",
        "memory:", "memory:%2ftmp%2fx", "postgresql:%2f%2fevil.example%2fdb", "http:%2f%2f127.0.0.1:1", "key",
        "notes%20", "%F0%9F%94%91", "a" * 4000,
    ],
)  # fmt: skip
def test_a_name_never_becomes_a_path_or_an_address(running, acme, folder, name):
    before = sorted(path for path in folder.rglob("*") if "run/log" not in str(path))
    for method, rest in (
        ("POST", "search"),
        ("POST", "documents"),
        ("GET", "documents/x"),
        ("DELETE", "documents/x"),
    ):
        body = {"query": "x"} if rest == "search" else None
        status, _, answer = running.ask(method, f"/v1/collections/{name}/{rest}", body, acme)
        assert status in (404, 405), (status, answer)
        assert name[:40] not in json.dumps(answer) or name in ("..", "key")
    assert sorted(path for path in folder.rglob("*") if "run/log" not in str(path)) == before


BAD = [
    ("documents", b"{", "JSON"),
    ("documents", [], "object"),
    ("documents", {"ids": ["a"]}, "texts"),
    ("documents", {"ids": [], "texts": []}, "ids"),
    ("documents", {"ids": ["a", "a"], "texts": ["x", "y"]}, "unique"),
    ("documents", {"ids": ["a"], "texts": ["x", "y"]}, "one an id"),
    ("documents", {"ids": [7], "texts": ["x"]}, "str"),
    ("documents", {"ids": ["a" * 513], "texts": ["x"]}, "512"),
    ("documents", {"ids": ["a"], "texts": [None]}, "string"),
    ("documents", {"ids": ["a"], "texts": ["\ud800"]}, "surrogate"),
    ("documents", {"ids": ["a"], "texts": ["x" * 20_001]}, "20000 characters"),
    ("documents", {"ids": [str(n) for n in range(65)], "texts": ["x"] * 65}, "at most 64"),
    ("documents", {"ids": ["a"], "texts": ["x"], "metadata": [PRIVATE]}, "object"),
    ("documents", {"ids": ["a"], "texts": ["x"], "metadata": [{PRIVATE: 1}]}, "named by"),
    ("documents", {"ids": ["a"], "texts": ["x"], "metadata": [{"f": {"deep": PRIVATE}}]}, "must hold texts"),
    ("documents", {"ids": ["a"], "texts": ["x"], "metadata": [{f"f{n}": 1 for n in range(65)}]}, "64 fields"),
    ("documents", {"ids": ["a"], "texts": ["x"], "store": "memory:/tmp/evil"}, "nothing but"),
    ("documents/get", {"ids": [str(n) for n in range(257)]}, "at most 256"),
    ("documents/delete", {"ids": ["a"], "erase": "yes"}, "true or false"),
    ("search", {}, "not both"),
    ("search", {"query": "x", "queries": ["y"]}, "not both"),
    ("search", {"query": " "}, "blanks"),
    ("search", {"query": 7}, "string"),
    ("search", {"queries": ["x"] * 65}, "at most 64"),
    ("search", {"query": "x", "k": 0}, "from 1 to 1000"),
    ("search", {"query": "x", "k": True}, "whole number"),
    ("search", {"queries": ["x"] * 50, "k": 21}, "from 1 to 20"),
    ("search", {"query": "x", "where": [PRIVATE]}, "object"),
    ("search", {"query": "x", "where": {"f": []}}, "values"),
    ("search", {"query": "x", "where": {"f": {"$gt": 1}}}, "values"),
    ("search", {"query": "x", "wehre": {"f": 1}}, "nothing but"),
]


@pytest.mark.parametrize(("path", "body", "words"), BAD, ids=lambda each: str(each)[:40])
def test_bad_requests_are_one_line_that_repeats_nothing(running, acme, path, body, words):
    status, answer = ask(running, "POST", f"{BASE}/{path}", body, acme)
    assert status == 400, answer
    message = answer["error"]["message"]
    assert words in message and "\n" not in message and PRIVATE not in message


def test_large_bodies_are_refused_and_large_answers_too(running, acme):
    assert add(running, ["a"], ["x" * 39_990], None, acme)[0] == 413
    base = "/v1/collections/other"
    for number in range(3):
        assert add(running, [f"large{number}"], ["y" * 19_000], None, acme, base)[0] == 200
    ids = [f"large{number}" for number in range(3)]
    status, answer = ask(running, "POST", f"{base}/documents/get", {"ids": ids}, acme)
    assert status == 400 and answer["error"]["code"] == "answer_too_large"
    assert ask(running, "POST", f"{base}/documents/get", {"ids": ids[:1]}, acme)[0] == 200


def test_one_tenants_requests_may_come_all_at_once(running, acme):
    wrong = []

    def client(number):
        for turn in range(4):
            name = f"crowd-{number}-{turn}"
            text = f"crowd {number * 997} meets at {turn * 31} in harbour {number}{turn}"
            added = add(running, [name], [text], None, acme)
            if added[0] != 200 or name not in found(search(running, text, acme, k=5)):
                wrong.append((name, added))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
    ids = [f"crowd-{number}-{turn}" for number in range(6) for turn in range(4)]
    answer = ask(running, "POST", f"{BASE}/documents/get", {"ids": ids}, acme)[1]
    assert [each["id"] for each in answer["documents"]] == ids


def test_neither_log_nor_store_nor_state_holds_a_text_or_an_id(running, acme, folder):
    """Runs last: what the tests before it sent is looked for."""
    search(running, f"who is {PRIVATE}?", acme)
    ask(running, "GET", f"{BASE}/documents/{IDS[0]}", key=acme)
    ask(running, "POST", f"{BASE}/search", {"query": PRIVATE, "k": -1}, acme)
    private = [PRIVATE, *IDS, *TEXTS, "zeta-private", "%C3%BCn", "crowd", "harbour", acme]
    assert not [each for each in private if each in running.log]
    lines = [line for line in running.lines() if line["event"] == "request"]
    assert {line["route"] for line in lines} >= {
        "/v1/collections/{name}/search", "/v1/collections/{name}/documents/{id:path}", "other",
    }  # fmt: skip
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("log", "keys.json")]
    assert len(files) > 10
    for path in files:
        content = path.read_bytes()
        assert not [each for each in private if each.encode() in content], path.name
    modes = {path.stat().st_mode & 0o077 for path in (running.state / "sealed").rglob("*") if path.is_file()}
    assert modes == {0}
    shared = {(running.state / "sealed" / name / "key").read_bytes() for name in ("acme", "birch")}
    assert len(shared) == 2
