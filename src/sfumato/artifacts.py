"""Saved artifacts: a folder with `tensors.safetensors` and a readable `config.json`, sealed by one SHA-256.

Under its final name an artifact is always absent, the old one or the new one, each complete: a save fills a
sibling folder `.NAME.new-*`, syncs it, moves the old folder to `.NAME.old`, moves the new one in and deletes
the old. A save killed between the two moves leaves `.NAME.old`, which `load` reads in its place.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from sfumato.errors import ArtifactError, ParameterError
from sfumato.files import (
    PathLike,
    atomic_file,
    holds_files,
    read_folder,
    refuse_foreign,
    replace_folder,
    require_place,
    write_atomic,
)

__all__ = [
    "CONFIG",
    "FORMAT",
    "TENSORS",
    "Artifact",
    "PathLike",
    "atomic_file",
    "canonical_json",
    "load",
    "require_free",
    "save",
    "write_atomic",
]

FORMAT = 1
"""Version of the folder's layout; a reader refuses any other."""
CONFIG = "config.json"
TENSORS = "tensors.safetensors"

_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
_NAMES = sorted(np.dtype(dtype).name for dtype in _DTYPES.values())
_LARGEST_CONFIG = 16 << 20
_LARGEST_HEADER = 1 << 20
_SMALL = 1 << 24
"""Bytes that are read without a look at the header first."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a saved folder held, after every check; the arrays are read-only."""

    kind: str
    config: dict[str, Any]
    tensors: dict[str, NDArray[Any]]
    digest: str


def canonical_json(value: Any) -> bytes:
    """The one JSON spelling of `value`: equal bytes mean equal values of equal types (a tuple is a list)."""
    try:
        _refuse_not_json(value)
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            "Settings have to be finite numbers and well-formed text, not nested too deep. "
            "Found a value that is not. Change it."
        ) from error


