"""LlamaIndex over a sealed collection: what its base class promises, asked of every method and operator."""

from __future__ import annotations

import asyncio
import json

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from sfumato.adapters.sealed.llama_index import SealedNodeVectorStore
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from tests.adapters.sealed.cases import nodes
from tests.sealing.collections import ENCODER, notes, sealed

ROWS = 24
TEXTS = notes(ROWS)
IDS = [f"node-{row}" for row in range(ROWS)]
FIELDS = [
    {
        "row": row,
        "half": row / 2,
        "name": f"Name {row}",
        "tags": ["even" if row % 2 == 0 else "odd", f"t{row}"],
    }
    | ({"rare": None} if row % 3 else {"rare": "yes"})
    for row in range(ROWS)
]


def part_of(node, source):
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=source)
    return node


@pytest.fixture
def store(tmp_path):
    with sealed(tmp_path) as collection:
        made = SealedNodeVectorStore(collection, strict=True)
        own = nodes(IDS, TEXTS, FIELDS)
        assert made.add([part_of(each, f"doc-{row % 4}") for row, each in enumerate(own)]) == IDS
        yield made


def rows(found):
    return {each.metadata["row"] for each in found}


def only(*conditions, condition="and"):
    made = [each if isinstance(each, MetadataFilters) else MetadataFilter(**each) for each in conditions]
    return MetadataFilters(filters=made, condition=condition)


def query(text=None, k=5, **options):
    vector = None if text is None else ENCODER.embed([text])[0].tolist()
    return VectorStoreQuery(query_embedding=vector, similarity_top_k=k, **options)


def test_it_is_a_vector_store(store):
    assert isinstance(store, BasePydanticVectorStore)
    assert store.stores_text and store.is_embedding_query and store.client is None
    assert store.persist("anywhere") is None


def test_nodes_come_back_whole(store):
    vector = ENCODER.embed(["x"])[0].tolist()
    about = {"title": "x", "list": [1, {"a": None}]}
    made = [
        TextNode(id_="text", text="ä text", metadata=about, excluded_embed_metadata_keys=["title"],
                 text_template="{content}", start_char_idx=3, end_char_idx=9),
        IndexNode(id_="index", text="an index", index_id="other", metadata=about),
        ImageNode(id_="image", text="an image", image_path="x.png", metadata=about),
        Node(id_="node", metadata=about),
        Document(id_="document", text="a document", metadata=about),
    ]  # fmt: skip
    for node in made:
        node.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="text", metadata={"n": 1})
        node.embedding = vector
    store.add(made)
    for node in made:
        (found,) = store.get_nodes([node.node_id])
        assert found.embedding is None and found.metadata == about
        assert found.relationships == node.relationships and found.get_content() == node.get_content()
    found = store.get_nodes(["text"])[0]
    assert found.model_dump() == made[0].model_dump() | {"embedding": None}
    assert type(store.get_nodes(["index"])[0]) is IndexNode
    assert store.get_nodes(["index"])[0].index_id == "other"
    assert store.get_nodes(["image"])[0].image_path == "x.png"


def test_queries_rank_by_cosine(store):
    found = store.query(query(TEXTS[5], 4))
    assert found.ids[0] == IDS[5] and [each.node_id for each in found.nodes] == found.ids
    assert found.similarities == sorted(found.similarities, reverse=True)
    assert found.similarities[0] == pytest.approx(1, abs=0.01) and found.nodes[0].ref_doc_id == "doc-1"
    by_text = store.query(VectorStoreQuery(query_str=TEXTS[5], similarity_top_k=4))
    assert by_text.ids == found.ids
    with pytest.raises(InputError, match="a vector or a text"):
        store.query(VectorStoreQuery())


