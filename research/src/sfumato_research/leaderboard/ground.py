"""The attackers study's ground for any encoder, in a size for a CPU and some minutes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from sfumato.trials.suite import Suite
from sfumato_research.attackers.ground import MODEL, Ground
from sfumato_research.frontier.cases import CASES, GoldCase
from sfumato_research.frontier.measure import sizes
from sfumato_research.frontier.public import public_sentences
from sfumato_research.studies.choice import short

TEXTS, PUBLIC = 6000, 4000


@dataclass(eq=False)
class BoardGround(Ground):
    """One concept's texts under one encoder."""

    encoder: str = MODEL
    """A name that `load_embedder` takes, or a folder with a model."""

    @property
    def model(self) -> str:
        """The victim's encoder."""
        return self.encoder

    @property
    def shown(self) -> str:
        """Its name on the page: of a folder the last part, since where it lies is nobody's business."""
        return Path(self.encoder).name if Path(self.encoder).is_dir() else self.encoder

    @property
    def folder(self) -> Path | None:
        """Where its cells are kept."""
        home = self.setting.cache
        size = self.setting.pick("board", "quick")
        return None if home is None else home / "leaderboard" / size / short(self.encoder) / self.name

    @cached_property
    def case(self) -> GoldCase:
        """The first texts."""
        return CASES[self.name][0](self.setting.data).cut(self.setting.pick(TEXTS, 800))

    @cached_property
    def suite(self) -> Suite:
        """The protocol's sizes."""
        full = sizes(self.setting)
        small = replace(full, rows=1600, pool=2500, seeds=1, draws=1, informed=60, candidates=30)
        return full if self.setting.quick else small

    @cached_property
    def public(self) -> list[str]:
        """Sentences that have nothing to do with the case."""
        return public_sentences(self.setting.data, self.setting.pick(PUBLIC, 100))

    @property
    def corpus(self) -> list[str]:
        """The same: no more are looked through."""
        return self.public
