"""A sealed collection in a store that is not trusted: it finds as well as before, and can read nothing.

What the store holds are records of a few sizes under ids that repeat nowhere. What finds them is the
client's: a key, and a folder of state, sealed as well, without which no record is found or opened again.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, get_args, overload

import numpy as np

from sfumato.embedders import Embedder, load_embedder
from sfumato.embedders.texts import checked_texts
from sfumato.errors import InputError, ParameterError
from sfumato.evaluation.calibrate import Keep
from sfumato.files import PathLike, require_place, write_atomic
from sfumato.numbers import whole_number
from sfumato.sealing.client.cells import FEW_ROWS, Learning, relearn, without_trace
from sfumato.sealing.client.contents import SealedResult, SealedRow, refuse_large
from sfumato.sealing.client.database import StateFile, is_begun
from sfumato.sealing.client.searching import RowSearch
from sfumato.sealing.client.session import SealedClient, require_encoder
from sfumato.sealing.client.writing import NewRows, OnRows, insert, marks_of, require_all, withdraw
from sfumato.sealing.codebook import MOST_TABLES
from sfumato.sealing.filing import MOST_UNITS
from sfumato.sealing.keys import SealingKey
from sfumato.sealing.measuring import Oversampling
from sfumato.sealing.packing import Precision
from sfumato.sealing.records import RecordStore
from sfumato.sealing.shredding import ErasureRecord
from sfumato.sealing.state import ClientState, SealedSettings
from sfumato.stores.base import Store
from sfumato.stores.rows import Where, checked_ids, checked_metadata, checked_vectors, checked_where
from sfumato.types import Vectors

Handle = Literal["multimap"]
GROWTH = 4.0
"""Cells are learned anew when there are so many times as many rows as they were learned on."""
_MOST_HITS, _MOST_PROBES = 1000, 4096


class SealedStore:
    """Texts, vectors and metadata, sealed before they reach a store and searched by the client.

    Args:
        store: where records go; a collection of its own.
        key: the key, or the file it is in.
        folder: where the client's state is, or is made; sealed, and as needful as the key.
        handle: how the store finds candidates: by an encrypted multimap of cells.
        embedder: turns texts into vectors, by name or itself. Without one a new collection needs vectors with
            every row, and one that is there loads by name what it was sealed with.
        tenant: whose rows these are; every tenant has keys of its own.
        precision: how vectors are kept. This and the next four are for a new collection; one that is there
            keeps its own.
        tables: how many ways the cells cut the space; more need fewer records a query and more a row.
        probes: cells of each table that a query asks for; "auto" measures how many it takes.
        keep: what "auto" is to keep of clean search, such as recall@10=0.99.
        units: sentences that a long text is filed under beside itself, at most.
        buffer: records that may wait at the client until more are there. Records that reach the store
            together can be seen to belong together: with single rows that says which postings are one row's.
        create: whether the collection may be a new one.
    """

    def __init__(
        self,
        store: Store,
        *,
        key: SealingKey | PathLike,
        folder: PathLike,
        handle: Handle = "multimap",
        embedder: Embedder | str | None = None,
        tenant: str = "",
        precision: Precision = "int8",
        tables: int = 1,
        probes: int | Literal["auto"] = "auto",
        keep: str = "recall@10=0.99",
        units: int = MOST_UNITS,
        buffer: int = 0,
        create: bool = True,
    ) -> None:
        if handle not in get_args(Handle):
            raise ParameterError(f"`handle` must be one of {get_args(Handle)}. Found {handle!r:.40}.")
        if precision not in get_args(Precision):
            raise ParameterError(
                f"`precision` must be one of {get_args(Precision)}. Found {precision!r:.40}."
            )
        if Keep.parse(keep).metric == "cosine":
            raise ParameterError("`keep` must ask for recall or ndcg of a search. Found cosine.")
        new = {
            "precision": precision,
            "tables": whole_number(tables, "tables", 1, MOST_TABLES),
            "asked_probes": 0 if probes == "auto" else whole_number(probes, "probes", 1, _MOST_PROBES),
            "keep": keep,
            "units": whole_number(units, "units", 0, 1024),
        }
        self.store, self.tenant = store, tenant
        self.measured: Oversampling | None = None
        """How many candidates keep what was asked, where this client learned the cells."""
        self._key = key if isinstance(key, SealingKey) else SealingKey.load(key)
        encoder = load_embedder(embedder) if isinstance(embedder, str | os.PathLike) else embedder
        self._client = self._open(
            Path(folder), encoder, new, whole_number(buffer, "buffer", 0, 10**6), create
        )
        self._search = RowSearch(self._client)
        if not self._client.state.file.busy():
            self._client.catch_up()

    def _open(
        self, folder: Path, encoder: Embedder | None, new: dict[str, Any], buffer: int, create: bool
    ) -> SealedClient:
        begun = is_begun(folder)
        if not begun and not create:
            raise InputError(
                f"There is no state of a sealed collection in `{folder}`. It is made when rows are sealed: "
                "check the key and the folder."
            )
        if not begun and len(self.store):
            raise InputError(
                f"{self.store.label} has to be empty, because `{folder}` knows none of its "
                f"{len(self.store)} rows. Give the key and the state they were sealed with, or a new place."
            )
        file = StateFile(folder)
        try:
            state = ClientState(file, self._key, self.tenant)
            records = RecordStore(self.store)
            if state.found() is None:
                known = ("", "") if encoder is None else (encoder.model_id, encoder.name)
                with file.changing():
                    if state.found() is None:
                        state.settle(SealedSettings(secrets.token_hex(16), *known, **new))
            if encoder is not None:
                require_encoder(state.settings, encoder)
        except BaseException:
            file.close()
            raise
        return SealedClient(state, records, self._key, encoder, buffer)

    @property
    def _learning(self) -> Learning:
        now = self._client.state.settings
        return Learning(now.tables, now.asked_probes or None, now.keep, now.units)

    # Rows in and out

    def fit(self, texts: Sequence[str]) -> None:
        """Learn the cells from texts like those that will be added; only while there is no row."""
        given = checked_texts(texts)
        with self._client.state.file.alone():
            if len(self):
                raise InputError(f"`fit` is for an empty collection. Found {len(self)} rows: use `relearn`.")
            self._learn_first(given, self._embed(given))

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
        return self._write(ids, texts, metadata, vectors, on_rows, new=True)

    def update(
        self,
        ids: Iterable[str],
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,
        vectors: Any = None,
    ) -> int:
        """Seal rows in the place of those with these ids, which must be there."""
        return self._write(ids, texts, metadata, vectors, None, new=False)

    def _write(
        self, ids: Any, texts: Any, metadata: Any, vectors: Any, on_rows: OnRows | None, *, new: bool
    ) -> int:
        rows, given = self._checked(ids, texts, metadata, vectors)
        state = self._client.state
        with state.file.alone():
            self._client.catch_up()
            self._client.refuse_stale()
            marks = marks_of(self._key.derive("check", self.tenant, state.settings.collection), rows, given)
            before = state.find(row.id for row in rows)
            if not new:
                require_all([row.id for row in rows], before)
            changed = [
                at for at, row in enumerate(rows) if row.id not in before or before[row.id].mark != marks[at]
            ]
            if not changed:
                return 0
            fresh = [rows[at] for at in changed]
            own = self._embed([row.text for row in fresh]) if given is None else given[changed]
            with state.file.changing():
                places = self._places([row.text for row in fresh], own)
                withdraw(self._client, [before[row.id] for row in fresh if row.id in before])
                insert(self._client, NewRows(fresh, own, places, [marks[at] for at in changed]), on_rows)
                self._client.count_change()
            self._client.push()
            self._grow()
        return len(changed)

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

    def _embed(self, texts: list[str]) -> Vectors:
        encoder = self._client.encoder()
        if encoder is None:
            raise InputError("There is no embedder, so vectors must be given. Found none.")
        return np.asarray(encoder.embed(texts), np.float32)

    def _places(self, texts: list[str], vectors: Vectors) -> list[set[tuple[int, int]]]:
        """The cells that rows are filed under; the first rows make them."""
        codebook = self._client.state.codebook()
        if codebook is None:
            return self._learn_first(texts, vectors)
        return self._learning.filed(self._client, texts, vectors).places(codebook)

    def _learn_first(self, texts: list[str], vectors: Vectors) -> list[set[tuple[int, int]]]:
        state = self._client.state
        with state.file.changing():
            state.change(dim=vectors.shape[1])
            filed = self._learning.filed(self._client, texts, vectors)
            learned = self._learning.learn(filed, vectors, self._client.posting_bytes())
            state.save_codebook(learned.codebook)
            state.change(probes=learned.probes, learned=len(vectors))
        self.measured = learned.measured
        return learned.places

    def _grow(self) -> None:
        settings = self._client.state.settings
        if settings.rows >= GROWTH * max(settings.learned, 1) and settings.rows > FEW_ROWS:
            self.relearn()

    def relearn(self) -> None:
        """Learn the cells anew from all rows; every record gets another id, in one change."""
        learned = relearn(self._client, self._learning)
        self.measured = self.measured if learned is None else learned.measured

    def delete(self, ids: Iterable[str]) -> int:
        """Take rows out and return how many were there; copies of the store keep their records, sealed."""
        names = checked_ids(ids)
        state = self._client.state
        with state.file.alone():
            self._client.catch_up()
            self._client.refuse_stale()
            members = list(state.find(names).values())
            if members:
                with state.file.changing():
                    withdraw(self._client, members)
                    self._client.count_change()
                self._client.push()
        return len(members)

    def erase(self, ids: Iterable[str]) -> ErasureRecord | None:
        """Destroy rows so that copies of the store and of older states open nothing of them.

        Returns a record of it, or None where no row was there. What was deleted or replaced before goes too.
        """
        names = checked_ids(ids)
        state = self._client.state
        with state.file.alone():
            self._client.catch_up()
            self._client.refuse_stale()
            members = list(state.find(names).values())
            if not members:
                return None
            with state.file.changing():
                without_trace(self._client, members, self._learning)
                withdraw(self._client, members)
                state.shred_later((each.number for each in members), now=True)
                self._client.count_change()
            return self._client.catch_up()

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
        if (texts is None) == (vectors is None):
            raise InputError("Give texts or vectors to search by, and not both.")
        k = whole_number(k, "k", 1, _MOST_HITS)
        allowed = checked_where(where)
        alone = isinstance(texts, str)
        if vectors is None:
            asked = self._embed(checked_texts([texts] if alone else texts))
        else:
            asked = checked_vectors(vectors, self._client.state.settings.dim or None)
        found = [self._search.search(each, k, allowed) for each in asked]
        return found[0] if alone else found

    def get(self, ids: Iterable[str]) -> list[SealedRow]:
        """The rows that are there, in the order of `ids`; the store sees that they were asked for."""
        names = checked_ids(ids)
        members = self._client.state.find(names)
        numbers = [members[name].number for name in names if name in members]
        rows = self._client.texts(numbers)
        self._client.refuse_bad((n for n, row in zip(numbers, rows, strict=True) if row is None), "Reading")
        return [row for row in rows if row is not None]

    def iterate(self, size: int = 256) -> Iterator[list[SealedRow]]:
        """Every row, `size` at a time, in the order they came."""
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
            for path in (*file.folder.glob("salts-*"), *file.folder.glob("shred-root-*")):
                write_atomic(target / path.name, path.read_bytes(), permissions=0o600)
            file.copy(target)

    def flush(self) -> None:
        """Send what waits, and have everything on disk."""
        self._client.outbox.send()

    def close(self) -> None:
        """Send what waits, and let go of the state and the store."""
        try:
            self._client.outbox.send()
        finally:
            self._client.state.file.close()
            self.store.close()

    def __enter__(self) -> SealedStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        """Where it is, and nothing secret."""
        return f"SealedStore({self.store.label}, key={self._key.fingerprint})"
