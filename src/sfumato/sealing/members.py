"""What is written down of a sealed collection as a whole, and of each of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sfumato.sealing.crypto.packing import Precision
from sfumato.sealing.multimap import PostingPlace


@dataclass(frozen=True, slots=True)
class SealedSettings:
    """What holds for a sealed collection as a whole; one sealed value of the state."""

    collection: str
    """A random name that every record is bound to."""
    encoder: str
    """The exact model that made the vectors; empty where vectors are given."""
    encoder_name: str
    """What it is loaded by."""
    precision: Precision
    tables: int
    asked_probes: int
    """How many probes the user asked for; 0 for as many as it takes."""
    keep: str
    units: int
    dim: int = 0
    """0 while there is no row."""
    probes: int = 0
    """Cells of each table that a query asks for; 0 while there are no cells."""
    epoch: int = 0
    """Raised whenever cells are learned anew; every id is another then."""
    lane: int = 0
    """The number of this writer: 0 of the first one, a random one of every other."""
    writer: str = ""
    """The public key that this writer signs with, in hex; empty where nothing is signed."""
    rows: int = 0
    next_number: int = 1
    generation: int = 0
    """How many changes there were; the store holds the same number, so that an older copy of it shows."""
    change: str = ""
    """A random name of the last change: copies of one state that both go on writing have different ones."""
    codebook: int = 0
    """The number whose salt the codebook is sealed under; 0 while there is none."""
    learned: int = 0
    """How many rows the cells were learned on."""
    handle: str = "multimap"
    """How the store finds candidates."""
    options: dict[str, Any] = field(default_factory=dict)
    """What the handle and the found values were set to."""


@dataclass(frozen=True, slots=True)
class Member:
    """One row as the client knows it. A row that is changed becomes another one, with a new number."""

    number: int
    id: str
    mark: str
    """A keyed digest of all that was handed over, so that the same again is no change."""
    places: tuple[PostingPlace, ...] = ()
