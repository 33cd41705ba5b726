"""What all cuts of one concept and encoder share: texts, vectors, what our detector finds, what is public."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts import Concept
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Defence
from sfumato.files import write_atomic
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.types import Vectors
from sfumato_research.frontier.cases import CASES, GoldCase
from sfumato_research.frontier.defences import ERASED, WIDE, erased, widened
from sfumato_research.frontier.found import KnownFinder, looking
from sfumato_research.frontier.measure import LEARNED_FROM, belonging, cut_texts, sizes
from sfumato_research.frontier.public import public_sentences
from sfumato_research.frontier.use import UseTexts, read_use
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder

GROUPED_BY = "minilm"
"""The encoder that says which texts are near: one for all, so that every encoder is asked about one cut."""
ON_DISK = ("use-lite", "use-multilingual")
"""Encoders that have no GPU, so that their vectors are kept in a file; without one all are."""


@dataclass(frozen=True, slots=True, eq=False)
class CellGround:
    """One concept and one encoder."""

    case: GoldCase
    use: UseTexts
    public: list[str]
    suite: Suite
    embedder: RememberingEmbedder
    embedded: Vectors
    """`[n, d]` of the texts that use is measured on."""
    groups: NDArray[np.int64]
    own: Concept
    """What is looked for, as our whole detector finds it."""
    before: dict[str, NDArray[Any]] = field(default_factory=dict)
    """What clean vectors give, which no cut changes."""
    learned: dict[str, Defence] = field(default_factory=dict)
    """Protectors that were learned from public text, once for all cuts."""

    def cut(self, number: int) -> Split:
        """One cut of the texts."""
        return cut_texts(self.case, self.suite, self.embedder, number, self.groups)

    def with_erasers(self) -> dict[str, Defence]:
        """Ours with an eraser, and the same that hides more words."""
        if not self.learned:
            self.learned[ERASED] = erased(self.public, self.embedder, self.own, 0)
            self.learned[WIDE] = erased(self.public, self.embedder, widened(self.own), 0, WIDE)
        return self.learned


def stand(name: str, model: str, setting: Setting) -> CellGround:
    """Read the texts, what was found in them, and embed what is shared."""
    case, use, public = texts_of(name, setting)
    kept = setting if model in ON_DISK or setting.few else replace(setting, cache=None)
    embedder = RememberingEmbedder(encoder(kept, model))
    own = finding(case.looked_for, setting)
    groups = grouped(name, case, setting)
    return CellGround(case, use, public, sizes(setting), embedder, embedder.embed(use.every), groups, own)


def texts_of(name: str, setting: Setting) -> tuple[GoldCase, UseTexts, list[str]]:
    """The labelled texts, those that use is measured on, and public ones."""
    case = CASES[name][0](setting.data)
    case = case.cut(setting.pick(len(case.texts), 1500))
    public = [] if setting.few else public_sentences(setting.data, setting.pick(LEARNED_FROM, 400))
    return case, read_use(setting.data, setting), public


def grouped(name: str, case: GoldCase, setting: Setting) -> NDArray[np.int64]:
    """`[n]` what is never separated, kept or worked out now."""
    size = "quick" if setting.quick else "full"
    # Places and people are labelled in the same texts.
    data = CASES[name][1][0]
    path = None if setting.cache is None else setting.cache / f"groups-{data}-{size}.npy"
    if path is not None and path.exists():
        return np.asarray(np.load(path, allow_pickle=False), np.int64)
    plain = RememberingEmbedder(encoder(replace(setting, cache=None), GROUPED_BY))
    groups = belonging(case, plain)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npy")
        np.save(part, groups)
        part.replace(path)
    return groups


def finding(name: str, setting: Setting) -> Concept:
    """The catalog's concept, which remembers what was found before."""
    known: dict[str, list[list[int]]] = {}
    for path in sorted(_shards(name, setting)):
        known |= json.loads(gzip.decompress(path.read_bytes()))
    return replace(looking(name, "lists"), detector=KnownFinder(name, known))


def keep_found(name: str, texts: Sequence[str], shard: int, setting: Setting) -> int:
    """Look for a concept in some texts and write down where it stands; returns how many were new."""
    assert setting.cache is not None
    path = setting.cache / f"found-{name}-{shard:03d}.json.gz"
    if path.exists():
        return 0
    found = KnownFinder(name, {}).spans(list(dict.fromkeys(texts)))
    setting.cache.mkdir(parents=True, exist_ok=True)
    write_atomic(path, gzip.compress(json.dumps(found).encode(), 1))
    return len(found)


def _shards(name: str, setting: Setting) -> Iterable[Path]:
    return () if setting.cache is None else setting.cache.glob(f"found-{name}-[0-9]*.json.gz")
