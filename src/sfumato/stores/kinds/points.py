"""Reading the points of Qdrant's local mode, which keeps them as pickles, without running what a pickle asks.

Qdrant's own reader is given these `loads` in the place of pickle's, for the whole process: what it is handed
is what is checked, whatever collection it came from and whenever it is read. The rest of a folder is looked
through before Qdrant opens it.
"""

from __future__ import annotations

import importlib
import io
import json
import pickle
import pickletools
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sfumato.errors import ArtifactError
from sfumato.files import PathLike
from sfumato.stores.kinds.databases import refuse_traps, refused

_MODULE = "qdrant_client.http.models.models"
_CLASSES = frozenset({"PointStruct", "SparseVector"})
# What a pickle of plain data and of those classes is made of; GLOBAL, REDUCE, INST, OBJ, PERSID and EXT are
# not, and neither is PUT, which can ask for memory without end.
_HARMLESS = frozenset(
    "PROTO FRAME STOP MEMOIZE BINGET LONG_BINGET MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 "
    "BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS "
    "EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_SET ADDITEMS NEWOBJ BUILD STACK_GLOBAL".split()
)
_SCHEMA = [
    ("table", "points", "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)"),
    ("index", "sqlite_autoindex_points_1", None),
]
_DATABASE = "storage.sqlite"
_FILES = frozenset(_DATABASE + end for end in ("", "-journal", "-wal", "-shm"))
_LARGEST_DATABASE = 2 << 30
_LARGEST_POINT = 64 << 20
_LARGEST_META = 16 << 20
_WIDEST = 1 << 16
_DEEPEST = 100


def local_client(folder: PathLike) -> Any:
    """Open a folder of Qdrant's local mode: only points come out of it."""
    _refuse_foreign(Path(folder))
    storage: Any = importlib.import_module("qdrant_client.local.persistence")
    if getattr(storage, "pickle", None) is pickle:
        storage.pickle = _POINTS_ONLY
    if getattr(storage, "pickle", None) is not _POINTS_ONLY:
        raise ArtifactError(
            "This version of qdrant-client keeps points in a way that is not known here, so no folder is "
            "opened. Use a Qdrant server, or qdrant-client 1.20."
        )
    return importlib.import_module("qdrant_client").QdrantClient(path=str(folder))


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that is anything but Qdrant's; points themselves are checked when they are read."""
    refuse_traps(folder)
    meta = folder / "meta.json"
    if meta.exists():
        if meta.stat().st_size > _LARGEST_META:
            raise refused(folder, f"its meta.json is over {_LARGEST_META >> 20} MiB")
        try:
            _refuse_odd_collections(folder, json.loads(meta.read_bytes()))
        except ArtifactError:
            raise
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            raise refused(folder, "its meta.json is not Qdrant's") from None
    # Also what meta.json does not name: a collection that is made later takes its place.
    for place in (folder / "collection").glob("*"):
        if place.name.startswith(".") and place.is_file():
            continue
        if not place.is_dir() or not {each.name for each in place.glob("[!.]*")} <= _FILES:
            raise refused(folder, "it holds other files than Qdrant's, or a collection with / in its name")
        if (place / _DATABASE).exists():
            _refuse_odd_database(folder, place / _DATABASE)


def _refuse_odd_collections(folder: Path, meta: dict[str, Any]) -> None:
    for name, config in meta["collections"].items():
        if not name or name in (".", "..") or any(sign in name for sign in "/\\\0:"):
            raise refused(folder, "a collection in it has a name that is a path")
        vectors = config["vectors"]
        for each in [vectors] if "size" in vectors else vectors.values():
            if type(each["size"]) is not int or not 1 <= each["size"] <= _WIDEST:
                raise refused(folder, f"its vectors have to have 1 to {_WIDEST} dimensions")


def _refuse_odd_database(folder: Path, file: Path) -> None:
    if file.stat().st_size > _LARGEST_DATABASE:
        raise refused(folder, f"a collection in it is over {_LARGEST_DATABASE >> 30} GiB, all to be held")
    try:
        # Not read-only: a journal that a killed process left has to be rolled back, as Qdrant would.
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            found = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid LIMIT 3")
            plain = found.fetchall() in ([], _SCHEMA)
    except sqlite3.Error:
        plain = False
    if not plain:
        raise refused(folder, "a database in it holds other things than Qdrant's points")


class _Reader(pickle.Unpickler):
    """An unpickler that finds two classes, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module != _MODULE or name not in _CLASSES:
            raise pickle.UnpicklingError("not a point")
        return getattr(importlib.import_module(module), name)


def _loads(data: object) -> Any:
    """The point in a pickle, or a refusal; nothing that it names is called."""
    point = None
    if isinstance(data, bytes) and len(data) <= _LARGEST_POINT and _harmless(data):
        try:
            point = _Reader(io.BytesIO(data)).load()
            if not _is_point(point, 16 * len(data)):
                point = None
        except Exception:  # whatever a damaged pickle makes of itself, it is not a point
            point = None
    if point is None:
        raise ArtifactError(
            "The folder is refused: it holds something other than Qdrant's points, which could run code when "
            "it is read. Use a folder that you made yourself, or a Qdrant server."
        )
    return point


def _harmless(data: bytes) -> bool:
    try:
        return all(opcode.name in _HARMLESS for opcode, _, _ in pickletools.genops(data))
    except Exception:  # as above
        return False


def _is_point(found: Any, nodes: int) -> bool:
    """Whether this is a point of plain values, no more of them than its bytes can hold."""
    if type(found).__name__ != "PointStruct" or type(found.id) not in (int, str):
        return False
    if type(found.vector) not in (list, dict) or type(found.payload) not in (dict, type(None)):
        return False
    waiting = [(found.vector, 0), (found.payload, 0)]
    while waiting:
        value, depth = waiting.pop()
        held = _held(value)
        nodes -= 1 + len(held)
        if nodes < 0 or depth > _DEEPEST:
            return False
        if not all(type(each) is float for each in held):
            waiting += [(each, depth + 1) for each in held]
    return True


def _held(value: Any) -> list[Any]:
    """What a plain value is made of; any other is refused."""
    if type(value) is list:
        return value
    if type(value) is dict and all(type(key) is str for key in value):
        return list(value.values())
    if type(value).__name__ == "SparseVector":
        return [value.indices, value.values]
    if type(value) in (str, int, float, bool, type(None)):
        return []
    raise pickle.UnpicklingError("not a plain value")


_POINTS_ONLY = SimpleNamespace(loads=_loads, dumps=pickle.dumps)
