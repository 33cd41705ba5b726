"""Which records are a row's: what no store is told, for those who attack their own collection."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.sealing.client.writing import record_ids
from sfumato.sealing.store import SealedStore


def records_of(sealed: SealedStore, ids: Sequence[str]) -> list[list[str]]:
    """The ids of each row's records in the store, its text last; none for a row that is not there."""
    client = sealed._client
    members = client.state.find(ids)
    return [record_ids(client, [members[each]]) if each in members else [] for each in ids]
