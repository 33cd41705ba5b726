"""What reading and writing a sealed collection share: state, records on their way, what opens them."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting.keys import KeyHolder, Secret
from sfumato.embedders.base import Embedder
from sfumato.embedders.loader import load_embedder, remote_address
from sfumato.errors import ArtifactError, InputError
from sfumato.sealing.client.contents import (
    RecordPlace,
    RecordSealer,
    SealedRow,
    counter_content,
    read_counter,
    read_text,
)
from sfumato.sealing.client.outbox import Outbox
from sfumato.sealing.crypto.envelope import OVERHEAD, Bound
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.packing import packed_size, unpack
from sfumato.sealing.crypto.signing import WriterKey, signed_by
from sfumato.sealing.erasure.shredding import ErasureRecord
from sfumato.sealing.handles import HANDLES
from sfumato.sealing.labels import FoundNames, concepts_again, concepts_of
from sfumato.sealing.members import Member, SealedSettings
from sfumato.sealing.records import LAYOUT, Layout, Records, travelling
from sfumato.sealing.state import ClientState
from sfumato.types import Vectors

POSTING, TEXT, COUNTER = "posting", "text", "counter"
"""Kinds of records."""
_CHANGE_BYTES = 8


def require_encoder(settings: SealedSettings, embedder: Embedder) -> None:
    """Refuse an encoder that did not make the collection's vectors."""
    if embedder.model_id != settings.encoder:
        raise InputError(
            f"The collection was sealed with vectors of the encoder {settings.encoder or 'none'!r:.80}. "
            f"Found {embedder.model_id!r:.80}: give the same one."
        )


def require_handle(settings: SealedSettings, handle: str | None) -> None:
    """Refuse another handle than the collection has."""
    if handle not in (None, settings.handle):
        raise InputError(
            f"The collection was sealed with the handle `{settings.handle}`. Found `{handle:.40}`: leave it "
            "out, or begin a new collection."
        )


