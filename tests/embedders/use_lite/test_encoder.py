"""The encoder beside its own runtime, and folders that are refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sfumato.embedders import load_embedder
from sfumato.embedders.use_lite.files import PUBLISHED, VARIABLE
from sfumato.errors import ArtifactError, ParameterError
from tests.embedders.use_lite import model, reference

TEXTS = [
    "Hello.",
    "x",
    ":",
    "The patient was moved to Lisbon on Tuesday.",
    "naïve café, Ünïcödé and Dvořák",
    "",
    "東京 and \U0001f600\U0001f600 \U0001f600",
    "at 10:30 or 9:00, see http://a.b/c :) :( :-) (so): a : b",
    "”5 twice ”5",
    "12345 67,890.12 1e-9",
    "word " * 300,
    "A long sentence that says the same thing over again, with a comma and an end. " * 12,
    "x" * 400,
    " ",
    "  two  spaces ",
    "\ufb01ne \u2163 \u00bd \u00a0 wide \uff21\uff22",
    "line\nbreak\ttab\r\n",
    "CAPITALS AND <s> marks </s> \u2581 \ufffd",
    "combined e\u0301 and \u1100\u1161\u11a8",
    "The end:30:00",
]


@pytest.fixture(scope="module")
def encoder():
    return load_embedder(f"use-lite:{model()}")


def test_pieces_and_vectors_are_those_of_its_own_runtime(encoder):
    alone = [text for text in TEXTS if text]  # by itself the empty text has no row there
    together, *singles = reference([TEXTS, *([text] for text in alone)])
    for text, seen, pieces in zip(TEXTS, encoder.seen(TEXTS), together["pieces"], strict=True):
        assert np.frombuffer(seen, "<i4").tolist() == pieces[:128], text
    assert max(map(len, together["pieces"])) > 128  # or nothing was cut
    np.testing.assert_allclose(encoder.embed(TEXTS), together["vectors"], rtol=0, atol=1e-5)
    theirs = [single["vectors"][0] for single in singles]
    np.testing.assert_allclose(encoder.embed(alone), theirs, rtol=0, atol=1e-5)


def test_the_folder_may_be_named_in_three_ways(encoder, monkeypatch):
    assert load_embedder(f"use-lite:{model() / 'dist'}").model_id == encoder.model_id
    monkeypatch.setenv(VARIABLE, str(model()))
    found = load_embedder("use-lite")
    assert (found.name, found.model_id) == ("use-lite", encoder.model_id)
    assert np.array_equal(found.embed(TEXTS[:4]), encoder.embed(TEXTS[:4]))


def test_no_folder_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(
        ParameterError, match=r"^[^\n]*npm package[^\n]*None was named[^\n]*SFUMATO_USE_LITE\.$"
    ):
        load_embedder("use-lite")
    with pytest.raises(ParameterError, match="There is no folder"):
        load_embedder(f"use-lite:{tmp_path / 'none'}")
    with pytest.raises(ParameterError, match=r"use-lite:PATH"):
        load_embedder("use-lite:")
    with pytest.raises(ArtifactError, match=r"has to hold model\.json\. It is missing"):
        load_embedder(f"use-lite:{tmp_path}")


@pytest.mark.parametrize("changed", ["model.json", "vocab.json", "group1-shard4of7"])
def test_a_file_that_is_not_the_published_one_is_refused(changed, tmp_path):
    for name in PUBLISHED:
        os.symlink(model() / "dist" / name, tmp_path / name)
    data = bytearray((tmp_path / changed).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / changed).unlink()
    (tmp_path / changed).write_bytes(data)
    with pytest.raises(ArtifactError, match=rf"^{changed} in the package .* SHA-256"):
        load_embedder(f"use-lite:{tmp_path}")
