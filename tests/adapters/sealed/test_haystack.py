"""Haystack over a sealed collection: what a pipeline writes down, retrievers, policies, odd documents."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from haystack.errors import FilterError

from sfumato.adapters.sealed import SealedReference
from sfumato.adapters.sealed.haystack import (
    SealedDocumentStore,
    SealedEmbeddingRetriever,
    SealedTextRetriever,
)
from sfumato.errors import EndpointError, InputError, ParameterError
from sfumato.sealing import SealingKey
from tests.sealing.collections import ENCODER, metadata, names, notes, sealed

ROWS = 40
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


def documents():
    rows = zip(IDS, TEXTS, FIELDS, strict=True)
    return [Document(id=name, content=text, meta=fields) for name, text, fields in rows]


@pytest.fixture
def place(tmp_path):
    """Where a collection is: a store, a key and a state in one folder."""
    SealingKey.create(tmp_path / "key")
    paths = {
        "url": f"memory:{tmp_path}/rows",
        "key": str(tmp_path / "key"),
        "folder": str(tmp_path / "state"),
    }
    return {**paths, "embedder": "fake:48"}


@pytest.fixture
def store(place):
    made = SealedDocumentStore(place, strict=True)
    made.write_documents(documents())
    yield made
    made.close()


def test_a_pipeline_is_written_down_and_read_again(store, place, tmp_path):
    pipeline = Pipeline()
    pipeline.add_component("retriever", SealedTextRetriever(store, filters=where("ward", "ward 1"), top_k=3))
    written = pipeline.dumps()
    key = (tmp_path / "key").read_text().split()[1]
    assert place["key"] in written and place["folder"] in written and place["url"] in written
    assert key not in written and "Note 7" not in written and key not in json.dumps(store.to_dict())
    store.close()
    again = Pipeline.loads(written)
    found = again.run({"retriever": {"query": TEXTS[7]}})["retriever"]["documents"]
    assert found[0].id == IDS[7] and {each.meta["ward"] for each in found} == {"ward 1"} and len(found) == 3
    opened = again.get_component("retriever").document_store
    assert opened.to_dict() == store.to_dict()
    opened.close()


def test_a_password_or_a_key_is_not_written_down(tmp_path):
    key = SealingKey.create(tmp_path / "key")
    for url in ("postgresql://me:hunter2@host/db#notes", "postgresql://host/db?password=hunter2#notes"):
        reference = SealedReference(url, str(tmp_path / "key"), str(tmp_path))
        assert "hunter2" not in repr(reference) + str(reference)
        with pytest.raises(InputError, match="PGPASSWORD") as caught:
            reference.to_dict()
        assert "hunter2" not in str(caught.value)
    assert SealedReference("postgresql://me@host/db#notes", str(tmp_path / "key"), "x").to_dict()["url"]
    digits = (tmp_path / "key").read_text().split()[1]
    for wrong in (digits, (tmp_path / "key").read_text()):
        with pytest.raises(InputError, match="looks like a key") as caught:
            SealedReference("memory:", wrong, str(tmp_path)).to_dict()
        assert digits not in str(caught.value)
        assert digits not in repr(SealedReference("memory:", wrong, str(tmp_path)))
    assert key.fingerprint


def test_places_that_a_stranger_wrote_are_refused_in_one_line(place, tmp_path):
    for wrong in (
        {"url": "memory:"},
        {**place, "more": 1},
        {**place, "url": "nowhere:x"},
        {**place, "key": 3},
    ):
        with pytest.raises(ParameterError):
            SealedDocumentStore(wrong)
    with pytest.raises(InputError, match="cannot be read"):
        SealedDocumentStore({**place, "key": str(tmp_path / "absent")})
    assert not (tmp_path / "absent").exists()
    # Texts would be sent to a server of his.
    remote = {**place, "embedder": "openai:model@https://192.0.2.1/v1", "allow_remote": ["192.0.2.1"]}
    with pytest.raises((InputError, EndpointError), match="192.0.2.1"):
        SealedDocumentStore(remote)
    data = {
        "type": f"{SealedDocumentStore.__module__}.SealedDocumentStore",
        "init_parameters": {"sealed": remote},
    }
    with pytest.raises((InputError, EndpointError), match="192.0.2.1"):
        SealedDocumentStore.from_dict(data)


def test_a_collection_that_is_open_is_not_written_down(tmp_path):
    with sealed(tmp_path) as collection:
        with pytest.raises(InputError, match="SealedReference"):
            SealedDocumentStore(collection).to_dict()


def where(field, value, operator="=="):
    return {"field": f"meta.{field}", "operator": operator, "value": value}


def test_retrievers_by_text_and_by_embedding(store):
    vector = ENCODER.embed([TEXTS[7]])[0].tolist()
    by_text = SealedTextRetriever(store, top_k=4).run(TEXTS[7])["documents"]
    by_vector = SealedEmbeddingRetriever(store, top_k=4).run(vector)["documents"]
    assert by_text == by_vector and by_text[0].id == IDS[7] and len(by_text) == 4
    assert by_text[0].score == pytest.approx(1, abs=0.01) and by_text[0].embedding is None
    scaled = SealedTextRetriever(store, scale_score=True).run(TEXTS[7], top_k=4)["documents"]
    assert [each.score for each in scaled] == pytest.approx([(1 + each.score) / 2 for each in by_text])
    later = asyncio.run(SealedEmbeddingRetriever(store).run_async(vector, top_k=4))["documents"]
    assert later == by_vector
    for wrong in ({"top_k": 0}, {"top_k": -1}):
        with pytest.raises(ParameterError, match="`k` must be"):
            SealedTextRetriever(store).run("x", **wrong)
    with pytest.raises(ParameterError, match="SealedDocumentStore"):
        SealedTextRetriever(None)


def test_filters_of_a_run_replace_or_narrow(store):
    first, second = where("ward", "ward 1"), where("row", 10, "<")
    replaced = SealedTextRetriever(store, filters=first, top_k=ROWS)
    merged = SealedTextRetriever(store, filters=first, top_k=ROWS, filter_policy=FilterPolicy.MERGE)
    assert {each.meta["row"] for each in replaced.run("x")["documents"]} == set(range(1, ROWS, 3))
    assert {each.meta["row"] for each in replaced.run("x", second)["documents"]} == set(range(10))
    assert {each.meta["row"] for each in merged.run("x", second)["documents"]} == {1, 4, 7}
    # Haystack's own rule drops the first of two whose operators differ, and logs both.
    either = {"operator": "OR", "conditions": [where("row", 1), where("row", 2)]}
    assert {each.meta["row"] for each in merged.run("x", either)["documents"]} == {1}
    again = SealedTextRetriever.from_dict(merged.to_dict())
    assert again.filter_policy == FilterPolicy.MERGE and again.filters == first
    again.document_store.close()


def test_a_filter_that_is_none_is_refused_before_anything_is_opened(place):
    store = SealedDocumentStore(place)
    for wrong in (
        {"operator": "AND"},
        {"field": "meta.row", "value": 1},
        where("row", 1, "~"),
        where("row", 1, "in"),
    ):
        with pytest.raises(FilterError):
            store.filter_documents(wrong)
        with pytest.raises(FilterError):
            SealedTextRetriever(store).run("x", wrong)
    store.close()


def test_odd_documents_come_back_whole(store):
    vector = ENCODER.embed(["x"])[0].tolist()
    odd = [
        Document(id="blob", content="with bytes", blob=ByteStream(b"\0\xff", meta={"a": 1}, mime_type="x/y")),
        Document(id="sparse", content="sparse", sparse_embedding=SparseEmbedding([1, 5], [0.5, 1.5])),
        Document(id="scored", content="scored", score=0.25),
        Document(id="empty", content="", embedding=vector),
        Document(id="silent", embedding=vector, meta={"nested": {"a": [1, None]}}),
    ]
    assert store.write_documents(odd) == len(odd)
    found = {each.id: each for each in store.filter_documents()}
    for each in odd:
        assert found[each.id] == replace(each, embedding=None)
    with pytest.raises(InputError, match="Document 1 must have a text or an embedding"):
        store.write_documents([Document(content="fine", embedding=vector), Document(id="neither")])


def test_policies_within_one_call(store):
    one, two = Document(id="same", content="one"), Document(id="same", content="two")
    assert store.write_documents([one, two], DuplicatePolicy.SKIP) == 1
    assert store.filter_documents({"field": "id", "operator": "==", "value": "same"})[0].content == "one"
    assert store.write_documents([one, two], DuplicatePolicy.OVERWRITE) == 2
    assert store.filter_documents({"field": "id", "operator": "==", "value": "same"})[0].content == "two"
    assert store.count_documents() == ROWS + 1


def test_metadata_is_added_to_and_the_vector_stays(store):
    vector = ENCODER.embed(["quite another text"])[0].tolist()
    store.write_documents([Document(id="own", content="its text", embedding=vector, meta={"a": 1})])
    assert store.update_by_filter(where("a", 1), {"b": [2]}) == 1
    found = SealedEmbeddingRetriever(store, top_k=1).run(vector)["documents"][0]
    assert found.id == "own" and found.meta == {"a": 1, "b": [2]} and found.content == "its text"
    assert found.score == pytest.approx(1, abs=0.01)


def test_a_pipeline_may_be_asynchronous(store):
    pipeline = Pipeline()
    pipeline.add_component("retriever", SealedTextRetriever(store, top_k=1))

    async def many():
        asked = [pipeline.run_async({"retriever": {"query": text}}) for text in TEXTS[:6]]
        return await asyncio.gather(*asked)

    found = [each["retriever"]["documents"][0].id for each in asyncio.run(many())]
    assert found == IDS[:6]
