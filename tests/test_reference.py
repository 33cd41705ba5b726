"""Where a protector is: what is written down of it, and what opens again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.adapters import Kept
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, BudgetError, InputError, ParameterError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.reference import ProtectorReference, identity, open_ledger, open_protector
from sfumato.saving import save_protector
from sfumato.stores.kinds.memory import Memory
from sfumato.stores.migrate import migrate
from sfumato.stores.protected import ProtectedStore


@pytest.fixture
def folder(tmp_path):
    save_protector(Protector(Laplace(epsilon=40.0), embedder=Fake(dim=32)), tmp_path / "protector")
    return str(tmp_path / "protector")


@pytest.fixture
def key(tmp_path):
    Secret.from_file(tmp_path / "key", create=True)
    return f"file:{tmp_path / 'key'}"


def test_a_reference_opens_all_parts(folder, key, tmp_path):
    kept = ProtectorReference(folder, secret=key, ledger=str(tmp_path / "ledger.db"), ceiling=40.0)
    opened = open_protector(kept)
    again = open_protector(json.loads(json.dumps(opened.config())))
    # It now says which protector it has to be.
    assert again.reference == opened.reference and opened.reference != kept
    first = opened.protector.embed(["one", "two"])
    assert np.array_equal(first, again.protector.embed(["one", "two"]))  # sticky, so the ledger lets it pass
    again.protector.embed(["a question"], role="query")
    with pytest.raises(BudgetError):
        again.protector.embed(["a question"], role="query")
    other = ProtectorReference(folder, secret=key, tenant="another").open()
    assert not np.array_equal(first, other.embed(["one", "two"]))


def test_what_version_02_wrote_down_opens_and_is_written_the_same(folder, key, tmp_path):
    written = {
        "folder": folder,
        "secret": key,
        "ledger": str(tmp_path / "ledger.db"),
        "ceiling": 1e6,
        "tenant": "acme",
        "collection": "notes",
        "digest": identity(ProtectorReference(folder).open()),
    }
    opened = open_protector(written)
    assert opened.config() == written and list(opened.config()) == list(written)
    made = opened.protector
    assert (made.tenant, made.collection, made.ledger.ceiling) == ("acme", "notes", 1e6)
    with pytest.raises(ArtifactError, match="must be the one"):
        open_protector({**written, "digest": "0" * 64})
    assert Kept is ProtectorReference
    assert open_protector({"folder": folder}).protector.secret is None


def test_a_ledger_is_opened_as_it_counts(folder, key, tmp_path):
    place = str(tmp_path / "ledger.db")
    kept = ProtectorReference(folder, secret=key, ledger=place, counting="l2")
    opened = open_protector(kept)
    assert opened.protector.ledger.metric == "l2" and opened.config()["counting"] == "l2"
    assert open_protector(json.loads(json.dumps(opened.config()))).protector.ledger.metric == "l2"
    with pytest.raises(ArtifactError, match='metric="l2"'):
        ProtectorReference(folder, secret=key, ledger=place).open()
    assert open_ledger(place, opened.protector.secret, counting=None).metric == "l2"
    Ledger(tmp_path / "other.db", secret=opened.protector.secret, ceiling=None)
    assert open_ledger(str(tmp_path / "other.db"), opened.protector.secret, counting=None).metric == "own"


def test_what_a_reference_cannot_hold_is_refused(folder, tmp_path):
    with pytest.raises(InputError, match="ledger needs a secret"):
        ProtectorReference(folder, ledger=str(tmp_path / "ledger.db")).open()
    for wrong in ({}, {"secret": "env:X"}, {"folder": folder, "key": "y"}):
        with pytest.raises(ParameterError, match="must hold a folder"):
            ProtectorReference.from_dict(wrong)
    for name, value in {"folder": 3, "secret": b"x" * 32, "tenant": None, "digest": ["x"]}.items():
        with pytest.raises(ParameterError, match=f"`{name}` must be a string"):
            ProtectorReference.from_dict({"folder": folder, name: value})
    with pytest.raises(ParameterError, match="list of hosts"):
        ProtectorReference(folder, allow_remote="example.org")
    assert ProtectorReference(Path(folder), allow_remote=["a", "b"]).allow_remote == ("a", "b")
    assert json.dumps(ProtectorReference(Path(folder)).to_dict())


def test_nothing_is_made_before_the_protector_is_there(tmp_path):
    place = ProtectorReference(str(tmp_path / "nowhere"), secret=str(tmp_path / "key"))
    with pytest.raises(ArtifactError):
        place.open(create=True)
    assert not list(tmp_path.iterdir())


def test_stores_take_a_reference(folder, key):
    kept, texts = ProtectorReference(folder, secret=key, tenant="acme"), ["one", "two"]
    inner, into = Memory(), Memory()
    ProtectedStore(inner, kept).add(["a", "b"], texts)
    expected = kept.open().embed(texts)
    assert np.array_equal(inner.get(["a", "b"]).vectors, expected)
    clean = Memory()
    clean.add(["a", "b"], Fake(dim=32).embed(texts), [{}, {}])
    assert migrate(clean, into, kept).rows == 2
