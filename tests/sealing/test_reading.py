"""What a collection says of its rows without their texts, and that it is closed once."""

from __future__ import annotations

import pytest

from sfumato.errors import ArtifactError, InputError
from tests.sealing.collections import names, notes, sealed


def test_closing_twice_is_closing_once(tmp_path):
    with sealed(tmp_path) as store:
        store.add(["a"], ["a text"])
        store.close()
        store.close()
    with sealed(tmp_path, store.store) as store:
        assert store.get(["a"])[0].text == "a text"


def test_ids_and_vectors_without_the_texts(tmp_path):
    with sealed(tmp_path) as store:
        assert list(store.ids()) == [] and store.known(["a"]) == [] and store.vectors(["a"]) == {}
        store.add(names(30), notes(30))
        asked = []
        get = store.store._get
        store.store._get = lambda ids: (asked.append(len(ids)), get(ids))[1]
        assert list(store.ids()) == names(30) and store.known(["x", *names(3)[::-1]]) == names(3)[::-1]
        assert asked == []
        found, exact = store.vectors([*names(2), "x"]), store.embed(notes(2))
        assert set(found) == set(names(2)) and asked == [2]
        assert all(found[name] @ vector > 0.999 for name, vector in zip(names(2), exact, strict=True))
        place = store._client.state.ids().posting(*store._client.state.find(names(1))[names(1)[0]].places[0])
        store.store.delete([place])
        with pytest.raises(ArtifactError, match="1 of them are missing"):
            store.vectors(names(2))


def test_without_an_encoder_nothing_is_embedded(tmp_path):
    with sealed(tmp_path, embedder=None) as store:
        with pytest.raises(InputError, match="vectors must be given"):
            store.embed(["a text"])
