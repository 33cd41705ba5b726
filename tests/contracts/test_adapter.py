"""What every adapter promises, asked of each one that is registered."""

from __future__ import annotations

import secrets
import subprocess
import sys
import warnings

import numpy as np
import pytest

from sfumato import randomness, registry
from sfumato.adapters import ADAPTERS
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, InputError, MissingPackageError, ParameterError, SfumatoError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector, TextsMissingWarning
from sfumato.randomness import Source
from sfumato.reference import ProtectorReference
from sfumato.saving import save_protector
from tests.contracts.adapter_cases import CASES, DIM, protected
from tests.offline import loopback_only

TEXTS = [
    "The patient was moved to Lisbon on Tuesday.",
    "naïve café, 東京 and \U0001f600",
    "The patient was moved to Lisbon on Tuesday.",
    "word " * 50,
    *[f"Sentence {number} about nothing in particular." for number in range(30)],
]
NAMES = list(CASES)
TAKES_TEXTS = [name for name in NAMES if name not in ("sentence-transformers", "sklearn-vectors")]
TAKES_QUERIES = [name for name in NAMES if CASES[name].query]
WRITES = [name for name in NAMES if CASES[name].again]

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.protector.TextsMissingWarning")
seeded = pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")


@pytest.fixture(scope="module", autouse=True)
def offline():
    with loopback_only() as tried:
        yield
    assert not tried


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    key = secrets.token_hex(32)
    monkeypatch.setenv("SFUMATO_SECRET", key)
    return key


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return keep(tmp_path_factory.mktemp("kept") / "protector", epsilon=40.0)


def keep(path, epsilon):
    places = Concept.from_terms("place", ["Lisbon", "Porto", "Faro"])
    save_protector(Protector(Laplace(epsilon=epsilon), embedder=Fake(dim=DIM), concepts=(places,)), path)
    return str(path)


def made(name, kept):
    return CASES[name].make(ADAPTERS.get(name), kept)


def same(found, expected):
    return np.asarray(found, np.float32).tobytes() == np.asarray(expected, np.float32).tobytes()


def repeat_noise(monkeypatch):
    source = Source.seeded(7)
    monkeypatch.setattr(randomness, "default_source", lambda: source)


def test_every_registered_adapter_has_a_case():
    assert set(ADAPTERS.names()) == set(CASES)
    assert all(ADAPTERS.installed(name) for name in CASES)


@pytest.mark.parametrize("name", [name for name in NAMES if CASES[name].sticky])
def test_documents_are_the_protectors_to_the_last_bit(name, folder):
    kept = protected(name, folder)
    adapter, expected = made(name, kept), CASES[name].expected(kept.open(), TEXTS)
    assert same(CASES[name].documents(adapter, TEXTS), expected)
    assert same(CASES[name].documents(adapter, TEXTS[::-1]), expected[::-1])
    assert same(CASES[name].documents(adapter, TEXTS[3:4]), expected[3:4])


@seeded
@pytest.mark.parametrize("name", [name for name in NAMES if not CASES[name].sticky])
def test_fresh_noise_is_the_protectors_too(name, folder, monkeypatch):
    kept = protected(name, folder, sticky=False)
    repeat_noise(monkeypatch)
    found = CASES[name].documents(made(name, kept), TEXTS[:1])
    repeat_noise(monkeypatch)
    assert same(found, CASES[name].expected(kept.open(), TEXTS[:1]))


@pytest.mark.parametrize("name", NAMES)
def test_adapters_of_vectors_warn_that_texts_are_missing(name, folder):
    adapter = made(name, protected(name, folder, sticky=False))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        CASES[name].documents(adapter, TEXTS[:2])
    told = [each for each in seen if each.category is TextsMissingWarning]
    assert bool(told) is (name not in TAKES_TEXTS)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_secret_no_noise_is_repeated(name, folder):
    adapter = made(name, protected(name, folder, sticky=False))
    first, second = (np.asarray(CASES[name].documents(adapter, TEXTS), np.float32) for _ in range(2))
    assert not (first == second).all(axis=1).any()
    assert not np.array_equal(first[0], first[2])  # the same text


@seeded
@pytest.mark.parametrize("name", TAKES_QUERIES)
def test_queries_are_queries(name, folder, monkeypatch):
    kept = protected(name, folder)
    adapter, ask = made(name, kept), CASES[name].query
    first, second = (np.asarray(ask(adapter, TEXTS[0]), np.float32) for _ in range(2))
    assert not np.array_equal(first, second)  # a query is never sticky
    repeat_noise(monkeypatch)
    found = ask(adapter, TEXTS[0])
    repeat_noise(monkeypatch)
    assert same(found, kept.open().embed(TEXTS[:1], role="query")[0])


