"""The encrypted multimap (default): a query asks for the postings of its cells by ids that repeat nowhere.

Fields that were named when the collection was made have postings of their own: a cell and a value together
are a cell, too. A value alone never is: how many rows have it would tell which value it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.sealing.cells.codebook import Codebook
from sfumato.sealing.handles.base import Allowed, CandidateRecords
from sfumato.sealing.handles.celled import CelledHandle
from sfumato.sealing.handles.postings import CUT_OFF, fetched, file_postings, posting_places
from sfumato.sealing.labels import checked_fields_of, with_value
from sfumato.sealing.members import Member
from sfumato.sealing.multimap import PostingPlace
from sfumato.sealing.state import CellKey
from sfumato.types import Vectors

if TYPE_CHECKING:
    from sfumato.sealing.client.writing import NewRows

MOST_VALUES = 64
"""Of one field that postings are asked for; with more, the client filters what is near."""
MORE_PROBES = 8
"""Times as many cells are asked for with a filter: those of rows that pass it are further apart."""


class MultimapHandle(CelledHandle):
    """Each row in each of its cells is a record of its own, at an address used once."""

    name = "multimap"
    takes = ("filters",)
    shared = True
    sees = (
        "records of a few sizes under ids that repeat nowhere, when they come and go, and which of them a "
        "query asks for"
    )

    @classmethod
    def options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that have postings of their own."""
        fields = checked_fields_of(given.get("filters") or ())
        return {"filters": fields} if fields else {}

    @property
    def _filters(self) -> list[str]:
        return list(self._client.state.settings.options.get("filters", ()))

    def file(self, new: NewRows, numbers: Sequence[int], salts: Sequence[bytes]) -> list[list[PostingPlace]]:
        """One posting for each cell of a row, and for each of its cells with each value of a filter."""
        places = [
            cells.union(
                with_value(self._client, cell, name, row.metadata[name])
                for name in self._filters
                if name in row.metadata
                for cell in cells
            )
            for cells, row in zip(new.places, new.rows, strict=True)
        ]
        return file_postings(self._client, new.vectors, places, numbers, salts)

    def records(self, member: Member) -> list[str]:
        """Every posting; each of them holds the vector."""
        ids = self._client.state.ids()
        return [ids.posting(*place) for place in member.places]

    def candidates(self, vector: Vectors, allowed: Allowed) -> CandidateRecords | None:
        """The postings of the nearest cells."""
        state = self._client.state
        with state.file.looking():
            settings, codebook = state.settings, state.codebook()
            if codebook is None or not settings.rows:
                return None
            name = next(
                (each for each in self._filters if 0 < len(allowed.get(each, ())) <= MOST_VALUES), None
            )
            if name is None:
                cells = routed(codebook, settings.probes, vector)
            else:
                near = routed(codebook, MORE_PROBES * settings.probes, vector)
                cells = [
                    with_value(self._client, cell, name, value) for cell in near for value in allowed[name]
                ]
            places, cut = posting_places(self._client, settings, list(dict.fromkeys(cells)))
        return fetched(
            self._client, settings, places, [CUT_OFF] * cut, filtered=name is not None and len(allowed) == 1
        )


def routed(codebook: Codebook, probes: int, vector: Vectors) -> list[CellKey]:
    """The cells nearest to a vector, those of every table first that are nearest."""
    near = codebook.route(vector[None], probes)[0]
    return [(table, int(cell)) for line in near.T for table, cell in enumerate(line)]
