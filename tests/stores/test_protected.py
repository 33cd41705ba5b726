"""A protector in front of a store: what reaches the store, and what a user gets back."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import BudgetError, InputError, ParameterError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector, TextsMissingWarning
from sfumato.stores import Memory, ProtectedStore, open_store
from sfumato.stores.provenance import PROVENANCE
from tests.stores.servers import postgres

DIM = 64
TEXTS = [
    f"The patient in room {i} of the Lisbon ward has {what}."
    for i, what in enumerate(["asthma", "gout", "mumps"])
]
IDS = ["a", "b", "c"]


def protector(**changes):
    settings = {
        "embedder": Fake(dim=DIM),
        "concepts": (Concept.from_terms("disease", ["asthma", "gout", "mumps"]),),
    }
    return Protector(Laplace.from_noise_ratio(0.3, dim=DIM), **{**settings, **changes})


def test_documents_are_released_and_found():
    store = ProtectedStore(Memory(), protector())
    store.add(IDS, TEXTS, metadata=[{"room": i} for i in range(3)])
    clean = Fake(dim=DIM).embed(TEXTS)
    stored = store.store.get(IDS)
    for mine, theirs in zip(clean, stored.vectors, strict=True):
        assert 0.3 < float(mine @ theirs) / np.linalg.norm(theirs) < 0.99
    assert [set(fields) for fields in stored.metadata] == [{"room", PROVENANCE}] * 3
    hits = store.search([TEXTS[1]], 3)[0]
    assert {hit.id for hit in hits} == set(IDS) and all(set(hit.metadata) == {"room"} for hit in hits)
    assert [hit.id for hit in store.search([TEXTS[1]], 3, where={"room": 1})[0]] == ["b"]
    store.delete(["b"])
    assert len(store) == 2 and "b" not in {hit.id for hit in store.search([TEXTS[1]], 3)[0]}


def test_queries_get_fresh_noise_or_none():
    inner = Recording()
    ProtectedStore(inner, protector()).add(IDS, TEXTS)
    inner.seen.clear()
    shielded, open_ = ProtectedStore(inner, protector()), ProtectedStore(inner, protector(), queries="clean")
    for _ in range(2):
        shielded.search(TEXTS[:1], 1)
    open_.search(TEXTS[:1], 1)
    own = Fake(dim=DIM).embed(TEXTS[:1])
    first, second, third = inner.seen
    assert not np.array_equal(first, second) and not np.allclose(first, own, atol=0.01)
    assert np.array_equal(third, own)
    shielded.search(vectors=own, k=1)
    assert not np.allclose(inner.seen[-1], own, atol=0.01)


class Recording(Memory):
    """Remembers every vector and field that reached it."""

    def __init__(self):
        super().__init__()
        self.seen, self.fields = [], []

    def add(self, ids, vectors, metadata=None):
        self.seen.append(np.array(vectors))
        self.fields += list(metadata or [])
        super().add(ids, vectors, metadata)

    def search(self, vectors, k=10, where=None):
        self.seen.append(np.array(vectors))
        return super().search(vectors, k, where)


def test_neither_texts_nor_raw_vectors_reach_a_table_in_postgres():
    raw = Fake(dim=DIM).embed(TEXTS)
    with postgres() as base:
        with ProtectedStore(open_store(f"{base}#notes"), protector()) as store:
            store.add(IDS, TEXTS, metadata=[{"room": i} for i in range(3)])
            with pytest.warns(TextsMissingWarning):
                store.add(["d"], vectors=raw[:1])
            store.search(TEXTS)
        with open_store(f"{base}#clean") as store:
            store.add(["control"], raw[:1])
        import psycopg

        with psycopg.connect(base) as connection:
            dump, clean = (
                str(connection.execute(f"SELECT row_to_json({name})::text FROM {name}").fetchall())
                for name in ("notes", "clean")
            )
    assert dump.count(PROVENANCE) == 4 and '"room": 2' in dump

    def shown(vector, where):
        """The share of its numbers that stand there, by their first digits: a few do by chance."""
        return np.mean([f"{value:.8f}"[:8] in where for value in vector if abs(value) > 0.05])

    assert shown(raw[0], clean) > 0.9
    for text, vector in zip(TEXTS, raw, strict=True):
        assert text not in dump and "Lisbon" not in dump
        assert shown(vector, dump) < 0.2


def test_sticky_noise_repeats_itself_and_never_across_versions_of_a_row(tmp_path):
    secret = Secret.from_file(tmp_path / "key", create=True)
    inner = Recording()
    store = ProtectedStore(inner, protector(secret=secret))
    store.add(IDS, TEXTS)
    store.add(IDS, TEXTS)
    assert np.array_equal(inner.seen[0], inner.seen[1])
    raw = Fake(dim=DIM).embed(TEXTS)
    for vectors in (raw, raw, raw[::-1]):
        with pytest.warns(TextsMissingWarning):
            store.add(IDS, vectors=vectors)
    first, second, moved = (
        each - mine for each, mine in zip(inner.seen[2:], (raw, raw, raw[::-1]), strict=True)
    )
    assert np.array_equal(first, second)
    # The row has another vector, so it gets another noise: the same would cancel out.
    assert not np.allclose(first[0], moved[0], atol=0.05)


def test_the_ledger_holds_back_what_is_over_the_ceiling(tmp_path):
    secret = Secret.from_file(tmp_path / "key", create=True)
    noise = Laplace.from_noise_ratio(0.3, dim=DIM)
    ledger = Ledger(tmp_path / "ledger", secret=secret, ceiling=1.5 * noise.guarantee.epsilon)
    inner = Recording()
    store = ProtectedStore(inner, protector(ledger=ledger))
    store.add(IDS, TEXTS)
    with pytest.raises(BudgetError):
        store.add(IDS, TEXTS)
    assert len(inner.seen) == 1


def test_a_text_in_the_metadata_is_refused_unless_it_is_asked_for():
    inner = Recording()
    store = ProtectedStore(inner, protector())
    for fields in ({"body": TEXTS[1]}, {"body": f"Title\n{TEXTS[1]}"}):
        with pytest.raises(InputError, match="^Row 1 has its text in the metadata field `body`") as caught:
            store.add(IDS, TEXTS, metadata=[{}, fields, {}])
        assert TEXTS[1] not in str(caught.value)
    assert inner.seen == [] and len(store) == 0
    ProtectedStore(inner, protector(), keep_text="document").add(IDS, TEXTS)
    assert [fields["document"] for fields in inner.fields] == TEXTS


def test_bad_input():
    store = ProtectedStore(Memory(), protector())
    for attempt in (
        lambda: store.add(IDS),
        lambda: store.add(IDS, TEXTS[:2]),
        lambda: store.add(IDS, "one text"),
        lambda: store.add(IDS, vectors=np.ones((2, DIM))),
        lambda: store.add(["a", "a"], TEXTS[:2]),
        lambda: store.search(),
        lambda: store.search(TEXTS, vectors=np.ones((1, DIM))),
    ):
        with pytest.raises(InputError):
            attempt()
    with pytest.raises(ParameterError, match="queries"):
        ProtectedStore(Memory(), protector(), queries="quiet")
    assert len(store) == 0
