"""Where a protector is kept, and other frameworks' encoders."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict

import numpy as np
import pytest

from sfumato.accounting import Secret
from sfumato.adapters import FunctionEmbedder, Kept, open_protector
from sfumato.adapters.kept import needs
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import BudgetError, InputError, MissingPackageError, ParameterError, VectorError
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector

TEXTS = [f"note {number} on {place}" for number in range(40) for place in ("Ashford", "Calder", "the sea")]


@pytest.fixture
def folder(tmp_path):
    save_protector(Protector(Laplace(epsilon=40.0), embedder=Fake(dim=32)), tmp_path / "protector")
    return str(tmp_path / "protector")


def test_the_network_is_cut_off():
    from tests.offline import loopback_only

    with loopback_only() as tried:
        for reach in (
            lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
            lambda: socket.create_connection(("example.org", 80), timeout=1),
        ):
            with pytest.raises(OSError, match="must not reach"):
                reach()
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            socket.create_connection(server.getsockname(), timeout=5).close()
    assert tried == ["192.0.2.1", "example.org"]


def test_a_kept_protector_has_all_its_parts(folder, tmp_path):
    Secret.from_file(tmp_path / "key", create=True)
    kept = Kept(folder, secret=f"file:{tmp_path / 'key'}", ledger=str(tmp_path / "ledger.db"), ceiling=40.0)
    opened = open_protector(kept)
    again = open_protector(json.loads(json.dumps(opened.config())))
    assert again.kept == opened.kept and opened.kept != kept  # it now says which protector it has to be
    first = opened.protector.embed(["one", "two"])
    assert np.array_equal(first, again.protector.embed(["one", "two"]))  # sticky, so the ledger lets it pass
    again.protector.embed(["a question"], role="query")
    with pytest.raises(BudgetError):
        again.protector.embed(["a question"], role="query")
    other = Kept(folder, secret=kept.secret, tenant="another").open()
    assert not np.array_equal(first, other.embed(["one", "two"]))


def test_what_is_kept_wrongly_is_refused(folder, tmp_path):
    with pytest.raises(InputError, match="ledger needs a secret"):
        Kept(folder, ledger=str(tmp_path / "ledger.db")).open()
    for wrong in ("0123abcd" * 8, "file", "http://host/secret"):
        with pytest.raises(ParameterError, match="env:NAME or file:PATH") as caught:
            Kept(folder, secret=wrong).open()
        assert wrong not in str(caught.value).replace("file:PATH", "")
    assert asdict(Kept(folder))["digest"] == ""


def test_any_function_is_an_encoder_to_learn_for():
    raw = Fake(dim=48)
    sizes = []

    def function(texts):
        sizes.append(len(texts))
        return (3 * raw.embed(texts)).tolist()  # lists, and not of unit length

    encoder = FunctionEmbedder(function, model_id="some-model@1", batch=50)
    assert encoder.dim == 48 and encoder.model_id == "function:some-model@1"
    np.testing.assert_allclose(encoder.embed(TEXTS), raw.embed(TEXTS), atol=1e-6)
    assert sizes == [1, 50, 50, 20]
    assert encoder.embed([]).shape == (0, 48)
    places = Concept.from_terms("place", ["Ashford", "Calder"])
    made = learn(TEXTS, places, embedder=encoder, settings=LearnSettings(source="synthetic"))
    assert made.embed(TEXTS[:5]).shape == (5, 48)


def test_wrong_encoders_are_refused():
    with pytest.raises(ParameterError, match="name the model"):
        FunctionEmbedder(Fake(dim=8).embed, model_id="")
    with pytest.raises(VectorError, match="one vector a text"):
        FunctionEmbedder(lambda texts: [[1.0, 0.0]], model_id="x", dim=2).embed(["a", "b"])
    with pytest.raises(VectorError, match="zero or not finite"):
        FunctionEmbedder(lambda texts: [[np.nan, 0.0]], model_id="x", dim=2).embed(["a"])
    with pytest.raises(InputError, match="single str"):
        FunctionEmbedder(Fake(dim=8).embed, model_id="x").embed("a")


def test_a_missing_framework_is_named():
    with pytest.raises(MissingPackageError, match=r"`absent-package` .*sfumato\[absent\]"):
        with needs("absent-package", "absent"):
            import absent_package  # noqa: F401
