"""What else is readable: which kinds of things a reader of texts still names, in counts and never in words.

A protector hides what it was told to hide. The ready-made reader, where it is installed and the vectors are
of its encoder, writes some of the attacked texts anew; here is counted how often it names what they hold of
the catalog's other kinds, beside what it writes of clean vectors and beside what another text's vector gives.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.concepts.concept import Concept
from sfumato.errors import SfumatoError
from sfumato.metrics.leakage import named
from sfumato.trials.reading import READY_MADE
from sfumato.trials.split import Split
from sfumato.trials.target import Target

MOST_TEXTS = 16
"""Texts that are read anew, each from its clean and from its released vector: seconds each."""
KINDS = (
    "person", "location", "organisation", "date", "age", "email", "phone", "identifier", "disease",
    "symptom", "drug",
)  # fmt: skip
"""The kinds that are looked for: those that tell something of somebody, the wider one of two."""
_INSIDE = {"city": "location", "country": "location", "state": "location", "weekday": "date", "month": "date"}


@dataclass(frozen=True, slots=True)
class KindRead:
    """One kind of thing: how many of the texts that hold some have one of them named."""

    kind: str
    texts: int
    clean: int
    released: int
    swapped: int
    """The same where each text is compared with what was read of the next one's vector: chance."""


@dataclass(frozen=True, slots=True)
class AlsoReadable:
    """What a reader writes of other kinds than the audited one."""

    reader: str
    texts: int
    kinds: tuple[KindRead, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"reader": self.reader, "texts": self.texts, "kinds": [asdict(each) for each in self.kinds]}


@dataclass(frozen=True, slots=True, eq=False)
class WrittenTexts:
    """What the ready-made reader wrote of some rows of the pool."""

    rows: list[int]
    clean: list[str]
    released: list[str]


def write_anew(split: Split, target: Target, rows: Sequence[int]) -> WrittenTexts | None:
    """Have the ready-made reader write rows of the pool; None where it is absent or cannot read them."""
    encoder = split.embedder
    if not rows or encoder is None or encoder.name != READY_MADE or not ATTACKS.installed(READY_MADE):
        return None
    places = np.array(rows, np.intp)
    released = target.documents()[places]
    if released.shape[1] != encoder.dim:
        return None
    try:
        reader = ATTACKS.get(READY_MADE)().fit([], released[:0])
        both = [str(row) for row in reader.recover(np.concatenate([split.clean[places], released])).rows]
    except SfumatoError:
        return None
    return WrittenTexts(list(rows), both[: len(rows)], both[len(rows) :])


def also_readable(
    written: WrittenTexts | None, split: Split, hidden: Collection[Concept]
) -> AlsoReadable | None:
    """Count what was written of kinds that nobody asked to hide; None where nothing was written."""
    if written is None:
        return None
    texts = [split.texts[row] for row in written.rows]
    asked = {_INSIDE.get(each.name, each.name) for each in (*hidden, split.concept)}
    kinds = [_counted(kind, texts, written) for kind in KINDS if kind not in asked]
    return AlsoReadable(READY_MADE, len(texts), tuple(each for each in kinds if each.texts))


def _counted(kind: str, texts: Sequence[str], written: WrittenTexts) -> KindRead:
    concept = Concept.named(kind)
    held = [concept.terms_in(text) for text in texts]

    def hits(read: Sequence[str]) -> int:
        return sum(any(named(terms, text).values()) for terms, text in zip(held, read, strict=True) if terms)

    moved = [*written.released[1:], *written.released[:1]]
    with_some = sum(bool(terms) for terms in held)
    return KindRead(kind, with_some, hits(written.clean), hits(written.released), hits(moved))
