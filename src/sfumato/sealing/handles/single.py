"""What handles share that give the store one record a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.sealing.client.contents import RecordPlace
from sfumato.sealing.client.session import POSTING, SealedClient
from sfumato.sealing.crypto.packing import pack
from sfumato.sealing.members import Member
from sfumato.sealing.multimap import FIRST_OWN_TABLE
from sfumato.types import Vectors


def seal_rows(
    client: SealedClient, vectors: Vectors, numbers: Sequence[int], salts: Sequence[bytes]
) -> Iterator[tuple[str, bytes]]:
    """The id and the sealed vector of each row."""
    settings, ids = client.state.settings, client.state.ids()
    places = [RecordPlace(ids.row(number), number, salt) for number, salt in zip(numbers, salts, strict=True)]
    sealed = client.sealer(settings.epoch).seal(POSTING, places, pack(vectors, settings.precision))
    return zip([each.id for each in places], sealed, strict=True)


def row_records(client: SealedClient, member: Member) -> list[str]:
    """The row's own record, and the postings of the values found in it."""
    ids = client.state.ids()
    found = [ids.posting(*place) for place in member.places if place[0] >= FIRST_OWN_TABLE]
    return [ids.row(member.number), *found]
