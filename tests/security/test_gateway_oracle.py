"""The gateway is asked, as the tenant whose releases are stored, for every sentence the term may be in."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from sfumato.concepts.concept import Concept
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector
from tests.server.running import gateway

CITIES = tuple(
    "Bergen Cadiz Delft Essen Geneva Hamburg Izmir Kyoto Lisbon Madrid Naples Oslo Prague Quito Turin".split()
)


def sentence(city):
    return f"the patient from {city} asked for a second opinion"


def vectors(answer):
    return np.stack([np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in answer["data"]])


def test_no_term_is_named_through_the_gateway_and_no_budget_is_gained(tmp_path):
    pytest.importorskip("wordllama")
    place = Concept.from_terms("place", CITIES)
    made = Protector(Laplace.from_noise_ratio(1.0, dim=256), "wordllama", (place,), neutral=4)
    save_protector(made, tmp_path / "places")
    ceiling = 1.5 * made.guarantee.epsilon  # one release a text
    with gateway(tmp_path / "gateway", tmp_path / "places", "--ceiling", str(ceiling)) as running:
        stored, answers = [], []
        for into, texts in ((stored, CITIES[::-1]), (answers, CITIES)):
            for city in texts:
                status, _, answer = running.embed(
                    [sentence(city)], input_type="document", encoding_format="base64"
                )
                assert status == 200, answer
                into.append(vectors(answer)[0])
        status, _, _ = running.embed([sentence(CITIES[0])], input_type="query")
        assert status == 429  # that account is spent, whichever city is named
        counted = [row["accounts"] for row in running.ledger().summary()["accounts"]]
    distances = np.linalg.norm(np.stack(stored)[::-1][:, None] - np.stack(answers)[None], axis=2)
    nearest = distances <= distances.min(axis=1, keepdims=True) + 1e-9
    assert nearest.all()  # every candidate fits every stored row equally well
    assert counted == [1]
