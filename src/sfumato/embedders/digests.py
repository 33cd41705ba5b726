"""SHA-256 of model files: which weights are in use, and whether they are the ones that were published."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import ArtifactError, InputError

# What a sentence-transformers folder is loaded from; model cards and other formats change nothing.
_ENDINGS = frozenset({".safetensors", ".json", ".txt", ".model", ".jinja"})
_OTHER_FORMATS = frozenset({"onnx", "openvino"})


def file_digest(file: Path) -> str:
    """Return the SHA-256 of one file in hex."""
    try:
        with file.open("rb") as handle:
            digest = hashlib.sha256()
            while block := handle.read(1 << 20):
                digest.update(block)
            return digest.hexdigest()
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error.strerror}. Check the name.") from None


def folder_digest(folder: Path) -> str:
    """Return one SHA-256 over the names and contents of everything a model folder is loaded from."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        place = file.relative_to(folder)
        hidden = any(part.startswith(".") or part in _OTHER_FORMATS for part in place.parts)
        if file.suffix in _ENDINGS and not hidden and file.is_file():
            digest.update(f"{file_digest(file)} {place.as_posix()}\n".encode())
    return digest.hexdigest()


def package_folder(module: str) -> Path | None:
    """The folder of an installed package, found without importing it: its code is run by nobody."""
    found = importlib.util.find_spec(module)
    places = None if found is None else found.submodule_search_locations
    return Path(next(iter(places))) if places else None


def require_published(folder: Path, published: Mapping[str, str], package: str) -> None:
    """Refuse a package whose files are not, to the bit, the published ones."""
    for name, digest in published.items():
        if not (folder / name).is_file():
            raise ArtifactError(
                f"The package `{package}` has to hold {name}. It is missing: install it again."
            )
        found = file_digest(folder / name)
        if found != digest:
            raise ArtifactError(
                f"{name} in the package `{package}` has to have the SHA-256 {digest[:12]}…. "
                f"Found {found[:12]}…: install the package again from a source you trust."
            )
