"""Whether rows are gone: from the collection, from the bytes of files, and from what copies are good for.

No list of erased rows is kept, not even as digests: it would be a list of whom was erased. So the ids of all
records that rows have are computed, and what else is found is a leftover, which opens under no salt that is
left, or is reported.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.files import PathLike
from sfumato.sealing.client.writing import record_ids
from sfumato.sealing.crypto.envelope import HEAD, OVERHEAD, Envelope
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.erasure.roots import fingerprint
from sfumato.sealing.inspection.files import PlainFile, blocks, plain_files
from sfumato.sealing.inspection.leftovers import HEAD_CHARACTERS, SealedContents
from sfumato.sealing.inspection.traces import Trace, Traces
from sfumato.sealing.store import SealedStore

_ROOT = re.compile(r"shred-root-\d{1,15}")
_ROOT_BYTES = 32
_AT_ONCE = 1000
_KINDS = ("text", "id", "vector")
MOST_VECTORS = 20
"""Texts whose vectors are looked for, the longest: one takes as long as thousands of texts."""


@dataclass(slots=True)
class FileFinding:
    """What one file holds of rows that must be gone."""

    path: str
    bytes: int
    found: dict[str, int] = field(default_factory=dict)
    """How many of the texts, ids and vectors that were given stand in it in the clear."""
    places: dict[str, int] = field(default_factory=dict)
    """Where the first of each kind begins."""
    live: int = 0
    """Contents of rows that are there, seen in it."""
    sealed: int = 0
    """Contents that no row has and no salt opens that is left."""
    openable: int = 0
    """Contents that no row has and the key still opens: rows that were deleted or replaced and not erased."""
    root: bool = False
    """Whether it is a root that an erasure has destroyed: with it, copies open again."""
    unseen: str = ""
    """Why nothing can be seen in it."""

    @property
    def verdict(self) -> str:
        """`found`, `sealed` (found, and nobody opens it), `unseen` or `not found`."""
        if self.found or self.openable or self.root:
            return "found"
        return "sealed" if self.sealed else "unseen" if self.unseen else "not found"


@dataclass(frozen=True, slots=True)
class ErasedReport:
    """Whether rows are gone, as far as could be seen."""

    still_there: int
    """Rows among those asked about that the collection still has."""
    records: int
    """Records that rows have."""
    store: FileFinding
    """What the store itself hands out beside the records of rows."""
    files: list[FileFinding]
    texts: int
    ids: int
    vectors: int
    """How many of each were looked for."""
    too_short: int
    """Values that were not looked for, because any file holds them by chance."""
    untested: int
    """Contents that were too many to be tried with every salt."""
    unseen: tuple[str, ...]
    """What could not be looked at, a line each."""

    @property
    def erased(self) -> bool:
        """Whether nothing was found that must not be there."""
        return not self.still_there and all(each.verdict != "found" for each in (self.store, *self.files))


def verify_erased(
    store: SealedStore,
    key: SealingKey,
    ids: Sequence[str],
    *,
    texts: Sequence[str] = (),
    files: Sequence[PathLike] = (),
    unseen: Sequence[str] = (),
) -> ErasedReport:
    """Look for rows that must be gone.

    Args:
        store: the collection.
        key: its key.
        ids: the ids that the rows had.
        texts: their texts and metadata, as far as they are known; a text's vector is looked for, too.
        files: database files, logs, backups, and folders of them.
        unseen: what the caller knows that cannot be looked at.
    """
    there = store._client.state.find(ids)
    encoder = store.encoder if texts else None
    longest = sorted(texts, key=len, reverse=True)[:MOST_VECTORS]
    vectors = None if encoder is None else encoder.embed(longest)
    traces = Traces(texts, ids, vectors)
    contents, held = _contents(store, key)
    destroyed = {each.old_root for each in store._client.state.shredder.erasures}
    found = [_looked(each, traces, contents, destroyed) for each in plain_files(map(Path, files))]
    return ErasedReport(
        len(there),
        contents.records,
        held,
        found,
        len(texts),
        len(ids),
        0 if vectors is None else len(vectors),
        traces.skipped,
        contents.untested,
        tuple(unseen),
    )


def _contents(store: SealedStore, key: SealingKey) -> tuple[SealedContents, FileFinding]:
    """What rows have in the store, and what the store holds beside that."""
    known: set[str] = set()
    salts: list[bytes] = []
    for client in (lane.client for lane in store._lanes):
        known.add(client.generation_place().id)
        salts += client.state.shredder.every_salt()
        for members in client.state.walk(_AT_ONCE):
            known.update(record_ids(client, members))
    state, records = store._client.state, store._client.records
    held = FileFinding(store.store.label, 0)
    heads: list[bytes] = []

    def live() -> Iterator[bytes]:
        for name, content in records.scan():
            if name in known:
                yield content
                continue
            held.bytes += len(content)
            if len(content) >= OVERHEAD:
                heads.append(base64.b64encode(content[:HEAD]))

    envelope = Envelope(key.derive("seal", state.tenant, state.settings.collection))
    made = SealedContents(envelope, live(), salts)
    _count(held, [(head,) for head in heads], made)
    return made, held


def _count(into: FileFinding, strangers: Iterable[Sequence[bytes]], contents: SealedContents) -> None:
    for heads in strangers:
        opens = contents.opens(heads)
        if opens is not None:
            into.openable += opens
            into.sealed += not opens


def _looked(file: PlainFile, traces: Traces, contents: SealedContents, destroyed: set[str]) -> FileFinding:
    """Read a file once, block by block."""
    made = FileFinding(str(file.path), file.bytes, root=_is_root(file, destroyed))
    if file.packed:
        made.unseen = f"the file is compressed ({file.packed})"
    seen: dict[Trace, int] = {}
    strangers: dict[bytes, tuple[bytes, ...]] = {}
    before = contents.seen
    overlap = max(traces.overlap, 2 * HEAD_CHARACTERS)
    place = 0
    for block in blocks(file.path, overlap):
        for trace, at in traces.find(block).items():
            seen.setdefault(trace, place + at)
        contents.gather(block, strangers)
        place += len(block) - overlap if len(block) > overlap else 0
    for trace, at in sorted(seen.items(), key=lambda each: _KINDS.index(each[0].kind)):
        made.found[trace.kind] = made.found.get(trace.kind, 0) + 1
        made.places[trace.kind] = min(at, made.places.get(trace.kind, at))
    _count(made, strangers.values(), contents)
    made.live = contents.seen - before
    return made


def _is_root(file: PlainFile, destroyed: set[str]) -> bool:
    if not _ROOT.fullmatch(file.path.name) or file.bytes != _ROOT_BYTES:
        return False
    return fingerprint(b"".join(blocks(file.path, 0))) in destroyed
