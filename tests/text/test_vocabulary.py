"""Where words and their vectors come from, and what happens to words without one."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.text import WordVectors, load_vocabulary
from sfumato.text.pieces import cut
from sfumato.text.sources import from_folder, from_glove
from sfumato.text.vocabulary import UNKNOWN
from tests.text.small import vocabulary

GLOVE = "the 1 0 0\n, 9 9 9\nThe 5 5 5\nOil 0 2 0\nn't 1 1 1\nprice 0 0 -3\n"


def written(tmp_path, text, name="vectors.txt"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_glove_files_give_words_once_in_lower_case(tmp_path, name):
    made = from_glove(written(tmp_path, GLOVE, name))
    assert made.words == ("the", "oil", "price")
    assert made.vectors.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, -1]]
    assert made.radii == pytest.approx([1 / 3, 2 / 3, 1])
    assert from_glove(written(tmp_path, "4 3\n" + GLOVE), limit=2).words == ("the", "oil")


@pytest.mark.parametrize("text", ["a 1 2\nb 1\n", "a 1 2\nb 1 x\n", "a\nb\n", ", 1 2\n", "a 1 2\nb 1 2 3\n"])
def test_glove_files_that_are_none_are_refused_by_line(tmp_path, text):
    with pytest.raises(InputError, match=r"has to hold"):
        from_glove(written(tmp_path, text))


@pytest.mark.parametrize(
    ("words", "vectors", "match"),
    [
        (["a"], [[1.0, 2.0]], "vector a word"),
        (["a", "b"], [[1.0, 2.0]], "2 words and 1"),
        (["a", "a"], [[1.0, 2.0], [1.0, 1.0]], "different"),
        (["a", "b"], [[1.0, 2.0], [0.0, 0.0]], "word 1"),
        (["a", "b"], [[1.0, 2.0], [np.inf, 0.0]], "word 1"),
    ],
)
def test_bad_tables_are_refused(words, vectors, match):
    with pytest.raises(InputError, match=match):
        WordVectors(words, np.array(vectors))


def test_unknown_words_are_one_stand_in():
    made = vocabulary()
    numbers = np.array([made.number("oil"), made.number("Zanzibar"), made.number("Öl")])
    assert numbers.tolist() == [0, UNKNOWN, UNKNOWN]
    rows = made.unit(numbers)
    assert np.array_equal(rows[1], rows[2]) and not np.array_equal(rows[0], rows[1])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-6)
    # Vectors that cancel out have no mean direction.
    flat = WordVectors(["a", "b"], [[1.0, 0.0], [-1.0, 0.0]])
    assert np.array_equal(flat.stand_in, flat.vectors[0])


def test_words_are_found_in_any_case_and_without_accents():
    made = vocabulary()
    assert made.number("OIL") == made.number("Oil") == made.number("oíl") == 0
    assert made.first(3).words == made.words[:3] and made.digest != made.first(3).digest


def test_pieces_are_the_longest_that_fit():
    index = {"un": 0, "##be": 1, "##lie": 2, "##v": 3, "##able": 4, "unbe": 5}
    assert cut("Unbelievable", index) == [5, 2, 3, 4]
    assert cut("ünbelievable", {**index, "##liev": 7}) == [5, 7, 4]
    # The longest first, even where that leads nowhere.
    assert cut("unbelievable", {**index, "##lieva": 7}) == [UNKNOWN]
    assert cut("x" * 101, {"x": 0, "##x": 1}) == [UNKNOWN]


def model(tmp_path, tokens, **tensors):
    from safetensors.numpy import save_file

    save_file(tensors, tmp_path / "model.safetensors")
    held = {"model": {"vocab": tokens if isinstance(tokens, list) else {t: i for i, t in enumerate(tokens)}}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(held))
    return tmp_path


def test_a_model_s_folder_gives_whole_words_or_pieces(tmp_path):
    table = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
    tokens = ("[CLS]", "oil", "##ing", "price", "!", "##s")
    folder = model(tmp_path, tokens, **{"x.word_embeddings.weight": table, "y.weight": table})
    assert from_folder(folder).words == ("oil", "price")
    whole = load_vocabulary(f"encoder:{folder}", pieces=True)
    assert whole.words == ("oil", "##ing", "price", "##s") and whole.in_pieces
    assert whole.numbers("oiling") == [0, 1]


def test_spaced_tokens_count_only_after_a_space(tmp_path):
    table = np.ones((4, 2), np.float32)
    listed = [["▁oil", -1.0], ["oil", -2.0], ["▁Price", -3.0], ["▁price", -4.0]]
    folder = model(tmp_path, listed, **{"embed_tokens.weight": table * np.arange(1, 5)[:, None]})
    made = from_folder(folder)
    assert made.words == ("oil", "price") and made.radii.tolist() == [0.25, 1.0]


def test_folders_that_are_none_are_refused(tmp_path):
    with pytest.raises(InputError, match="has to hold model.safetensors"):
        from_folder(tmp_path)
    with pytest.raises(InputError, match="one table"):
        from_folder(model(tmp_path, ("a", "b"), other=np.ones((2, 2), np.float32)))
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match="one table|vocabulary"):
        from_folder(tmp_path)


def test_packaged_vocabularies_have_whole_words():
    minilm = load_vocabulary("minilm")
    assert minilm.dim == 384 and len(minilm) > 20_000 and minilm.number("Paris") >= 0
    llama = load_vocabulary("wordllama", limit=500)
    assert llama.dim == 256 and len(llama) == 500


@pytest.mark.parametrize("spec", ["glove", "minilm:x", "encoder:", "nothing"])
def test_names_that_mean_nothing_are_refused(spec):
    with pytest.raises(ParameterError):
        load_vocabulary(spec)
    with pytest.raises(ParameterError, match="whole words only"):
        load_vocabulary("wordllama", pieces=True)
