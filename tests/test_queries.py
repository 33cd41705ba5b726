"""Searches by their own vectors: exact, counted without a promise, and no way to what is hidden."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import BudgetError, ParameterError
from sfumato.mechanisms import Laplace, Projection
from sfumato.protector import Protector
from sfumato.queries import embed_queries, query_by
from sfumato.stores import ProtectedStore
from sfumato.stores.kinds.memory import Memory

DIM = 32
TEXTS = ["Moved to Lisbon in May.", "A quiet week."]
CITIES = ("Lisbon", "Porto", "Faro", "Braga", "Evora")


def protector(tmp_path=None, **limits):
    concept = Concept.from_terms("city", CITIES)
    made = Protector(Laplace.from_noise_ratio(0.3, dim=DIM), Fake(dim=DIM), (concept,), neutral_by="removal")
    if tmp_path is not None:
        made.secret = Secret.generate()
        made.ledger = Ledger(tmp_path / "ledger", secret=made.secret, **({"ceiling": None} | limits))
    return made


def test_a_clean_query_is_the_texts_own_vector_and_a_protected_one_is_not():
    own = Fake(dim=DIM).embed(TEXTS)
    assert embed_queries(protector(), TEXTS, "clean").tobytes() == own.tobytes()
    assert query_by(protector(), own, "clean").tobytes() == own.tobytes()
    for released in (embed_queries(protector(), TEXTS), query_by(protector(), own)):
        assert not np.allclose(released, own, atol=0.01)
    assert embed_queries(protector(), [], "clean").shape == (0, DIM)


def test_it_costs_infinity_on_the_account_of_the_protected_text(tmp_path):
    made = protector(tmp_path)
    made.embed(TEXTS)
    assert made.spent(TEXTS[0]).epsilon < math.inf
    embed_queries(made, TEXTS[:1], "clean")
    assert made.spent(TEXTS[0]).epsilon == math.inf and made.spent(TEXTS[1]).epsilon < math.inf
    # Texts that differ in the hidden term are one account: what tells the one tells the other's rest.
    assert made.spent(TEXTS[0].replace("Lisbon", "Porto")).epsilon == math.inf
    kinds = {(each["mechanism"], each["proof"]): each["rows"] for each in made.ledger.summary()["spends"]}
    assert kinds["identity", "none"] == 1
    query_by(made, Fake(dim=DIM).embed(["elsewhere"]), "clean")
    assert made.ledger.total()["none"].epsilon == math.inf


@pytest.mark.parametrize(
    "limits", [{"ceiling": 1e9}, {"metric": "curve", "ceiling_advantage": 0.999, "distance": 0.1}], ids=str
)
def test_no_ceiling_has_room_for_it(tmp_path, limits):
    made = protector(tmp_path, **({"ceiling": None} | limits))
    store = ProtectedStore(Memory(), made, queries="clean")
    with pytest.raises(BudgetError, match="Row 0"):
        store.search(TEXTS, 1)
    assert made.spent(TEXTS[0]).releases == 0
    assert len(ProtectedStore(Memory(), made).search(TEXTS, 1)) == 2  # a protected one fits


def test_dimensions_that_do_not_fit_are_refused():
    made = Protector(Projection(epsilon=50.0, components=8), Fake(dim=DIM))
    with pytest.raises(ParameterError, match="keeps the dimension"):
        embed_queries(made, TEXTS, "clean")
    with pytest.raises(ParameterError, match="`queries` must be"):
        ProtectedStore(Memory(), made, queries="plain")


def found(store, texts):
    """Of the ten nearest rows to each city's name, how many name it, on average."""
    hits = store.search([f"a visit to {city}" for city in CITIES], 10)
    named = [city in texts[int(hit.id)] for city, row in zip(CITIES, hits, strict=True) for hit in row]
    return sum(named) / len(named)


def test_what_is_hidden_is_not_found_by_its_name_whatever_searches_are_made_by():
    words = [f"Note {n}: the {thing} of {n % 7} days to {city} ended well." for n, (thing, city) in enumerate(
        (thing, city) for thing in ("visit", "trip", "stay", "move") for city in CITIES for _ in range(3)
    )]  # fmt: skip
    hidden = protector()
    hidden.embedder, hidden.mechanism = "wordllama", Laplace.from_noise_ratio(0.3, dim=256)
    open_ = Protector(Laplace.from_noise_ratio(0.01, dim=256), "wordllama")
    shares = {}
    for name, made, queries in (
        ("clean", open_, "clean"),
        ("protected", hidden, "protected"),
        ("clean searches", hidden, "clean"),
    ):
        store = ProtectedStore(Memory(), made, queries=queries)
        store.add([str(row) for row in range(len(words))], words)
        shares[name] = found(store, words)
    # A fifth of the notes name each city.
    assert shares["clean"] > 0.9 and shares["protected"] < 0.45 and shares["clean searches"] < 0.45
