"""Other frameworks' encoders, and frameworks that are missing."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from sfumato.adapters import FunctionEmbedder
from sfumato.adapters.packages import needs
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import InputError, MissingPackageError, ParameterError, VectorError
from sfumato.learning import LearnSettings, learn

TEXTS = [f"note {number} on {place}" for number in range(40) for place in ("Ashford", "Calder", "the sea")]


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