def test_queries_among_some_nodes_or_documents(store):
    # The furthest ones: a search of the nearest alone would not reach them.
    far = store.query(query(TEXTS[5], ROWS)).ids[-3:]
    found = store.query(query(TEXTS[5], 2, node_ids=[*far, "absent"]))
    assert found.ids == far[:2]
    assert store.query(query(TEXTS[5], 2, node_ids=[])).ids[0] == IDS[5]  # as an index asks for all
    assert store.query(query(TEXTS[5], 2, node_ids=["absent"])).ids == []
    assert store.query(VectorStoreQuery(query_str=TEXTS[5], similarity_top_k=2, node_ids=far)).ids == far[:2]
    chosen = store.query(query(TEXTS[5], 3, node_ids=far, filters=only({"key": "row", "value": -1})))
    assert chosen.ids == []
    assert rows(store.query(query(TEXTS[5], 20, doc_ids=["doc-3"])).nodes) == set(range(3, ROWS, 4))


OPERATORS = {
    FilterOperator.EQ: ("row", 5, {5}),
    FilterOperator.NE: ("row", 5, set(range(ROWS)) - {5}),
    FilterOperator.GT: ("row", 20, {21, 22, 23}),
    FilterOperator.GTE: ("half", 10.5, {21, 22, 23}),
    FilterOperator.LT: ("row", 2, {0, 1}),
    FilterOperator.LTE: ("half", 0.5, {0, 1}),
    FilterOperator.IN: ("name", ["Name 3", "Name 4", "x"], {3, 4}),
    FilterOperator.NIN: ("row", list(range(2, ROWS)), {0, 1}),
    FilterOperator.ANY: ("tags", ["t1", "t2"], {1, 2}),
    FilterOperator.ALL: ("tags", ["odd", "t5"], {5}),
    FilterOperator.TEXT_MATCH: ("name", "Name 23", {23}),
    FilterOperator.TEXT_MATCH_INSENSITIVE: ("name", "nAME 23", {23}),
    FilterOperator.CONTAINS: ("tags", "t9", {9}),
    FilterOperator.IS_EMPTY: ("rare", None, {row for row in range(ROWS) if row % 3}),
}


@pytest.mark.parametrize("operator", FilterOperator)
def test_every_operator(store, operator):
    key, value, expected = OPERATORS[operator]
    chosen = only({"key": key, "value": value, "operator": operator})
    assert rows(store.get_nodes(filters=chosen)) == expected
    assert rows(store.query(query(TEXTS[0], ROWS, filters=chosen)).nodes) == expected


def test_conditions_nest(store):
    low, even = (
        {"key": "row", "value": 4, "operator": "<"},
        {"key": "tags", "value": "even", "operator": "contains"},
    )
    last = {"key": "row", "value": 23}
    assert rows(store.get_nodes(filters=only(low, even))) == {0, 2}
    assert rows(store.get_nodes(filters=only(low, last, condition="or"))) == {0, 1, 2, 3, 23}
    assert rows(store.get_nodes(filters=only(even, low, condition="not"))) == set(range(5, ROWS, 2))
    assert rows(store.get_nodes(filters=only(only(low, even), last, condition="or"))) == {0, 2, 23}
    assert len(store.get_nodes(filters=MetadataFilters(filters=[]))) == ROWS
    assert [each.node_id for each in store.get_nodes([IDS[9], IDS[2]], only(even))] == [IDS[2]]
    with pytest.raises(InputError, match="does not fit the values of the field 'name'") as caught:
        store.get_nodes(filters=only({"key": "name", "value": 3, "operator": ">"}))
    assert "Name" not in str(caught.value).replace("'name'", "")


@pytest.mark.parametrize("mode", [mode for mode in VectorStoreQueryMode if mode != "default"])
def test_modes_that_a_sealed_collection_does_not_have_are_refused(store, mode):
    with pytest.raises(InputError, match=f"Found `{mode.value}`"):
        store.query(query(TEXTS[0], mode=mode))


