"""What every embedder promises, asked of each one that is registered."""

from __future__ import annotations

import logging
import os
import socket
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sfumato.accounting.identity import canonical
from sfumato.embedders import EMBEDDERS, CachedEmbedder, OpenAIEndpoint, VectorFile, load_embedder
from sfumato.embedders.seen import seen_by
from sfumato.errors import InputError
from tests.contracts.embedder_cases import NAMES, embedder

SECRET = "Zanzibar"
TEXTS = [
    "The patient was moved to Lisbon on Tuesday.",
    "",
    "The patient was moved to Porto on Tuesday.",
    " ",
    "naïve café, 東京 and \U0001f600",
    "control \x00\x07\x1b characters \u2028 and \ufeff marks",
    f"{SECRET} " * 3,
    "word " * 600,
    "x" * 3000,
    "The patient was moved to Lisbon on Tuesday.",
    *[f"Sentence number {i} says {'very ' * (i % 9)}little about {i * i}." for i in range(30)],
]


@pytest.fixture(scope="module", params=NAMES)
def subject(request, tmp_path_factory):
    with embedder(request.param, tmp_path_factory.mktemp("model")) as made:
        yield made


@pytest.fixture(scope="module")
def vectors(subject):
    return subject.embed(TEXTS)


def test_every_registered_embedder_has_a_case():
    assert {*NAMES, "vectors"} >= {entry.name for entry in EMBEDDERS if EMBEDDERS.installed(entry.name)}


def test_unit_vectors_in_float32(subject, vectors):
    assert vectors.shape == (len(TEXTS), subject.dim) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1.0, atol=1e-6)


def test_neighbours_order_and_batches_leave_no_trace(subject, vectors):
    alone = np.concatenate([subject.embed([text]) for text in TEXTS])
    assert np.array_equal(alone, vectors)
    sevens = [subject.embed(TEXTS[i : i + 7]) for i in range(0, len(TEXTS), 7)]
    assert np.array_equal(np.concatenate(sevens), vectors)
    assert np.array_equal(subject.embed(TEXTS[::-1]), vectors[::-1])
    assert np.array_equal(vectors[0], vectors[9]) and not np.array_equal(vectors[0], vectors[2])


def test_threads_do_not_disturb_each_other(subject, vectors):
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda _: subject.embed(TEXTS[:12]), range(3)):
            assert np.array_equal(found, vectors[:12])


def test_the_empty_text_and_no_text(subject, vectors):
    assert np.array_equal(subject.embed([""])[0], vectors[1])
    none = subject.embed([])
    assert none.shape == (0, subject.dim) and none.dtype == np.float32


def test_what_is_not_a_list_of_texts_is_refused_by_row(subject):
    with pytest.raises(InputError, match="^Row 1 of `texts` .*surrogate"):
        subject.embed(["fine", f"{SECRET} \ud83d"])
    with pytest.raises(InputError, match="^Row 0 of `texts` .*NoneType"):
        subject.embed([None])
    for single in (SECRET, SECRET.encode()):
        with pytest.raises(InputError, match="single") as caught:
            subject.embed(single)
        assert SECRET not in str(caught.value)


def test_progress_counts_every_text(subject):
    counts = []
    subject.embed(TEXTS, on_batch=counts.append)
    assert sum(counts) == len(TEXTS) and all(isinstance(count, int) for count in counts)


def test_nothing_is_printed_or_logged(subject, caplog, capfd):
    with caplog.at_level(logging.DEBUG):
        subject.embed([f"{SECRET} is here"])
    out, err = capfd.readouterr()
    assert SECRET not in caplog.text + out + err


def test_the_model_is_named_without_a_path(subject, tmp_path):
    assert subject.model_id and subject.name
    assert not any(
        part in subject.model_id for part in (str(tmp_path.parent.parent), os.path.expanduser("~/"))
    )


def test_the_name_leads_back_to_the_embedder(subject):
    if not isinstance(subject, OpenAIEndpoint):
        assert load_embedder(subject.name).model_id == subject.model_id


def test_a_cache_changes_nothing(subject, vectors, tmp_path):
    cached = CachedEmbedder(subject, tmp_path / "cache.db")
    assert (cached.model_id, cached.dim, cached.name) == (subject.model_id, subject.dim, subject.name)
    counts = []
    for _ in range(2):
        assert np.array_equal(cached.embed(TEXTS, on_batch=counts.append), vectors)
    assert sum(counts) == 2 * len(TEXTS)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "openai"])
def test_another_instance_agrees_and_no_network_is_used(name, tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with embedder(name, tmp_path / "a") as one, embedder(name, tmp_path / "b") as two:
        assert one.model_id == two.model_id
        assert np.array_equal(one.embed(TEXTS[:3]), two.embed(TEXTS[:3]))


def test_ready_made_vectors_are_served_and_embed_nothing(tmp_path):
    made = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "v.npy", made)
    file = VectorFile(tmp_path / "v.npy")
    assert load_embedder(file.name).model_id == file.model_id
    assert (file.dim, len(file)) == (4, 3) and np.array_equal(file.rows(), made)
    assert np.array_equal(np.concatenate(list(file.batches(batch=1, start=1))), made[1:])
    with pytest.raises(InputError, match="cannot embed texts") as caught:
        file.embed([SECRET])
    assert SECRET not in str(caught.value)
    np.save(tmp_path / "w.npy", made + 1)
    assert VectorFile(tmp_path / "w.npy").model_id != file.model_id
    assert VectorFile(tmp_path / "w.npy", model_id="ours-1").model_id == "ours-1"


SPELLINGS = [
    "The patient was moved to Lisbon.",
    "the patient was MOVED to lisbon.",
    " The patient  was moved\tto Lisbon.\r\n",
    "The patient was moved to L\u00edsbon.",
    "The pa\u200btient was moved to Lisbon.",
    "The patient was moved to Porto.",
    "moved to Lisbon the patient was.",
    "word " * 600,
    "word " * 601,
]


def test_what_it_sees_of_texts_is_alike_just_where_their_vectors_are(subject):
    texts = [*TEXTS, *SPELLINGS]
    found = seen_by(subject, texts)
    vectors = subject.embed(texts)
    if not hasattr(subject, "seen"):  # it does not say: the very same text at least is one
        assert [each.noise for each in found] == [canonical(text).encode() for text in texts]
        return
    for row, (vector, seen) in enumerate(zip(vectors, found, strict=True)):
        same = np.array([each == seen for each in found])
        apart = np.abs(vectors - vector).max(axis=1)
        assert apart[same].max() < 1e-6 and apart[~same].min() > 0, row


def test_it_may_be_asked_what_it_sees_while_it_embeds(subject):
    expected = subject.embed(TEXTS), seen_by(subject, TEXTS)
    with ThreadPoolExecutor(4) as pool:
        embedded = [pool.submit(subject.embed, TEXTS) for _ in range(2)]
        seen = [pool.submit(seen_by, subject, TEXTS) for _ in range(6)]
        assert all(np.array_equal(each.result(), expected[0]) for each in embedded)
        assert all(each.result() == expected[1] for each in seen)