@pytest.mark.parametrize("name", TAKES_QUERIES)
def test_clean_queries_are_the_encoders_where_they_are_asked_for(name, folder):
    kept, kind, ask = protected(name, folder), ADAPTERS.get(name), CASES[name].query
    adapter = kind(kept, queries="clean")
    own = Fake(dim=DIM).embed(TEXTS[:1])[0]
    assert same(ask(adapter, TEXTS[0]), own)
    if CASES[name].sticky:  # documents are protected as ever
        assert same(CASES[name].documents(adapter, TEXTS), kept.open().embed(TEXTS))
    if CASES[name].again:
        # Chroma's configuration lies on the server, which must not be able to ask for clean queries.
        assert same(ask(CASES[name].again(adapter), TEXTS[0]), own) is (name != "chroma")
    with pytest.raises(ParameterError, match="`queries` must be one of"):
        kind(kept, queries="plain")


@pytest.mark.parametrize("name", [name for name in NAMES if CASES[name].empty])
def test_nothing_in_nothing_out(name, folder):
    assert len(CASES[name].documents(made(name, protected(name, folder)), [])) == 0


@pytest.mark.parametrize("name", [name for name in NAMES if not CASES[name].empty])
def test_an_empty_list_is_refused_where_the_framework_does(name, folder):
    with pytest.raises(ValueError, match=r"non-empty|minimum of 1"):
        CASES[name].documents(made(name, protected(name, folder)), [])


@pytest.mark.parametrize("wrong", [[None], [7], [b"bytes"], ["fine", 1.5]], ids=str)
@pytest.mark.parametrize("name", TAKES_TEXTS)
def test_what_is_no_text_is_refused(name, wrong, folder):
    # Haystack refuses some itself, when the document is made.
    with pytest.raises(ValueError, match=r"(Row|Document) \d|must be a string or None"):
        CASES[name].documents(made(name, protected(name, folder)), wrong)


@pytest.mark.parametrize("name", WRITES)
def test_written_down_and_read_again(name, folder, secret):
    adapter = made(name, protected(name, folder))
    again = CASES[name].again(adapter)
    assert type(again) is type(adapter) and again is not adapter
    if CASES[name].sticky:
        assert same(CASES[name].documents(again, TEXTS), CASES[name].documents(adapter, TEXTS))
    else:
        assert len(CASES[name].documents(again, TEXTS)) == len(TEXTS)
    written = CASES[name].written(adapter)
    assert "env:SFUMATO_SECRET" in written
    assert secret not in written and bytes.fromhex(secret).decode("latin-1") not in written


@pytest.mark.parametrize("name", [name for name in WRITES if not name.startswith("sklearn")])
def test_another_protector_in_the_same_place_is_refused(name, tmp_path):
    folder = keep(tmp_path / "protector", epsilon=40.0)
    adapter = made(name, protected(name, folder))
    keep(tmp_path / "protector", epsilon=4000.0)  # a hundred times less noise
    with pytest.raises(ArtifactError, match="must be the one this was made with"):
        CASES[name].again(adapter)


@pytest.mark.parametrize("name", ["llama-index", "haystack-text", "haystack-documents"])
def test_a_protector_in_memory_works_and_is_not_written_down(name):
    adapter = made(name, Protector(Laplace(epsilon=40.0), embedder=Fake(dim=DIM)))
    assert len(CASES[name].documents(adapter, TEXTS)) == len(TEXTS)
    with pytest.raises(InputError, match="save_protector"):
        if name == "llama-index":
            CASES["sklearn-texts"].again(adapter)  # pickled, as for worker processes
        else:
            CASES[name].written(adapter)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_protectors_are_refused(name, folder, tmp_path):
    kind = ADAPTERS.get(name)
    wrong_secret = ProtectorReference(folder, secret="hunter2")
    for wrong in (3.5, {"folder": "x", "key": "y"}, {}, tmp_path / "nowhere", wrong_secret):
        with pytest.raises(SfumatoError) as caught:
            CASES[name].make(kind, wrong)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_package_says_how_to_install_it(name, monkeypatch):
    monkeypatch.setattr(registry, "_importable", lambda module: False)
    with pytest.raises(MissingPackageError, match=rf"sfumato\[{ADAPTERS.entry(name).extra}\]"):
        ADAPTERS.get(name)


def test_naming_the_adapters_imports_no_framework():
    code = "import sys, sfumato.adapters; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frameworks = {module for entry in ADAPTERS for module in entry.requires}
    assert frameworks and not frameworks & set(done.stdout.split())