def test_nodes_go_by_document_by_id_and_by_filter(store):
    store.delete("doc-1")
    assert rows(store.get_nodes()) == {row for row in range(ROWS) if row % 4 != 1}
    store.delete("absent")
    store.delete_nodes([IDS[0], "absent"])
    store.delete_nodes([IDS[2], IDS[3]], only({"key": "row", "value": 3}))
    store.delete_nodes(filters=only({"key": "row", "value": 20, "operator": ">"}))
    assert rows(store.get_nodes()) == {row for row in range(2, 21) if row % 4 != 1} - {3}
    left = len(store.get_nodes())
    store.delete_nodes()  # neither: nothing
    assert len(store.get_nodes()) == left
    store.clear()
    assert store.get_nodes() == [] and store.query(query(TEXTS[0])).nodes == []


def test_adding_again_replaces(store):
    store.add(nodes([IDS[4]], ["another text"], [{"row": 400}]))
    assert len(store.get_nodes()) == ROWS and store.get_nodes([IDS[4]])[0].text == "another text"
    assert store.add([]) == []
    with pytest.raises(InputError, match="Node 1 must have an embedding"):
        store.add([*nodes(["a"], ["b"], [{}]), TextNode(text="none")])
    assert store.get_nodes(["a"]) == []


def test_every_method_has_its_coroutine(store):
    async def all_of_them():
        assert await store.async_add(nodes(["new"], ["a new text"], [{"row": 99}])) == ["new"]
        assert (await store.aquery(query("a new text", 1))).ids == ["new"]
        assert rows(await store.aget_nodes(["new"])) == {99}
        await store.adelete("doc-1")
        await store.adelete_nodes([IDS[0]])
        await store.adelete_nodes(filters=only({"key": "row", "value": 99}))
        assert rows(await store.aget_nodes()) == {row for row in range(1, ROWS) if row % 4 != 1}
        await store.aclear()
        assert await store.aget_nodes() == []

    asyncio.run(all_of_them())


class Encoder(BaseEmbedding):
    """The packaged encoder as LlamaIndex expects one."""

    def _get_text_embedding(self, text):
        return load_embedder("minilm").embed([text])[0].tolist()

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)


def test_an_index_over_it(tmp_path):
    texts = {
        "pets": "The cat sleeps on the warm windowsill.",
        "bank": "The bank raised its interest rate on mortgages.",
        "sick": "The child had a high temperature and a sore throat.",
    }
    with sealed(tmp_path, embedder="minilm") as collection:
        store = SealedNodeVectorStore(collection, strict=True)
        documents = [Document(id_=name, text=text, metadata={"about": name}) for name, text in texts.items()]
        context = StorageContext.from_defaults(vector_store=store)
        VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=Encoder())
        index = VectorStoreIndex.from_vector_store(store, embed_model=Encoder())
        (found,) = index.as_retriever(similarity_top_k=1).retrieve("a boy with fever")
        assert found.node.ref_doc_id == "sick" and found.text == texts["sick"] and 0.2 < found.score < 1
        chosen = only({"key": "about", "value": "bank"})
        (found,) = index.as_retriever(filters=chosen).retrieve("a boy with fever")
        assert found.node.metadata == {"about": "bank"}
        index.delete_ref_doc("sick")
        assert {each.ref_doc_id for each in store.get_nodes()} == {"pets", "bank"}


def test_what_llama_index_writes_down_holds_no_key_and_no_text(store, tmp_path):
    key = (tmp_path / "key").read_text().split()[1]
    written = [store.to_json(), json.dumps(store.to_dict()), str(store.model_dump()), repr(store), str(store)]
    assert not [each for each in written if key in each or "Note 7" in each or "memory" in each[:20]]
    assert json.loads(store.to_json())["class_name"] == "SfumatoSealedNodeVectorStore"
    with pytest.raises(InputError, match="Give a SealedStore"):
        SealedNodeVectorStore.from_json(store.to_json())
