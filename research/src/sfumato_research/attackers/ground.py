"""What every cell of the table shares: texts, their cut, the rows asked about, and what the attacker has."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts import Concept
from sfumato.concepts.detectors.labelled import Labelled
from sfumato.embedders import CachedEmbedder
from sfumato.embedders.base import Embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.evaluation import Sample
from sfumato.metrics.leakage import Hits, count_prior
from sfumato.metrics.reconstruction import token_f1
from sfumato.randomness import generator
from sfumato.trials.rivals import sample_of
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.types import Floats, Rows
from sfumato_research.frontier.cases import CASES, GoldCase
from sfumato_research.frontier.found import informed_texts, looking, remembered
from sfumato_research.frontier.measure import belonging, cut_texts, sizes
from sfumato_research.frontier.public import public_sentences
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import encoder

MODEL = "minilm"
ASKED, LINKED, KNOWN, MEMBERS = 600, 300, 1000, 300
PUBLIC, CORPUS = 8000, 40_000
"""Public sentences that writers learn from beside the learning side, and that neighbours are sought in."""
_CONSTANTS = 200
"""Texts of the learning side that are tried as the constant one."""


@dataclass(eq=False)
class Ground:
    """One concept's texts, cut once; everything is drawn by the setting's seed."""

    setting: Setting
    name: str
    embeds_on: str = field(default="", kw_only=True)
    """Where the encoder is, if not on the setting's device."""

    @property
    def cut(self) -> int:
        """Which cut, and the seed of all that is drawn."""
        return self.setting.seed

    @property
    def folder(self) -> Path | None:
        """Where cells and what cannot be drawn again are kept."""
        home = self.setting.cache
        return None if home is None else home / "attackers" / self.setting.pick("full", "quick") / self.name

    @property
    def model(self) -> str:
        """The victim's encoder, by its name."""
        return MODEL

    @cached_property
    def case(self) -> GoldCase:
        """Texts and labels."""
        case = CASES[self.name][0](self.setting.data)
        return case.cut(self.setting.pick(len(case.texts), 800))

    @cached_property
    def suite(self) -> Suite:
        """The frontier's sizes."""
        return sizes(self.setting)

    @cached_property
    def embedder(self) -> RememberingEmbedder:
        """The victim's encoder."""
        return RememberingEmbedder(_encoder(self.setting, self.model, self.embeds_on))

    @cached_property
    def pool(self) -> Split:
        """The cut. Groups are kept: vectors of another device, rounded otherwise, would join others."""
        return cut_texts(self.case, self.suite, self.embedder, self.cut, self._groups)

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        path = None if self.folder is None else self.folder / "groups.npz"
        if path is not None and path.exists():
            with np.load(path, allow_pickle=False) as kept:
                return np.asarray(kept["groups"], np.int64)
        found = belonging(self.case, self.embedder)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(path, groups=found)
        return found

    @cached_property
    def public(self) -> list[str]:
        """Sentences that have nothing to do with the case."""
        return public_sentences(self.setting.data, self.setting.pick(PUBLIC, 100))

    @cached_property
    def corpus(self) -> list[str]:
        """Those and more of them, where a GPU embeds them."""
        most = self.setting.pick(PUBLIC if self.setting.device == "cpu" else CORPUS, 100)
        return public_sentences(self.setting.data, most)

    @cached_property
    def looked_for(self) -> Concept:
        """What our own detector finds, looked for once; attackers' other texts it looks at as they come."""
        every = [*self.case.texts, *self.public, *informed_texts(self.pool, self.suite, self.cut)]
        found = remembered(self.case.looked_for, "all", every, self.setting)
        assert isinstance(found.detector, Labelled)
        found.detector.otherwise = looking(self.case.looked_for, "all").detector
        return found

    @cached_property
    def sample(self) -> Sample:
        """What defences are learned from."""
        return sample_of(self.pool, self.cut, self.looked_for)

    @cached_property
    def asked(self) -> Rows:
        """Positions among the attacked rows that are asked about, in their one order."""
        count = self.setting.pick(ASKED, 60)
        return generator(self.cut).permutation(len(self.pool.test))[:count].astype(np.intp)

    @property
    def rows(self) -> Rows:
        """Rows of the pool that are asked about."""
        return self.pool.attacked[self.asked]

    @property
    def texts(self) -> list[str]:
        """What stands in them."""
        return [self.pool.texts[row] for row in self.rows]

    @property
    def truth(self) -> list[tuple[str, ...]]:
        """What people labelled in them."""
        terms = self.pool.truth
        return [terms[position] for position in self.asked]

    @property
    def groups(self) -> NDArray[np.int64]:
        """What is drawn together."""
        return self.pool.groups[self.pool.test[self.asked]]

    @property
    def learned_texts(self) -> list[str]:
        """The learning side."""
        return [self.pool.texts[row] for row in self.pool.learned]

    @cached_property
    def others(self) -> Rows:
        """Rows of the pool that are neither learned from nor asked about: what else is stored."""
        used = np.concatenate([self.pool.learned, self.rows])
        return np.setdiff1d(np.arange(len(self.pool.texts)), used)

    @cached_property
    def outside(self) -> list[str]:
        """Texts of the same kind that are not stored, and none that belongs with a stored one."""
        inside = self._groups[self.pool.source]
        free = ~np.isin(self._groups, inside)
        return [text for text, able in zip(self.case.texts, free, strict=True) if able]

    @cached_property
    def known(self) -> Rows:
        """Rows of the texts that a release is looked for among, those asked about first."""
        asked = self.rows[: self.setting.pick(LINKED, 30)]
        others = generator(self.cut).permutation(np.setdiff1d(np.arange(len(self.pool.texts)), asked))
        return np.concatenate([asked, others[: self.setting.pick(KNOWN, 200) - len(asked)]])

    @property
    def linked(self) -> int:
        """How many of the known ones are asked about."""
        return min(int(self.setting.pick(LINKED, 30)), len(self.asked))

    @cached_property
    def prior(self) -> Hits:
        """What the best constant guess names."""
        return count_prior(self.truth, self.pool.known)

    @cached_property
    def constant(self) -> Floats:
        """`[n]` token F1 of the text of the learning side that is most like the others."""
        rng = generator(self.cut)
        texts = [self.learned_texts[row] for row in rng.permutation(len(self.pool.learn))[:_CONSTANTS]]
        scores = [np.mean([token_f1(other, text) for other in texts if other != text]) for text in texts]
        best = texts[int(np.argmax(scores))]
        return np.array([token_f1(text, best) for text in self.texts])

    @cached_property
    def digest(self) -> str:
        """Of the rows asked about, so that cells of other rows are not taken for these."""
        return digest_of(self.texts)


def digest_of(texts: Sequence[str]) -> str:
    """Which texts, in which order."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=12).hexdigest()


def _encoder(setting: Setting, model: str, device: str) -> Embedder:
    """On a GPU vectors are soon made again; what a CPU made is kept, and what a GPU made for one."""
    if model != MODEL or {setting.device, device or "cpu"} == {"cpu"}:
        return encoder(setting, model)
    from sfumato.embedders.minilm import MiniLM

    made = MiniLM(device=device or setting.device)
    if setting.device == "cpu" and setting.cache is not None:
        return CachedEmbedder(made, setting.cache / model)
    return made
