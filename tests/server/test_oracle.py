"""An attacker with a key of his own asks a real gateway, for releases and for searches, and compares."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.known_texts import answering
from sfumato.attacks.known_texts.oracle import OracleAttack
from sfumato.embedders import Fake
from sfumato.errors import EndpointError, InputError
from sfumato.mechanisms import Laplace
from sfumato.metrics.intervals import exact_share
from sfumato.protector import Protector
from sfumato.saving import save_protector
from sfumato.server.tenancy.keys import new_key
from sfumato.trials.running import figures_of
from tests.server.running import DIM, gateway
from tests.server.sealed import BASE, add, allow
from tests.test_protector import PLACE, PLACES, sentences

TEXTS = [text for text in dict.fromkeys(sentences(300)) if PLACE.find(text)][:40]
CLEAN = Fake(dim=DIM).embed(TEXTS)
KEY = "SFUMATO_KEY_127_0_0_1"


def saved(folder, **settings):
    made = Protector(
        Laplace.from_noise_ratio(3.0, dim=DIM), f"fake:{DIM}", (PLACE,), learned={"dim": DIM}, **settings
    )
    save_protector(made, folder)
    return folder


def stored(running, key):
    status, _, answer = running.embed(TEXTS, key)
    assert status == 200
    return np.array([each["embedding"] for each in answer["data"]], np.float32)


def asked(url, vectors, **settings):
    attack = OracleAttack(concept=PLACE, oracle=url, **settings)
    fitted = attack.fit(TEXTS, CLEAN)
    found = figures_of(OracleAttack, fitted.recover(vectors), TEXTS, concept=PLACE)[0]
    return exact_share("named", round(found.value * found.count), found.count), fitted.counts


@pytest.mark.parametrize("neutral", [0, 3])
def test_releases_are_named_by_asking_unless_neutral_texts_are_embedded(tmp_path, monkeypatch, neutral):
    keys = tmp_path / "keys.json"
    key = new_key(keys, "acme")
    folder = saved(tmp_path / "protector", neutral=neutral)
    with gateway(tmp_path / "run", folder, "--keys", str(keys)) as running:
        vectors = stored(running, key)
        monkeypatch.setenv(KEY, key)
        figure, counts = asked(f"{running.url}/v1", vectors)
        assert counts == {"sent": counts["sent"], "refused": 0, "times": 1}
        monkeypatch.setenv(KEY, "sk-no-key-of-theirs")
        with pytest.raises(EndpointError, match="key was refused"):
            asked(f"{running.url}/v1", vectors)
    assert figure.value == 1.0 if neutral == 0 else figure.low <= 1 / len(PLACES) <= figure.high


@pytest.mark.parametrize("neutral", [0, 3])
def test_a_ceiling_refuses_and_a_refusal_tells_what_was_spent(tmp_path, monkeypatch, neutral):
    """Queries have fresh noise and a text's budget is one: a stored text is refused where others are not."""
    keys = tmp_path / "keys.json"
    folder = saved(tmp_path / "protector", neutral=neutral)
    key = new_key(keys, "acme", ceiling=1.5 * Laplace.from_noise_ratio(3.0, dim=DIM).epsilon)
    with gateway(tmp_path / "run", folder, "--keys", str(keys)) as running:
        vectors = stored(running, key)
        assert running.embed(TEXTS[:1], key, input_type="query")[0] == 429
        monkeypatch.setenv(KEY, key)
        oracle = answering.gateway(f"{running.url}/v1", role="query")
        if neutral:
            with pytest.raises(InputError, match="Every question was refused"):
                asked(oracle, vectors, questions=4000)
            return
        figure, counts = asked(oracle, vectors, questions=4000)
    assert figure.value == 1.0 and counts["refused"] >= len(TEXTS)


def test_searches_of_a_sealed_collection_name_what_is_in_it(tmp_path, monkeypatch):
    keys = tmp_path / "keys.json"
    key = new_key(keys, "acme")
    file = allow(tmp_path / "collections.json", {"acme": {"notes": f"memory:{tmp_path}/notes"}})
    options = ("--keys", str(keys), "--collections", str(file))
    ids = [f"row {number}" for number in range(len(TEXTS))]
    with gateway(tmp_path / "run", None, *options) as running:
        assert add(running, ids, TEXTS, key=key)[0] == 200
        monkeypatch.setenv(KEY, key)
        figure, counts = asked(f"{running.url}{BASE}", CLEAN, ids=ids, questions=400)
    assert figure.value > 0.9 and counts["sent"] <= 400 and counts["refused"] == 0
