"""What was meant by a name that is not there: sensible or nothing."""

from __future__ import annotations

import pytest

from sfumato.attacks import ATTACKS
from sfumato.concepts.catalog import lookup
from sfumato.embedders import EMBEDDERS
from sfumato.errors import ParameterError
from sfumato.meant import meant_by
from sfumato.mechanisms import MECHANISMS
from sfumato.stores.address import parse_address
from tests.cli.test_main import sfumato


@pytest.mark.parametrize(
    ("given", "known", "meant"),
    [
        ("audt", ["audit", "attack"], "audit"),
        ("Audit", ["audit"], "audit"),
        ("token", ["tokens", "decoder"], "tokens"),
        ("mini", ["minilm", "fake"], "minilm"),
        ("lap", ["laplace", "lapse"], None),  # either may be meant
        ("xyzzy", ["audit", "attack"], None),
        ("data", ["date", "state"], "date"),
        ("store", ["state", "stores"], "stores"),
        ("rest", ["test", "protect"], "test"),
        ("import", ["export"], None),
        ("", ["audit"], None),
        (None, ["audit"], None),
        ("a", ["age"], None),
    ],
)
def test_what_is_meant(given, known, meant):
    assert meant_by(given, known) == meant


def test_other_words_come_first_and_only_for_what_is_there():
    assert meant_by("train", ["learn", "trail"], {"train": "learn"}) == "learn"
    assert meant_by("train", ["audit"], {"train": "learn"}) is None


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (lambda: lookup("illness"), "disease"),
        (lambda: lookup("diseases"), "disease"),
        (lambda: MECHANISMS.get("normal"), "gaussian"),
        (lambda: MECHANISMS.get("laplas"), "laplace"),
        (lambda: ATTACKS.entry("vec2text"), "corrector"),
        (lambda: EMBEDDERS.entry("all-MiniLM-L6-v2"), "minilm"),
        (lambda: parse_address("chrome:db#x"), "chroma:"),
        (lambda: parse_address("pgvector:db#x"), "postgresql:"),
    ],
)
def test_every_table_asks(asked, meant):
    with pytest.raises(ParameterError, match=f"Did you mean `{meant}`"):
        asked()


@pytest.mark.parametrize("asked", [lambda: lookup("happiness"), lambda: MECHANISMS.get("magic")])
def test_no_table_guesses(asked):
    with pytest.raises(ParameterError) as caught:
        asked()
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audt",), "Did you mean `audit`?"),
        (("encrypt",), "Did you mean `seal`?"),
        (("train", "x.txt"), "Did you mean `learn`?"),
        (("learn", "x", "--conecpt", "person", "-o", "y"), "Did you mean `--concept`?"),
        (("learn", "x", "--encoder", "minilm", "-o", "y"), "Did you mean `--embedder`?"),
        (("protect", "x", "--output", "y"), "Did you mean `--out`?"),
    ],
)
def test_the_command_line_asks(words, said):
    done = sfumato(*words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert said in done.stderr and "--help" in done.stderr


@pytest.mark.parametrize("words", [("xyzzy",), ("learn", "x", "--frobnicate", "-o", "y")])
def test_the_command_line_does_not_guess(words):
    done = sfumato(*words)
    assert done.returncode == 2 and "Did you mean" not in done.stderr and "See" in done.stderr
