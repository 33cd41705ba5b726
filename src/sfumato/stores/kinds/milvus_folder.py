"""A folder of Milvus Lite: looked at before it is opened, and served on a socket that only this user reaches.

Milvus Lite is a server in this process. Its own way to open a folder listens on a port of the machine without
a password, where every user of it could read and write; here it listens on a socket in a folder of its own.
"""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

from sfumato.errors import ArtifactError
from sfumato.files import PathLike
from sfumato.stores.kinds.databases import refuse_traps, refused
from sfumato.stores.kinds.faiss import is_plain

_NUMPY = b"\x93NUMPY"
_LARGEST_INDEX = 2 << 30
_GRACE = 2.0


class ServedFolder:
    """A folder that is being served to some stores of this process."""

    def __init__(self, folder: Path) -> None:
        _refuse_foreign(folder)
        server: Any = importlib.import_module("milvus_lite.adapter.grpc.server")
        self._socket = Path(tempfile.mkdtemp(prefix="mv"))
        self.address = f"unix:{self._socket}/s"
        try:
            self._server, self._database, _ = server.start_server_in_thread(
                str(folder), host="unix", port=f"{self._socket}/s"
            )
        except BaseException:
            shutil.rmtree(self._socket, ignore_errors=True)
            raise
        self.users = 0

    def stop(self) -> None:
        """Put everything on disk and let go of the folder."""
        try:
            self._server.stop(_GRACE).wait()
            self._database.close()
        finally:
            shutil.rmtree(self._socket, ignore_errors=True)


_SERVED: dict[str, ServedFolder] = {}
_LOCK = threading.Lock()


def serve(folder: PathLike) -> str:
    """The address at which a folder answers; each call needs a `leave`."""
    place = os.path.realpath(folder)
    with _LOCK:
        if place not in _SERVED:
            _SERVED[place] = ServedFolder(Path(folder))
        _SERVED[place].users += 1
        return _SERVED[place].address


def leave(folder: PathLike) -> None:
    """Say that a store needs the folder no longer; the last one stops its server."""
    place = os.path.realpath(folder)
    with _LOCK:
        served = _SERVED[place]
        served.users -= 1
        if not served.users:
            del _SERVED[place]
            served.stop()


def _refuse_foreign(folder: Path) -> None:
    """Refuse links, and indexes of FAISS that open files which they name."""
    if folder.exists() and not folder.is_dir():
        raise ArtifactError(
            f"`{folder}` is refused: it is a file, as Milvus Lite 2 kept them. Copy its rows with that."
        )
    refuse_traps(folder)
    for index in folder.rglob("*.idx"):
        with index.open("rb") as handle:
            start = handle.read(len(_NUMPY))
        if start == _NUMPY:
            continue
        if index.stat().st_size > _LARGEST_INDEX or not is_plain(index.read_bytes(), "hnsw"):
            raise refused(folder, "it holds an index that is neither FLAT nor HNSW")
