"""The module at the end of a model: fresh noise, nothing rawer beside it, saved without pickle."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from sfumato.accounting import Secret
from sfumato.adapters.sentence_transformers import Protect, load_protected
from sfumato.concepts import Concept
from sfumato.errors import ArtifactError, InputError, ParameterError, RandomnessError, VectorError
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Laplace, Projection
from sfumato.protector import Protector
from tests.contracts.embedder_cases import tiny_model

TEXTS = [f"visit {n} to {place} went well" for n in range(20) for place in ("oslo", "rome", "the sea")]


def quiet(ratio=0.5, dim=32):
    return Protector(Laplace.from_noise_ratio(ratio, dim=dim))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def plain(saved):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize

    model = SentenceTransformer(str(saved), device="cpu", local_files_only=True)
    model.append(Normalize())
    return model


@pytest.fixture
def model(plain):
    plain.append(Protect(quiet()))
    return plain


def cosines(first, second):
    return np.vecdot(first, second) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)


def test_encode_releases_fresh_noise_of_the_right_size(plain):
    clean = plain.encode(TEXTS)
    plain.append(Protect(quiet()))
    first, second = plain.encode(TEXTS), plain.encode(TEXTS)
    assert first.dtype == np.float32 and first.shape == clean.shape
    assert not (first == second).all(axis=1).any()
    # Cosine kept about 1/sqrt(1 + 0.5^2) = .894, the same for both roles.
    for released in (first, second, plain.encode_query(TEXTS), plain.encode_document(TEXTS)):
        assert abs(cosines(released, clean).mean() - 0.894) < 0.05
    assert plain.get_embedding_dimension() == 32
    tensors = plain.encode(TEXTS, convert_to_tensor=True)
    assert tensors.shape == (60, 32) and not tensors.requires_grad


def test_nothing_rawer_leaves_with_it(model):
    assert set(model.encode(TEXTS[:2], output_value=None)[0]) == {"sentence_embedding"}
    with pytest.raises(KeyError, match="token_embeddings"):
        model.encode(TEXTS[:2], output_value="token_embeddings")


def test_saved_and_loaded_without_pickle_and_without_trust(model, tmp_path):
    model.save(str(tmp_path / "model"))
    kinds = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert kinds <= {".json", ".safetensors", ".md", ".txt"}
    loaded = load_protected(tmp_path / "model", device="cpu")
    again = loaded[-1].protector
    assert isinstance(loaded[-1], Protect)
    assert again.mechanism.fingerprint() == model[-1].protector.mechanism.fingerprint()
    first, second = loaded.encode(TEXTS), loaded.encode(TEXTS)
    assert not (first == second).all(axis=1).any()
    damaged = tmp_path / "model" / "3_Protect" / "protector" / "config.json"
    damaged.write_text(damaged.read_text().replace('"max_norm": 1.0', '"max_norm": 9.0'))
    with pytest.raises(ArtifactError, match="SHA-256"):
        load_protected(tmp_path / "model", device="cpu")


@pytest.mark.parametrize("kind", ["python", "pickle", "type", "auto_map", "plain", "nothing"])
def test_a_folder_with_code_of_its_own_is_not_loaded(kind, model, plain, tmp_path):
    folder = tmp_path / "model"
    model.save(str(folder))
    modules = json.loads((folder / "modules.json").read_text())
    if kind == "python":
        (folder / "modeling.py").write_text("raise SystemExit('ran')")
    elif kind == "pickle":
        (folder / "1_Pooling" / "pytorch_model.bin").write_bytes(b"")
    elif kind == "type":
        modules[1]["type"] = "os.path.join"
    elif kind == "auto_map":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "a/b--c.D"}}))
    elif kind == "plain":
        modules.pop()
    (folder / "modules.json").write_text(json.dumps(modules))
    if kind == "nothing":
        shutil.rmtree(folder)
    with pytest.raises(ArtifactError, match=r"no code|Found none|no modules\.json"):
        load_protected(folder)


def test_training_is_refused(model):
    import torch

    features = model.tokenize(TEXTS[:2])
    model.train()
    with pytest.raises(RandomnessError, match="inference"), torch.no_grad():
        model(features)
    model.eval()
    with pytest.raises(RandomnessError, match="inference"):
        model(features)
    with torch.no_grad():
        assert model(features)["sentence_embedding"].shape == (2, 32)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_tensors_keep_their_type(dtype):
    import torch

    rows = torch.nn.functional.normalize(torch.ones(3, 32, dtype=getattr(torch, dtype)))
    released = Protect(quiet()).eval()({"sentence_embedding": rows})["sentence_embedding"]
    assert released.dtype == rows.dtype and torch.isfinite(released).all()


def test_other_dimensions_and_learned_protectors(plain):
    plain.append(Protect(Protector(Projection(epsilon=50.0, delta=1e-3, beta=0.9), learned={"dim": 32})))
    assert plain.encode(TEXTS[:3]).shape == (3, plain.get_embedding_dimension())
    places = Concept.from_terms("place", ["oslo", "rome"])
    from sfumato.embedders import Fake

    settings = LearnSettings(source="synthetic", neutral=0)
    learned = learn(TEXTS, places, embedder=Fake(dim=32), settings=settings)
    plain[3] = Protect(learned)
    assert plain.encode(TEXTS[:3]).shape == (3, 32) and plain.get_embedding_dimension() == 32


def test_refused(plain, saved):
    from sentence_transformers import SentenceTransformer

    for wrong in (
        Protector(Laplace(epsilon=9.0), secret=Secret.generate()),
        Protector(Laplace(epsilon=9.0), only_matching=True),
    ):
        with pytest.raises(InputError, match="no texts"):
            Protect(wrong)
    bare = SentenceTransformer(str(saved), device="cpu", local_files_only=True)  # not of unit length
    bare.append(Protect(quiet()))
    with pytest.raises(VectorError, match="norm above the bound"):
        bare.encode(TEXTS)


def test_clean_queries_leave_documents_protected_and_are_not_saved(plain, tmp_path):
    clean = plain.encode(TEXTS)
    plain.append(Protect(quiet(), queries="clean"))
    assert np.array_equal(plain.encode_query(TEXTS), clean)
    for released in (plain.encode(TEXTS), plain.encode_document(TEXTS)):
        assert abs(cosines(released, clean).mean() - 0.894) < 0.05
    plain.save(str(tmp_path / "model"))
    again = load_protected(tmp_path / "model", device="cpu")
    assert again[-1].queries == "protected"
    assert abs(cosines(again.encode_query(TEXTS), clean).mean() - 0.894) < 0.05
    with pytest.raises(ParameterError, match="`queries` must be one of"):
        Protect(quiet(), queries="plain")
