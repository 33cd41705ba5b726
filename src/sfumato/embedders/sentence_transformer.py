"""Any sentence-transformers model, from a folder or from the local copy of a hub model."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from sfumato.embedders.batches import SteadyModel
from sfumato.embedders.digests import folder_digest
from sfumato.embedders.huggingface.models import offline, refuse_pickled
from sfumato.embedders.steady import SteadyEncoder
from sfumato.errors import ArtifactError, InputError
from sfumato.files import PathLike

_PATTERNS = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"]


class SentenceTransformerModel(SteadyEncoder):
    """Embeds with a sentence-transformers model, at unit length and in float32.

    Args:
        model: A folder, or a hub name such as "sentence-transformers/gtr-t5-base".
        revision: The hub revision wanted.
        prompt: What is put before each text; the model's own default prompt when None, "" for nothing.
        device: Such as "cpu" or "cuda"; a GPU when None and there is one.
        threads: How many batches run at once on the CPU; as many as torch has threads when None.
        allow_download: Whether a hub model without a local copy may be fetched.
    """

    def __init__(
        self,
        model: PathLike,
        *,
        revision: str | None = None,
        prompt: str | None = None,
        device: str | None = None,
        threads: int | None = None,
        allow_download: bool = False,
    ) -> None:
        folder = _folder(model, revision, allow_download)
        self.name = str(model)
        loaded = load_model(folder, device)
        if prompt is None:
            prompt = (loaded.prompts or {}).get(loaded.default_prompt_name or "") or ""
        self._model = SteadyModel(loaded, prompt=prompt or None, threads=threads)
        self.dim, self.soft = self._model.dim, self._model.soft
        # Not the folder's name: a model that was moved is still the same model.
        self.model_id = f"sentence-transformers@sha256:{folder_digest(folder)}"
        if prompt:
            self.model_id += f";prompt={prompt}"


def load_model(folder: Path, device: str | None) -> Any:
    """Load a model from a folder: from safetensors only, without its own code and without the network."""
    import torch
    from sentence_transformers import SentenceTransformer

    from sfumato.devices import chosen_device

    refuse_pickled(folder)
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.mps.is_available() else "cpu"
    device = str(chosen_device(device))
    options = {"use_safetensors": True, "dtype": torch.float32}
    try:
        with offline():
            model = SentenceTransformer(
                str(folder), device=device, local_files_only=True, model_kwargs=options
            )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
        raise ArtifactError(
            f"`{folder}` cannot be loaded as a sentence-transformers model ({type(error).__name__}). "
            "Give a folder that SentenceTransformer.save made."
        ) from error
    return model.float()


def _folder(model: PathLike, revision: str | None, allow_download: bool) -> Path:
    """The folder that holds the model; a hub name stands for its local copy."""
    path = Path(model)
    if path.is_dir():
        return path
    hub: Any = import_module("huggingface_hub")
    try:
        return Path(
            hub.snapshot_download(
                str(model),
                revision=revision,
                local_files_only=not allow_download,
                allow_patterns=_PATTERNS,
            )
        )
    except hub.errors.HFValidationError:
        raise InputError(f"`{model}` is neither a folder nor a hub name. Check the name.") from None
    except OSError as error:
        if allow_download:
            raise InputError(
                f"`{model}` cannot be fetched ({type(error).__name__}). Check the name and the network."
            ) from error
        raise InputError(
            f"`{model}` is not a folder, and there is no local copy of a hub model of that name. Download it "
            "first, or allow it with allow_download=True."
        ) from None
