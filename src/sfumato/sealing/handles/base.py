"""What every handle is: which records a row puts into the store, and how a query's candidates come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.sealing.cells.filing import Place
from sfumato.sealing.multimap import PostingPlace
from sfumato.stores.rows import Scalar
from sfumato.types import Vectors

if TYPE_CHECKING:
    from sfumato.sealing.client.cells import LearnedCells
    from sfumato.sealing.client.contents import RecordPlace
    from sfumato.sealing.client.session import SealedClient
    from sfumato.sealing.client.writing import NewRows
    from sfumato.sealing.members import Member, SealedSettings

Allowed = Mapping[str, Sequence[Scalar]]
"""What a filter allows, as a list of values a field."""


@dataclass(slots=True)
class CandidateRecords:
    """Records that may hold what a query looks for, as they came, each with the place it must open for."""

    settings: SealedSettings
    """The settings of the moment the query was planned in."""
    places: list[RecordPlace]
    contents: list[bytes | None]
    """A record a place; None for one that was asked for and did not come."""
    counter: bytes | None
    """The store's count of changes."""
    bytes: int
    """Bytes of all that came, as the store holds it."""
    faults: list[str] = field(default_factory=list)
    filtered: bool = False
    """Whether all candidates pass the filter already, so that few texts are enough."""


class Handle(ABC):
    """How a store finds candidates.

    A row's own record holds its sealed vector; what else a handle gives the store is its own affair, and is
    said in `sees`. Texts and metadata are records of their own under every handle.
    """

    name: ClassVar[str]
    sees: ClassVar[str]
    """What the store can see of rows and queries, as one sentence."""

    takes: ClassVar[tuple[str, ...]] = ()
    """The settings it has of its own."""
    shared: ClassVar[bool] = False
    """Whether a collection may have several writers, bundles for readers, and signatures."""

    def __init__(self, client: SealedClient, given: Mapping[str, Any]) -> None:
        self.refuse_others(given)
        self._client = client

    @classmethod
    def refuse_others(cls, given: Mapping[str, Any]) -> None:
        """Refuse settings of other handles, which would do nothing here."""
        for name in ("bits", "release", "filters"):
            if given.get(name) not in (None, ()) and name not in cls.takes:
                raise ParameterError(f"`{name}` is no setting of the handle {cls.name}. Leave it out.")

    @classmethod
    def require_shared(cls) -> None:
        """Refuse several writers, bundles and signatures where the handle has none."""
        if not cls.shared:
            raise ParameterError(
                f"Several writers, bundles and signatures need the handle multimap. Found {cls.name}."
            )

    @classmethod
    def options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a new collection's handle, ready for JSON, out of what the user gave."""
        return {}

    def renewed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a collection whose records are all written anew."""
        return dict(options)

    def dim(self, dim: int) -> int:
        """The dimension of what the store ranks, for rows of `dim` dimensions; 0 where it ranks nothing."""
        return 0

    @abstractmethod
    def learn(self, texts: Sequence[str], vectors: Vectors) -> LearnedCells:
        """What rows like these are found by, and how much of it a query asks for."""

    @abstractmethod
    def places(self, texts: Sequence[str], vectors: Vectors) -> list[set[Place]]:
        """The cells that rows are filed under, once they are learned; none where there are no cells."""

    @abstractmethod
    def file(self, new: NewRows, numbers: Sequence[int], salts: Sequence[bytes]) -> list[list[PostingPlace]]:
        """Have the records of rows written, all but their texts; and the places each of them took."""

    @abstractmethod
    def records(self, member: Member) -> list[str]:
        """The ids of a row's records, all but its text; the first is its own, which holds its vector."""

    @abstractmethod
    def candidates(self, vector: Vectors, allowed: Allowed) -> CandidateRecords | None:
        """Fetch what may be near to a vector; None where there is no row."""
