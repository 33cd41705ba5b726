"""A look into a folder of Qdrant's local mode before Qdrant opens it.

Qdrant keeps each point of a local folder as a pickle, which can run code when it is read. Here the opcodes
of every pickle are walked through without running any: one that names anything but a point is refused.
"""

from __future__ import annotations

import pickletools
import sqlite3
from contextlib import closing
from pathlib import Path

from sfumato.errors import ArtifactError
from sfumato.files import PathLike

_MODULE = "qdrant_client.http.models.models"
_CLASSES = frozenset({"PointStruct"})
# What a pickle of plain data and of that class is made of; GLOBAL, INST, OBJ, PERSID and EXT are not.
_HARMLESS = frozenset(
    "PROTO FRAME STOP MEMOIZE BINGET LONG_BINGET MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 "
    "BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS "
    "EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_SET ADDITEMS NEWOBJ BUILD STACK_GLOBAL".split()
)
_STRINGS = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})


def refuse_foreign_points(folder: PathLike) -> None:
    """Refuse a folder in which a point is anything but a point; nothing of it is run."""
    for file in sorted(Path(folder).glob("collection/*/storage.sqlite")):
        try:
            with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
                rows = database.execute("SELECT point FROM points")
                clean = all(isinstance(point, bytes) and _harmless(point) for (point,) in rows)
        except sqlite3.Error:
            clean = False
        if not clean:
            raise ArtifactError(
                f"`{folder}` is refused: it holds something other than Qdrant's points, which could run code "
                "when it is read. Use a folder that you made yourself, or a Qdrant server."
            )


def _harmless(data: bytes) -> bool:
    written: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name not in _HARMLESS:
                return False
            if opcode.name in _STRINGS:
                written.append(str(argument))
            elif opcode.name == "STACK_GLOBAL" and not _known(written):
                return False
            elif opcode.name != "MEMOIZE":
                # A name counts only if it was written just now: one fetched from memory could be any.
                written = []
    except Exception:  # whatever a damaged pickle makes of itself, it is not a point
        return False
    return True


def _known(written: list[str]) -> bool:
    return len(written) >= 2 and written[-2] == _MODULE and written[-1] in _CLASSES
