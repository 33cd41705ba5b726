"""A sealed collection in a store that is not trusted: it finds as well as before, and can read nothing.

What the store holds are records of a few sizes under ids that repeat nowhere. What finds them is the
client's: a key, and a folder of state, sealed as well, without which no record is found or opened again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from sfumato.concepts.concept import Concept
from sfumato.embedders import Embedder, load_embedder
from sfumato.embedders.texts import checked_texts
from sfumato.errors import InputError
from sfumato.files import PathLike, require_place, write_atomic
from sfumato.numbers import whole_number
from sfumato.release import Releasing
from sfumato.sealing.cells.filing import MOST_UNITS
from sfumato.sealing.cells.measuring import Oversampling
from sfumato.sealing.client.asking import new_settings
from sfumato.sealing.client.bundles import export_bundle
from sfumato.sealing.client.changing import RowWriter
from sfumato.sealing.client.contents import SealedResult, SealedRow, refuse_large
from sfumato.sealing.client.lanes import Lane, search_lanes, search_name_in
from sfumato.sealing.client.opening import begin_lane, open_state
from sfumato.sealing.client.searching import RowSearch
from sfumato.sealing.client.session import SealedClient, require_handle
from sfumato.sealing.client.writing import OnRows
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.packing import Precision
from sfumato.sealing.crypto.signing import FILE as WRITER_FILE
from sfumato.sealing.erasure.shredding import ErasureRecord
from sfumato.sealing.members import SealedSettings
from sfumato.sealing.reading import SealedReader, open_lanes
from sfumato.sealing.records import Records
from sfumato.stores.base import Closable, Store
from sfumato.stores.rows import Where, checked_ids, checked_metadata, checked_vectors
from sfumato.types import Vectors

_COPIED_AT_ONCE, _IDS_AT_ONCE = 50_000, 10_000


class SealedStore(Closable):
    """Texts, vectors and metadata, sealed before they reach a store and searched by the client.

    Args:
        store: where records go; a collection of its own.
        key: the key, or the file it is in.
        folder: where the client's state is, or is made; sealed, and as needful as the key.
        handle: how the store finds candidates: multimap (for a new collection), tags, codes or noise.
        embedder: turns texts into vectors, by name or itself. Without one a new collection needs vectors with
            every row, and one that is there loads by name what it was sealed with.
        tenant: whose rows these are; every tenant has keys of its own.
        precision: how vectors are kept. This, the next four and what is said of handles are for a new
            collection; one that is there keeps its own.
        tables: how many ways the cells cut the space; more need fewer records a query and more a row.
        probes: cells of each table that a query asks for; "auto" measures how many it takes.
        keep: what "auto" is to keep of clean search, such as recall@10=0.99.
        units: sentences that a long text is filed under beside itself, at most.
        buffer: records that may wait at the client until more are there. Records that reach the store
            together can be seen to belong together: with single rows that says which postings are one row's.
        bits: of a row, shown by the handle codes; 64 for a new collection.
        release: what the handle noise shows: a noise ratio (1.4 for a new collection) of Laplace noise, or a
            mechanism, a release or a protector, which is then to be given whenever the collection is opened.
        names: what is found in texts so that `search_name` finds it: concepts, or names of the catalog's.
        filters: fields that `where` then fetches only the matching rows of; handle multimap.
        signed: whether readers, who have the key too, are kept from writing what others accept; for a new
            collection. Every record then counts only by its digest, which the writer vouches for.
        bundles: what other writers exported of their lanes: a search finds their rows, too.
        writers: public keys of those whose bundles count, in a collection that is signed.
        create: whether the collection may be a new one.
    """

    def __init__(
        self,
        store: Store,
        *,
        key: SealingKey | PathLike,
        folder: PathLike,
        handle: str | None = None,
        embedder: Embedder | str | None = None,
        tenant: str = "",
        precision: Precision = "int8",
        tables: int = 1,
        probes: int | Literal["auto"] = "auto",
        keep: str = "recall@10=0.99",
        units: int = MOST_UNITS,
        buffer: int = 0,
        bits: int | None = None,
        release: float | Releasing | None = None,
        names: Concept | str | Sequence[Concept | str] | None = None,
        filters: Sequence[str] = (),
        signed: bool = False,
        bundles: Iterable[PathLike] = (),
        writers: Iterable[str] | None = None,
        create: bool = True,
    ) -> None:
        options = {"bits": bits, "release": release, "filters": filters, "names": names}
        new = new_settings(
            Path(folder), handle, options, precision=precision, tables=tables, probes=probes, keep=keep,
            units=units, signed=signed,
        )  # fmt: skip
        self.store, self.tenant, self._closed = store, tenant, False
        self._key = key if isinstance(key, SealingKey) else SealingKey.load(key)
        encoder = load_embedder(embedder) if isinstance(embedder, str | os.PathLike) else embedder
        state = open_state(store, Path(folder), self._key, tenant, encoder, new if create else None, signed)
        waiting = whole_number(buffer, "buffer", 0, 10**6)
        try:
            require_handle(state.settings, handle)
            self._client = SealedClient(state, Records(store), self._key, encoder, waiting, options)
        except BaseException:
            state.file.close()
            raise
        self._search, self._writer = RowSearch(self._client), RowWriter(self._client)
        own = (state.settings.collection, state.settings.lane)
        try:
            others = open_lanes(
                store, self._key, bundles, tenant=tenant, embedder=encoder, writers=writers, without=own
            )
        except BaseException:
            state.file.close()
            raise
        self._lanes = [Lane("", self._client, self._search), *others]
        if not state.file.busy():
            self._client.catch_up()

    # Several writers, and readers

    @classmethod
    def join(
        cls, store: Store, *, key: SealingKey | PathLike, folder: PathLike, bundle: PathLike, **options: Any
    ) -> SealedStore:
        """Become another writer of a collection, with a state of one's own, by the bundle of one who is.

        Takes what `SealedStore` takes; rows are added, changed and erased by the writer who added them.
        """
        secret = key if isinstance(key, SealingKey) else SealingKey.load(key)
        tenant, writers = options.get("tenant", ""), options.get("writers")
        (lane,) = open_lanes(store, secret, [bundle], tenant=tenant, writers=writers)
        try:
            begin_lane(Path(folder), secret, tenant, lane.client.state)
        finally:
            lane.client.state.file.close()
        bundles = [bundle, *options.pop("bundles", ())]
        return cls(store, key=secret, folder=folder, bundles=bundles, create=False, **options)

    @staticmethod
    def reader(
        store: Store,
        *,
        key: SealingKey | PathLike,
        bundles: Iterable[PathLike],
        embedder: Embedder | str | None = None,
        tenant: str = "",
        writers: Iterable[str] | None = None,
    ) -> SealedReader:
        """Open a collection to search and read, by a bundle of each writer; see `SealedReader`."""
        secret = key if isinstance(key, SealingKey) else SealingKey.load(key)
        encoder = load_embedder(embedder) if isinstance(embedder, str | os.PathLike) else embedder
        lanes = open_lanes(store, secret, bundles, tenant=tenant, embedder=encoder, writers=writers)
        return SealedReader(store, lanes)

    def export_reader(self, folder: PathLike) -> None:
        """Write a bundle of this writer's lane into a folder, or make the one that is there anew.

        It holds salts: after an erasure make it anew, or destroy it, wherever it was given.
        """
        self._client.handle.require_shared()
        export_bundle(self._client, self._key, Path(folder))

    @property
    def writer(self) -> str:
        """The public key that this writer signs with, to be told to readers; empty if nothing is signed."""
        return self._client.state.settings.writer

    # Rows in and out

    def fit(self, texts: Sequence[str]) -> None:
        """Learn the cells from texts like those that will be added; only while there is no row."""
        self._writer.fit(checked_texts(texts))

    def add(
        self,
        ids: Iterable[str],
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,
        vectors: Any = None,
        *,
        on_rows: OnRows | None = None,
    ) -> int:
        """Seal rows, in the place of those with the same ids, and return how many changed.

        All of them or none are there afterwards, whatever is killed: where the store fails in the middle,
        what is left is sent by the next call or the next client. A row that is there already, the same in
        all, is left as it is.
        """
        rows, given = self._checked(ids, texts, metadata, vectors)
        return self._writer.write(rows, given, on_rows=on_rows)

    def update(
        self,
        ids: Iterable[str],
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,
        vectors: Any = None,
    ) -> int:
        """Seal rows in the place of those with these ids, which must be there."""
        rows, given = self._checked(ids, texts, metadata, vectors)
        return self._writer.write(rows, given, replace=True)

    def _checked(
        self, ids: Any, texts: Any, metadata: Any, vectors: Any
    ) -> tuple[list[SealedRow], Vectors | None]:
        names, given = checked_ids(ids), checked_texts(texts)
        fields = checked_metadata(metadata, len(names))
        if len(given) != len(names):
            raise InputError(f"There must be one text an id. Found {len(given)} for {len(names)} ids.")
        array = None
        if vectors is not None:
            array = checked_vectors(vectors, self._client.state.settings.dim or None)
            if len(array) != len(names):
                raise InputError(f"There must be one vector an id. Found {len(array)} for {len(names)} ids.")
        rows = [SealedRow(*each) for each in zip(names, given, fields, strict=True)]
        refuse_large(rows)
        return rows, array

    def relearn(self) -> None:
        """Learn the cells anew from all rows; every record gets another id, in one change."""
        self._writer.relearn()

    def delete(self, ids: Iterable[str]) -> int:
        """Take rows out and return how many were there; copies of the store keep their records, sealed."""
        return self._writer.delete(checked_ids(ids))

    def erase(self, ids: Iterable[str]) -> ErasureRecord | None:
        """Destroy rows so that copies of the store and of older states open nothing of them.

        Returns a record of it, or None where no row was there. What was deleted or replaced before goes too.
        """
        return self._writer.erase(checked_ids(ids))

    def copy_to(self, other: SealedStore, on_rows: OnRows | None = None) -> int:
        """Seal every row into another collection, with its key, and return how many were not there yet.

        This is how a key is changed: nothing of the one collection can be found again in the other. Killed
        and called again it goes on.
        """
        if other.settings.collection == self.settings.collection:
            raise InputError("Rows are copied into another collection. Found the same: name a new one.")
        if other.settings.encoder != self.settings.encoder:
            raise InputError(
                f"Rows of the encoder {self.settings.encoder!r:.80} cannot be copied to a collection of "
                f"{other.settings.encoder!r:.80}. Give that one the same encoder."
            )
        copied = 0
        for rows, vectors in self._client.rows(_COPIED_AT_ONCE, "Copying"):
            copied += other._writer.write(rows, vectors, on_rows=on_rows)
        return copied

    # Finding and reading

    @overload
    def search(  # type: ignore[overload-overlap]  # a str is a sequence of str
        self, texts: str, k: int = 10, where: Where | None = None
    ) -> SealedResult: ...

    @overload
    def search(self, texts: Sequence[str], k: int = 10, where: Where | None = None) -> list[SealedResult]: ...

    @overload
    def search(
        self, texts: None = None, k: int = 10, where: Where | None = None, *, vectors: Any
    ) -> list[SealedResult]: ...

    def search(
        self, texts: Any = None, k: int = 10, where: Where | None = None, *, vectors: Any = None
    ) -> Any:
        """The k nearest rows of a text, or of each of many; the nearest first."""
        found = search_lanes(self._lanes, texts, k, where, vectors)
        return found[0] if isinstance(texts, str) else found

    def search_name(self, name: str, k: int = 10, where: Where | None = None) -> SealedResult:
        """Rows that hold a value (of `names`), whatever its case and spaces; those most about it first."""
        return search_name_in(self._lanes, name, k, where)

    def get(self, ids: Iterable[str]) -> list[SealedRow]:
        """The rows that are there, in the order of `ids`; the store sees that they were asked for."""
        names = checked_ids(ids)
        members = self._client.state.find(names)
        numbers = [members[name].number for name in names if name in members]
        rows = self._client.texts(numbers)
        self._client.refuse_bad((n for n, row in zip(numbers, rows, strict=True) if row is None), "Reading")
        return [row for row in rows if row is not None]

    def known(self, ids: Iterable[str]) -> list[str]:
        """Those of `ids` that are there, in their order; the store is not asked."""
        names = checked_ids(ids)
        members = self._client.state.find(names)
        return [name for name in names if name in members]

    def ids(self) -> Iterator[str]:
        """The id of every row, in the order they came; the store is not asked."""
        for members in self._client.state.walk(_IDS_AT_ONCE):
            yield from (each.id for each in members)

    def vectors(self, ids: Iterable[str]) -> dict[str, Vectors]:
        """`[d]` the vector of each row that is there, by its id and as it is kept."""
        members = list(self._client.state.find(checked_ids(ids)).values())
        vectors, bad = self._client.vectors(members)
        self._client.refuse_bad(bad, "Reading")
        pairs = zip(members, vectors, strict=True)
        return {each.id: vector for each, vector in pairs if each.number not in bad}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """`[n, d]` the vectors of texts by the collection's encoder, which are kept nowhere."""
        return self._client.embed(checked_texts(texts))

    def iterate(self, size: int = 256) -> Iterator[list[SealedRow]]:
        """Every row, `size` at a time, in the order they came; not those that come or change meanwhile."""
        for members in self._client.state.walk(whole_number(size, "size", 1, 10**5)):
            numbers = [each.number for each in members]
            rows = self._client.texts(numbers)
            self._client.refuse_bad(
                (n for n, row in zip(numbers, rows, strict=True) if row is None), "Reading all"
            )
            yield [row for row in rows if row is not None]

    def __len__(self) -> int:
        return self._client.state.settings.rows

    # The rest

    @property
    def measured(self) -> Oversampling | None:
        """How many candidates keep what was asked, where this client learned the cells."""
        return self._writer.measured

    @property
    def sees(self) -> str:
        """What the store can see of rows and queries, as one sentence without its beginning."""
        return self._client.handle.sees

    @property
    def encoder(self) -> Embedder | None:
        """What texts are embedded with; None where vectors are always given."""
        return self._client.encoder()

    @property
    def settings(self) -> SealedSettings:
        """What holds for the collection as a whole."""
        return self._client.state.settings

    @property
    def waiting(self) -> int:
        """Records that are still to be sent to the store."""
        return len(self._client.outbox)

    def backup(self, folder: PathLike) -> None:
        """Copy the state into a new folder, once all is sent; with the root that an erasure destroys."""
        target = Path(folder)
        require_place(target)
        file = self._client.state.file
        with file.alone():
            self._client.outbox.send()
            try:
                target.mkdir(mode=0o700)
            except FileExistsError:
                raise InputError(f"`{target}` has to be new. Found something of that name.") from None
            # Salts are only added and destroyed by those who are alone with the state.
            parts = ("salts-*", "shred-root-*", WRITER_FILE)
            for path in (path for part in parts for path in file.folder.glob(part)):
                write_atomic(target / path.name, path.read_bytes(), permissions=0o600)
            file.copy(target)

    def flush(self) -> None:
        """Send what waits, and have everything on disk."""
        self._client.outbox.send()

    def close(self) -> None:
        """Send what waits, and let go of the state and the store; once, however often it is called."""
        if self._closed:
            return
        self._closed = True
        try:
            self._client.outbox.send()
        finally:
            for lane in self._lanes:
                lane.client.state.file.close()
            self.store.close()

    def __repr__(self) -> str:
        """Where it is, and nothing secret."""
        return f"SealedStore({self.store.label}, key={self._key.fingerprint})"