class SealedClient(KeyHolder):
    """What reading and writing share; `buffer` records wait for others before they are sent."""

    def __init__(
        self,
        state: ClientState,
        records: Records,
        key: SealingKey,
        embedder: Embedder | None,
        buffer: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.state, self.records, self.buffer = state, records, buffer
        self._embedder = embedder
        self.outbox = Outbox(state.file, records)
        if state.settings.writer:
            self.outbox.vouched = {state.ids().generation()}
        self._key = key
        self._sealers: dict[int, RecordSealer] = {}
        self._labels: dict[str, bytes] = {}
        self._concepts = concepts_of((options or {}).get("names"))
        self.handle = HANDLES.get(state.settings.handle)(self, options or {})
        self.records.ranked = self._ranked
        self._ranked()

    def _ranked(self) -> Layout | None:
        settings = self.state.settings
        dim = self.handle.dim(settings.dim) if settings.dim else 0
        return Layout(dim, settings.options.get(LAYOUT, 1)) if dim else None

    def encoder(self) -> Embedder | None:
        """The encoder that was given, or else the one that the collection was sealed with."""
        settings = self.state.settings
        if self._embedder is None and settings.encoder:
            if remote_address(settings.encoder_name) is not None:
                raise InputError(
                    f"Texts are embedded by a server, {settings.encoder_name!r:.80}, and are sent there only "
                    "if you say so: name the embedder."
                )
            found = load_embedder(settings.encoder_name)
            require_encoder(settings, found)
            self._embedder = found
        return self._embedder

    def sealer(self, epoch: int) -> RecordSealer:
        """What seals and opens the records of an epoch."""
        if epoch not in self._sealers:
            now = self.state.settings
            self._sealers[epoch] = RecordSealer(
                self._key, self.state.tenant, now.collection, now.encoder, epoch
            )
        return self._sealers[epoch]

    def text_places(self, numbers: Sequence[int]) -> list[RecordPlace]:
        """Where the texts of rows stand."""
        ids = self.state.ids()
        salts = self.state.salts(numbers)
        return [
            RecordPlace(ids.text(number), number, salt) for number, salt in zip(numbers, salts, strict=True)
        ]

    def texts(self, numbers: Sequence[int]) -> list[SealedRow | None]:
        """The rows with these numbers; None for each that is missing or refused."""
        places = self.text_places(numbers)
        found = self.outbox.fetch([each.id for each in places])
        sealer = self.sealer(self.state.settings.epoch)
        opened = sealer.open(TEXT, places, [found.get(each.id) for each in places])
        return [read_text(each) for each in opened]

    def vectors(self, members: Sequence[Member]) -> tuple[Vectors, list[int]]:
        """`[n, d]` the vectors of rows, each out of its own record, and the numbers of bad ones."""
        settings = self.state.settings
        salts = self.state.salts(each.number for each in members)
        places = [
            RecordPlace(self.handle.records(each)[0], each.number, salt)
            for each, salt in zip(members, salts, strict=True)
        ]
        found = self.outbox.fetch([each.id for each in places])
        opened = self.sealer(settings.epoch).open(POSTING, places, [found.get(each.id) for each in places])
        good = [row for row, each in enumerate(opened) if each is not None]
        vectors = np.zeros((len(members), settings.dim), np.float32)
        if good:
            vectors[good] = unpack([opened[row] or b"" for row in good], settings.dim, settings.precision)
        return vectors, [members[row].number for row in sorted(set(range(len(members))) - set(good))]

    def rows(self, size: int, doing: str) -> Iterator[tuple[list[SealedRow], Vectors]]:
        """Every row with its vector, some at a time; a row that does not open is refused by its number."""
        for members in self.state.walk(size):
            vectors, bad = self.vectors(members)
            rows = self.texts([each.number for each in members])
            lost = {each.number for each, row in zip(members, rows, strict=True) if row is None} | set(bad)
            self.refuse_bad(lost, doing)
            kept = [at for at, each in enumerate(members) if each.number not in lost]
            yield [row for at in kept if (row := rows[at]) is not None], vectors[kept]

    def posting_bytes(self, dim: int) -> int:
        """Bytes of one posting, as the store holds it."""
        return travelling(OVERHEAD + packed_size(dim, self.state.settings.precision))

    def embed(self, texts: list[str]) -> Vectors:
        """The vectors of texts, if there is an encoder."""
        encoder = self.encoder()
        if encoder is None:
            raise InputError("There is no embedder, so vectors must be given. Found none.")
        return np.asarray(encoder.embed(texts), np.float32)

    def mark_key(self) -> bytes:
        """What the digests of rows are keyed with."""
        return self._key.derive("check", self.state.tenant, self.state.settings.collection)

    @cached_property
    def names(self) -> FoundNames | None:
        """What finds the values that rows are filed under beside their cells; None where they are not."""
        kept = self.state.settings.options.get("names")
        return FoundNames(self, concepts_again(kept, self._concepts)) if kept else None

    def label(self, kind: str, spelled: str) -> int:
        """The number of a cell that stands for a value."""
        if kind not in self._labels:
            self._labels[kind] = self._key.derive(
                "name", self.state.tenant, self.state.settings.collection, kind
            )
        return int.from_bytes(hmac.digest(self._labels[kind], spelled.encode(), "sha256")[:8]) >> 1

    def noise_secret(self) -> Secret:
        """What the sticky noise of this collection is keyed with."""
        return Secret(self._key.derive("noise", self.state.tenant, self.state.settings.collection))

    def generation_place(self) -> RecordPlace:
        """Where the store counts this writer's changes."""
        return RecordPlace(self.state.ids().generation(), 0)

    def generation(self, content: bytes | None) -> int | None:
        """The number of changes that the store knows of; None also where the writer did not sign it."""
        return self._counter(content)[0]

    def _counter(self, content: bytes | None) -> tuple[int | None, bytes]:
        """The number of changes, and the name of the last."""
        place = self.generation_place()
        number, change, signature = read_counter(self.sealer(0).open(COUNTER, [place], [content])[0])
        writer = self.state.settings.writer
        if number is not None and writer and not signed_by(writer, self._counted(number, change), signature):
            return None, b""
        return number, change

    def _counted(self, number: int, change: bytes) -> bytes:
        """What a writer signs with each change."""
        now, place = self.state.settings, self.generation_place()
        bound = Bound(
            tenant=self.state.tenant, collection=now.collection, record_id=place.id, kind=COUNTER,
            epoch=now.lane, version=number,
        )  # fmt: skip
        return bound.encoded() + change

    @cached_property
    def writer_key(self) -> WriterKey:
        """What this writer signs with; for a collection that is signed."""
        return WriterKey.load(self.state.file.folder, self.state.envelope)

    def count_change(self) -> None:
        """Count a change, here and in the store."""
        number, change = self.state.settings.generation + 1, secrets.token_bytes(_CHANGE_BYTES)
        self.state.change(generation=number, change=change.hex())
        place = self.generation_place()
        signed = self.state.settings.writer
        signature = self.writer_key.sign(self._counted(number, change)) if signed else b""
        content = counter_content(number, change, signature)
        self.outbox.note(place.id, self.sealer(0).seal(COUNTER, [place], [content])[0])

    def refuse_stale(self) -> None:
        """Refuse to write with a state that is older than the store: it would use ids a second time."""
        place, now = self.generation_place(), self.state.settings
        stored, change = self._counter(self.outbox.fetch([place.id]).get(place.id))
        if stored is not None and stored > now.generation:
            raise InputError(
                f"The state in `{self.state.file.folder}` is older than the collection, which has had "
                f"{stored - now.generation} more changes. Use the newest copy of the state."
            )
        if stored == now.generation and stored and change.hex() != now.change:
            raise InputError(
                f"The state in `{self.state.file.folder}` has a copy that writes, too: the collection's last "
                "change is not its own. Copy the rows of both into a new collection; a second writer joins "
                "by a bundle."
            )

    def push(self) -> None:
        """Send what waits, unless it is to wait for more."""
        if len(self.outbox) > self.buffer:
            self.outbox.send()

    def catch_up(self) -> ErasureRecord | None:
        """Finish what an earlier client began: salts to destroy, records to send."""
        with self.state.file.alone():
            numbers = self.state.to_shred()
            record = None
            if numbers:
                record = self.state.shredder.shred([str(number) for number in numbers])
                self.outbox.send()
                self.records.store.forget()
                with self.state.file.changing():
                    self.state.shredded(numbers)
                self.state.file.scrub()
            self.push()
        return record

    def refuse_bad(self, numbers: Iterable[int], doing: str) -> None:
        """Refuse to go on where rows would be lost; those that were deleted meanwhile are not."""
        bad = sorted(self.state.members(numbers))
        if bad:
            named = ", ".join(map(str, bad[:5])) + (" and more" if len(bad) > 5 else "")
            raise ArtifactError(
                f"{doing} needs every row, and {len(bad)} of them are missing in the store or do not open "
                f"(numbers {named}). Restore the store, or delete those rows."
            )
