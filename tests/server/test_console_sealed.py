"""The console's sealed view in Chromium: what a tenant finds, beside what its store saw and holds."""

from __future__ import annotations

import base64

import pytest

from sfumato.records import make_records
from sfumato.server.tenancy.keys import new_key
from sfumato.stores import open_store
from tests.server.running import gateway
from tests.server.sealed import add, allow
from tests.server.test_console import CONTRAST, FOCUSED, WIDER, assert_clean, browser, page, save_diseases

__all__ = ["browser", "page"]
QUERY = "late parcel with a broken lamp"
RECORDS = [record.text for record in make_records(150, seed=3)]
IDS = [f"note-{number}" for number in range(len(RECORDS))]
NOTES = {"embedder": "wordllama"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sealed-view")


@pytest.fixture(scope="module")
def running(folder):
    """A gateway with a protector and two collections, one of them empty."""
    stores = {name: {**NOTES, "store": f"memory:{folder}/{name}"} for name in ("notes", "empty")}
    file = allow(folder / "collections.json", {"local": stores})
    protector = save_diseases(folder / "diseases")
    with gateway(folder / "run", protector, "--collections", str(file)) as found:
        metadata = [{"ward": number % 7} for number in range(len(IDS))]
        assert add(found, IDS, RECORDS, metadata)[0] == 200
        yield found


def opened(page, running):
    page.goto(running.url)
    page.click("[data-view=sealed]")
    page.select_option("#collection", "notes")
    return page


def search(page, query=QUERY):
    page.fill("#query", query)
    with page.expect_response("**/console/sealed") as answer:
        page.click("#find")
    page.wait_for_selector("#sides:not([hidden])")
    return answer.value.json()


@pytest.mark.parametrize(
    "page", [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")], indirect=True, ids=str
)
def test_both_sides_in_every_size_and_colour(page, running):
    opened(page, running)
    answer = search(page)
    assert page.locator("#found li").count() == 5
    assert "score 0." in page.inner_text("#found") and "ward" in page.inner_text("#found")
    left, right = page.inner_text("#found"), page.inner_text("#requests")
    assert [hit["text"] in left for hit in answer["results"][0]["hits"]] == [True] * 5
    assert not [each for each in (*RECORDS, *IDS, QUERY, "ward") if each in right]
    assert page.locator("#requests table caption").count() == len(answer["requests"]) == 2
    assert page.locator("#requests details").first.is_visible()
    page.locator("#requests summary").first.click()
    assert page.inner_text("#stolen").count("\n") and "150 documents" in page.inner_text("#stolen")
    assert page.locator("#classes tr").count() == len(answer["store"]["classes"])
    assert page.evaluate(WIDER) <= 0
    assert page.evaluate(CONTRAST) == []
    assert_clean(page, running)


def test_the_right_side_is_what_the_store_holds(page, running, folder):
    """The very records, ids, sizes and first bytes, out of the store's own files."""
    answer = search(opened(page, running))
    with open_store(f"memory:{folder}/notes", create=False) as raw:
        held = {
            name: base64.b64decode(fields["sealed"])
            for rows in raw.batches()
            for name, fields in zip(rows.ids, rows.metadata, strict=True)
        }
    assert answer["store"]["records"] == answer["store"]["looked_at"] == len(held)
    sizes = [len(each) for each in held.values()]
    assert {each["bytes"]: each["records"] for each in answer["store"]["classes"]}.items() <= {
        size: sizes.count(size) for size in sizes
    }.items()
    assert answer["store"]["bytes"] == sum(sizes)
    for request in answer["requests"]:
        assert len(request["shown"]) == min(64, request["records"])
        for record in request["shown"]:
            assert record["bytes"] == len(held[record["id"]])
            assert record["begins"] == held[record["id"]][:12].hex(" ")
    assert answer["requests"][1]["records"] == 32
    shown = page.locator("#requests tbody tr").first.locator("td").all_inner_texts()
    first = answer["requests"][0]["shown"][0]
    assert shown == [first["id"], str(first["bytes"]), first["begins"]]


def test_what_is_asked_for_here_is_bounded(running):
    for body, status in (
        ({"collection": "notes", "query": "x" * 40_000}, 413),
        ({"collection": "notes", "query": "x" * 2001}, 400),
        ({"collection": "notes", "query": " "}, 400),
        ({"collection": "notes", "query": "\ud800"}, 400),
        ({"collection": 7, "query": "x"}, 400),
        ({"collection": "../notes", "query": "x"}, 404),
        ({"query": "x"}, 400),
    ):
        assert running.ask("POST", "/console/sealed", body)[0] == status, body


def test_an_empty_collection_and_trouble_are_said(page, running):
    opened(page, running)
    page.select_option("#collection", "empty")
    search(page)
    assert "the collection is empty" in page.inner_text("#you-see")
    page.evaluate("() => { document.querySelector('#collection').append(new Option('gone', 'gone')); }")
    page.select_option("#collection", "gone")
    page.click("#find")
    page.get_by_text("There is no collection of this name").wait_for()


def test_by_keyboard_alone_and_every_control_has_a_name(page, running):
    page.goto(running.url)
    page.wait_for_selector("#views:not([hidden])")
    order = []
    for _ in range(6):
        page.keyboard.press("Tab")
        order.append(page.evaluate("() => document.activeElement.dataset.view") or page.evaluate(FOCUSED))
        if order[-1] == "sealed":
            page.keyboard.press("Enter")
        if order[-1] == "query":
            page.keyboard.type(QUERY)
            page.keyboard.press("Enter")
    assert order[:5] == ["protected", "sealed", "collection", "query", "find"]
    page.wait_for_selector("#sides:not([hidden])")
    assert page.get_attribute("[data-view=sealed]", "aria-pressed") == "true"
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, textarea, button, select")].filter((e) =>
        !(e.labels && e.labels.length) && !e.textContent.trim() && !e.ariaLabel).map((e) => e.outerHTML)"""
    )
    assert unnamed == []


def test_without_a_protector_the_sealed_view_is_all_there_is(page, folder, tmp_path):
    keys = tmp_path / "keys.json"
    key, other = new_key(keys, "acme"), new_key(keys, "birch")
    file = allow(tmp_path / "c.json", {"acme": {"notes": {**NOTES, "store": f"memory:{tmp_path}/store"}}})
    with gateway(tmp_path / "run", None, "--collections", str(file), "--keys", str(keys)) as running:
        assert add(running, IDS[:3], RECORDS[:3], key=key)[0] == 200
        page.goto(running.url)
        page.wait_for_selector("#key-form:not([hidden])")
        page.fill("#key", other)
        page.keyboard.press("Enter")
        page.get_by_text("There is nothing behind this key").wait_for()
        assert page.is_hidden("#sealed") and page.is_hidden("#open")
        page.reload()
        page.fill("#key", key)
        page.keyboard.press("Enter")
        page.wait_for_selector("#sealed:not([hidden])")
        assert page.is_hidden("#views") and page.is_hidden("#open") and page.is_hidden("#choose")
        search(page)
        assert page.locator("#found li").count() == 3
        kept = page.evaluate("() => [localStorage.length, sessionStorage.length, document.cookie]")
        assert kept == [0, 0, ""]
        status, _, answer = running.ask(
            "POST", "/console/sealed", {"collection": "notes", "query": "x"}, other
        )
        assert status == 404 and answer["error"]["code"] == "no_collection"
        assert not [each for each in (*RECORDS[:3], *IDS[:3], QUERY, key) if each in running.log]
