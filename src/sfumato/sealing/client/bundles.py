"""Bundles: what a reader, or another writer, needs to search the rows of one lane.

A bundle is a folder with a copy of the lane's state, its salts and their root, and a manifest that is sealed
and, in a signed collection, signed by the writer. It holds salts: after an erasure it must be made anew or
destroyed, everywhere it was given, since with it older copies of the store still open. That it is out of date
shows at every search, by the count of changes of its lane in the store.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.errors import ArtifactError, InputError
from sfumato.files import require_place, write_atomic
from sfumato.sealing.client.database import FILE, StateFile
from sfumato.sealing.client.session import SealedClient
from sfumato.sealing.crypto.envelope import Bound, Envelope
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.sealed_file import read_sealed, write_sealed
from sfumato.sealing.crypto.signing import signed_by
from sfumato.sealing.erasure.roots import destroy_root
from sfumato.sealing.members import SealedSettings
from sfumato.sealing.state import ClientState

MANIFEST = "bundle"
_LARGEST_MANIFEST = 1 << 20
_PARTS = re.compile(rf"{re.escape(FILE)}|salts-\d+|shred-root-\d+")
_BESIDE = re.compile(rf"{MANIFEST}|lock|salts\.lock|{re.escape(FILE)}-(wal|shm)|\..*\.tmp")
_READ = 1 << 20


def is_bundle(folder: Path) -> bool:
    """Whether a folder is a bundle, and so nothing to write with."""
    return (folder / MANIFEST).exists()


def export_bundle(client: SealedClient, key: SealingKey, folder: Path) -> None:
    """Write what a reader needs of this lane into a folder, new or a bundle, which is made anew."""
    require_place(folder)
    file, now = client.state.file, client.state.settings
    with file.alone():
        client.catch_up()
        client.outbox.send()
        if folder.exists():
            destroy_bundle(folder)
        folder.mkdir(mode=0o700)
        # First empty, and whole at the end: what is not finished is known for a bundle, and opens as none.
        write_atomic(folder / MANIFEST, b"", permissions=0o600)
        for path in (*file.folder.glob("salts-*"), *file.folder.glob("shred-root-*")):
            write_atomic(folder / path.name, path.read_bytes(), permissions=0o600)
        file.copy(folder)
        now = client.state.settings
    body = _body(now, _digests(folder))
    signature = client.writer_key.sign(body) if now.writer else b""
    whole = json.dumps({"body": body.decode(), "signature": signature.hex()}).encode()
    write_sealed(folder / MANIFEST, whole, _envelope(key, client.state.tenant), _BOUND)


def open_bundle(folder: Path, key: SealingKey, tenant: str, writers: frozenset[str] | None) -> ClientState:
    """Open a bundle that is whole and, where `writers` are given, signed by one of them."""
    if not is_bundle(folder) or not (folder / MANIFEST).stat().st_size:
        raise InputError(
            f"`{folder}` must be a bundle, as `export_reader` writes it. It is none, or was not finished: "
            "make it anew."
        )
    manifest = _manifest(folder, key, tenant)
    # All of this before anything else is read: the files may be anybody's.
    writer = _writer(folder, manifest, writers)
    digests = _digests(folder)
    if json.loads(manifest["body"])["files"] != digests:
        raise _changed(folder)
    file = StateFile(folder)
    try:
        state = ClientState(file, key, tenant)
        now = state.settings
        if _body(now, digests) != manifest["body"].encode() or now.writer != writer:
            raise _changed(folder)
    except BaseException:
        file.close()
        raise
    return state


def _changed(folder: Path) -> ArtifactError:
    return ArtifactError(f"The bundle `{folder}` is refused: its files were changed. Make it anew.")


def _writer(folder: Path, manifest: dict[str, str], writers: frozenset[str] | None) -> str:
    """Whose signature a bundle has; empty for one that is not signed, where that is allowed."""
    body, signature = manifest["body"].encode(), bytes.fromhex(manifest["signature"])
    if writers is None and signature:
        raise InputError(
            f"The bundle `{folder}` is signed. Give the public keys of those who may write as `writers`, as "
            "they told you: the bundle's own word does not count."
        )
    found = next((each for each in writers or () if signed_by(each, body, signature)), "")
    if writers is not None and not found:
        raise InputError(
            f"The bundle `{folder}` is refused: none of the `writers` signed it. Ask for another."
        )
    return found


def destroy_bundle(folder: Path) -> None:
    """Destroy a bundle: its root is overwritten, then all of it removed; nothing else is touched."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else [""]
    strange = [name for name in names if not _PARTS.fullmatch(name) and not _BESIDE.fullmatch(name)]
    if strange or (names and not is_bundle(folder)):
        raise InputError(f"`{folder}` must be new, or a bundle. Found something else: give another place.")
    # Roots first, and last what says that this is a bundle: killed in between, it can be destroyed again.
    for name in sorted(names, key=lambda each: (each == MANIFEST, not each.startswith("shred-root-"))):
        with contextlib.suppress(FileNotFoundError):
            (destroy_root if name.startswith("shred-root-") else os.unlink)(folder / name)
    folder.rmdir()


def _manifest(folder: Path, key: SealingKey, tenant: str) -> dict[str, str]:
    plain = read_sealed(folder / MANIFEST, _envelope(key, tenant), _BOUND, largest=_LARGEST_MANIFEST)
    try:
        found = json.loads(plain)
        bytes.fromhex(found["signature"])
        json.loads(found["body"])["files"].items()
        return {"body": str(found["body"]), "signature": str(found["signature"])}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ArtifactError(
            f"The bundle `{folder}` has no manifest that can be read. Make it anew."
        ) from None


def _body(now: SealedSettings, digests: dict[str, str]) -> bytes:
    """What a manifest says, and a writer signs: the lane as it was, and every file."""
    facts: dict[str, Any] = {
        "collection": now.collection, "lane": now.lane, "generation": now.generation, "files": digests
    }  # fmt: skip
    return json.dumps(facts, sort_keys=True).encode()


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: _digest(path) for path in sorted(_parts(folder))}


def _parts(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if _PARTS.fullmatch(path.name):
            if path.is_symlink() or not path.is_file():
                raise ArtifactError(f"`{path}` must be a plain file. Make the bundle anew.")
            yield path


def _digest(path: Path) -> str:
    made = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_READ):
            made.update(block)
    return made.hexdigest()


def _envelope(key: SealingKey, tenant: str) -> Envelope:
    return Envelope(key.derive("state", tenant, "bundle"))


_BOUND = Bound(tenant="", collection="", record_id=MANIFEST, kind="bundle")
