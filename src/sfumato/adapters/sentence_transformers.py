"""sentence-transformers: the last module of a model, so that `encode` releases protected vectors.

    model.append(Protect("places"))
    model.save("protected-model")
    model = load_protected("protected-model")

A module sees vectors and no texts: its noise is fresh every time, and concepts are not looked for. For
neutral texts, sticky noise or a ledger, use a protector with the model as its encoder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfumato.adapters.packages import needs
from sfumato.errors import ArtifactError, InputError, RandomnessError
from sfumato.files import PathLike
from sfumato.protector import Protector
from sfumato.queries import Queries, checked_queries
from sfumato.reference import Protected, open_protector
from sfumato.saving import load_protector, save_protector

with needs("sentence-transformers", "learn"):
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Module

FOLDER = "protector"


class Protect(Module):
    """Releases the sentence embeddings that reach it, and takes everything rawer out of the output.

    Args:
        protector: what protects, or where it is.
        queries: "clean" lets what `encode_query` embeds through as it is. It is not saved with the model:
            set `model[-1].queries` after loading.
    """

    forward_kwargs = {"task"}

    def __init__(self, protector: Protected, *, queries: Queries = "protected") -> None:
        super().__init__()
        self.queries = checked_queries(queries)
        self.protector = _without_texts(open_protector(protector).protector)

    @torch.compiler.disable
    def forward(self, features: dict[str, Any], *, task: str | None = None, **options: Any) -> dict[str, Any]:
        """Release `sentence_embedding`, of `(n, d)`, on the device and in the type it came in."""
        vectors = features["sentence_embedding"]
        if self.training or (torch.is_grad_enabled() and vectors.requires_grad):
            raise RandomnessError(
                "Protection is for inference: gradients do not pass through it. Train without this module, "
                "then call model.eval() and use torch.no_grad(), or model.encode()."
            )
        if task == "query" and checked_queries(self.queries) == "clean":
            return {"sentence_embedding": vectors.detach()}
        released = torch.from_numpy(self.protector.protect(vectors.detach().cpu()))
        # Token embeddings and ids would otherwise leave with the release, for whoever asks encode for them.
        return {"sentence_embedding": released.to(vectors)}

    def get_embedding_dimension(self) -> int | None:
        """The dimension of released vectors, where the protector knows it."""
        dim = self.protector.dim
        return None if dim is None else self.protector.mechanism.output_dim(dim)

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **options: Any) -> None:
        """Keep the protector inside the model's folder."""
        save_protector(self.protector, Path(output_path) / FOLDER)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> Protect:
        """Read the protector from the model's folder."""
        known = ("token", "cache_folder", "revision", "local_files_only")
        chosen = {name: options[name] for name in known if name in options}
        folder = cls.load_dir_path(model_name_or_path, subfolder=subfolder, **chosen)
        if folder is None:
            raise ArtifactError(f"`{model_name_or_path}` has no protector in {subfolder!r}. Save it again.")
        return cls(load_protector(Path(folder) / FOLDER))


def load_protected(folder: PathLike, **options: Any) -> Any:
    """Load a SentenceTransformer with a `Protect` in it from a local folder, running no code found there.

    The library itself asks for trust_remote_code=True here, because it cannot tell an installed module from a
    stranger's; this looks first that there is no such code, and no pickle.
    """
    path = Path(folder)
    try:
        modules = json.loads((path / "modules.json").read_text(encoding="utf-8"))
        types = {str(module["type"]) for module in modules}
    except (OSError, ValueError, KeyError, TypeError):
        raise ArtifactError(
            f"`{path}` must be a folder that SentenceTransformer.save made. Found no modules.json."
        ) from None
    own = f"{__name__}.{Protect.__name__}"
    strange = sorted(name for name in types if name != own and not name.startswith("sentence_transformers."))
    if strange or any(map(_may_run_code, path.rglob("*"))):
        raise ArtifactError(
            f"`{path}` must bring no code of its own and no pickled weights. Found some: it is not loaded."
        )
    if own not in types:
        raise ArtifactError(f"`{path}` must hold a model with the module {own}. Found none.")
    return SentenceTransformer(str(path), trust_remote_code=True, local_files_only=True, **options)


def _may_run_code(file: Path) -> bool:
    if file.suffix == ".json" and file.is_file():
        return b"auto_map" in file.read_bytes()
    return file.suffix in (".py", ".bin", ".pt", ".pth", ".pkl", ".ckpt")


def _without_texts(protector: Protector) -> Protector:
    """Refuse what only texts could give."""
    if protector.secret is not None or protector.ledger is not None or protector.only_matching:
        raise InputError(
            "A module sees vectors and no texts, so it can have no secret, ledger or only_matching. "
            "Use the protector itself, with the model as its encoder."
        )
    return protector