def save(path: PathLike, kind: str, config: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    """Write an artifact in one step, replacing an older one of the same name, and give its digest."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", kind):
        raise ParameterError(f"`kind` has to be lower-case letters, digits and hyphens. Found {kind!r:.60}.")
    data = _pack(tensors)
    digest = _digest(kind, config, data)
    text = _render({"format": FORMAT, "kind": kind, "config": dict(config), "digest": digest})
    if len(text) > _LARGEST_CONFIG:
        raise ParameterError(
            f"`config` has to stay under {_LARGEST_CONFIG} bytes. Found {len(text)}. Use tensors."
        )
    replace_folder(Path(os.path.realpath(path)), {TENSORS: data, CONFIG: text})
    return digest


def require_free(path: PathLike, *, replace: bool = False) -> None:
    """Refuse, before any work is done, a folder that an artifact may not be saved to."""
    folder = Path(os.path.realpath(path))
    require_place(folder)
    refuse_foreign(folder, (CONFIG, TENSORS))
    if not replace and holds_files(folder):
        raise ArtifactError(
            f"`{path}` already holds what was saved there. Choose another folder, or replace it with --force."
        )


def load(path: PathLike, kind: str, *, largest: int | None = None) -> Artifact:
    """Read an artifact of this kind, with at most `largest` bytes of tensors, or refuse it."""
    folder = Path(os.path.realpath(path))
    try:
        files = read_folder(
            folder, {CONFIG: _LARGEST_CONFIG, TENSORS: largest}, {TENSORS: partial(_refuse_hollow, folder)}
        )
        return _opened(folder, kind, files)
    except MemoryError:
        raise _damaged(folder, f"{TENSORS} does not fit into the memory") from None


def _opened(folder: Path, kind: str, files: Mapping[str, bytes]) -> Artifact:
    try:
        top = json.loads(files[CONFIG])
    except (ValueError, RecursionError) as error:
        raise _damaged(folder, f"{CONFIG} is not JSON") from error
    if not isinstance(top, dict) or type(top.get("format")) is not int:
        raise _damaged(folder, f"{CONFIG} has no format version")
    if top["format"] != FORMAT:
        raise ArtifactError(
            f"`{folder}` has to be of format {FORMAT}. Found {top['format']}. Use the Sfumato that saved it."
        )
    if top.keys() != {"format", "kind", "config", "digest"} or not isinstance(top["config"], dict):
        raise _damaged(folder, f"{CONFIG} has to hold format, kind, config and digest, and nothing else")
    if top["kind"] != kind:
        raise ArtifactError(
            f"`{folder}` has to hold {kind!r}. Found {top['kind']!r:.60}. Give the right folder."
        )
    _refuse_broken_seal(folder, top, files)
    return Artifact(kind, top["config"], _unpack(folder, files[TENSORS]), top["digest"])


def _render(top: dict[str, Any]) -> bytes:
    return json.dumps(top, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _digest(kind: str, config: Mapping[str, Any], data: bytes) -> str:
    head = canonical_json({"format": FORMAT, "kind": kind, "config": dict(config)})
    # The length first, so that no byte can move from the head to the tensors.
    return hashlib.sha256(len(head).to_bytes(8, "little") + head + data).hexdigest()


def _refuse_broken_seal(folder: Path, top: dict[str, Any], files: Mapping[str, bytes]) -> None:
    try:
        # A changed byte may leave the values alone (1e+16 and 1E+16): the spelling is checked as well.
        whole = _render(top) == files[CONFIG] and top["digest"] == _digest(
            top["kind"], top["config"], files[TENSORS]
        )
    except (ValueError, RecursionError) as error:
        raise _damaged(folder, f"{CONFIG} holds values that are never saved") from error
    if not whole:
        raise _damaged(folder, "its SHA-256 does not match, so it was changed after it was saved")


def _pack(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    ready: dict[str, NDArray[Any]] = {}
    for name, array in tensors.items():
        # Not a subclass: a masked array would lose its mask.
        found = array.dtype.name if type(array) is np.ndarray else type(array).__name__
        if found not in _NAMES:
            raise ArtifactError(
                f"Tensor {name!r} has to be an array of one of {_NAMES}. Found {found}. Convert it."
            )
        if not np.isfinite(array).all():
            raise ArtifactError(
                f"Tensor {name!r} has to be finite. Found values that are not. Nothing was saved."
            )
        ready[name] = np.asarray(array, order="C", dtype=array.dtype.newbyteorder("<"))
    try:
        data = safetensors.numpy.save(ready)
    except Exception as error:
        raise ArtifactError("Tensors have to have ordinary names. Found one that cannot be saved.") from error
    if _header(data) > _LARGEST_HEADER:
        raise ArtifactError(
            f"Names of tensors have to fit in {_LARGEST_HEADER} bytes. Found {_header(data)}."
        )
    return data


def _refuse_hollow(folder: Path, handle: BinaryIO, size: int) -> None:
    """Refuse a file that is longer than its header says, before the rest of it is read."""
    if size <= _SMALL:
        return
    length = _header(handle.read(8))
    if length > min(_LARGEST_HEADER, size - 8):
        raise _damaged(folder, f"the header of {TENSORS} is over {_LARGEST_HEADER} bytes, or cut off")
    try:
        found = json.loads(handle.read(length))
        ends = [each["data_offsets"][1] for name, each in found.items() if name != "__metadata__"]
        whole = 8 + length + max(ends, default=0) == size
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise _damaged(folder, f"{TENSORS} is not a safetensors file") from None
    if not whole:
        raise _damaged(folder, f"{TENSORS} is not as long as its header says")


def _unpack(folder: Path, data: bytes) -> dict[str, NDArray[Any]]:
    # The digest is no signature: anyone can seal a forged file, so the content is checked as a stranger's.
    if _header(data) > _LARGEST_HEADER:
        raise _damaged(folder, f"the header of {TENSORS} is over {_LARGEST_HEADER} bytes")
    try:
        views: list[tuple[str, dict[str, Any]]] = safetensors.deserialize(data)
    except Exception as error:
        raise _damaged(folder, f"{TENSORS} is not a safetensors file") from error
    tensors: dict[str, NDArray[Any]] = {}
    for name, view in views:
        if view["dtype"] not in _DTYPES:
            raise _damaged(folder, f"tensor {name!r} is {view['dtype']}, not one of {sorted(_DTYPES)}")
        array = np.frombuffer(bytes(view["data"]), dtype=_DTYPES[view["dtype"]]).reshape(view["shape"])
        if not np.isfinite(array).all():
            raise _damaged(folder, f"tensor {name!r} holds values that are not finite")
        tensors[name] = array
    return tensors


def _header(data: bytes) -> int:
    return int.from_bytes(data[:8], "little")


def _damaged(folder: Path, reason: str) -> ArtifactError:
    return ArtifactError(f"`{folder}` is refused: {reason}. Save it again, or restore it from a copy.")


def _refuse_not_json(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ParameterError(
                    f"Keys of settings have to be text. Found {type(key).__name__}. Rename it."
                )
            _refuse_not_json(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_not_json(item)
    elif not (value is None or isinstance(value, str | int | float)):
        raise ParameterError(
            f"Settings have to be text, numbers, booleans, None, lists and dicts. "
            f"Found {type(value).__name__}. Convert it."
        )
