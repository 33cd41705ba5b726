"""The ready-made reader of all-MiniLM-L6-v2 vectors: trained once, shipped as a package of its own."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, OnStep, checked, entrance_of, held_back
from sfumato.attacks.huggingface.training import seeded
from sfumato.attacks.on_device import rows_on
from sfumato.attacks.writers.practice import practice_rate
from sfumato.attacks.writers.search import STRONG, Search
from sfumato.attacks.writers.textreader import TextReader
from sfumato.attacks.writers.training import Trainer
from sfumato.attacks.writers.writing import WriterTraining
from sfumato.devices import chosen_device
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import generator
from sfumato.release import Release, Releasing, as_release
from sfumato.types import Vectors

PACKAGE = "sfumato_minilm_inverter"
_SEARCHED = ("steps", "beam", "branch", "likeliest", "polish", "wide", "moves", "pairs", "cycles")
"""Settings of the search, by the names that `Search` has for them."""


@dataclass(frozen=True, kw_only=True)
class ReadyMade(Attack):
    """Reads all-MiniLM-L6-v2 vectors with a network that has already learned to.

    Told how much isotropic noise there is, it reads noised vectors too; for other noise, give it texts to
    practise on and `epochs` above 0.

    Args:
        steps: rounds of correction; 0 writes one text and looks no further, and needs no encoder.
        beam: hypotheses kept for each vector.
        branch: corrections written for each hypothesis in each round, where more than one is kept.
        likeliest: texts followed at once while one is written, of which the likeliest stays; 1 is faster.
        polish: rounds of editing the best text at the end, a wordpiece each time; some 200 embeddings each.
        wide: texts of each vector that are edited in a round, of the `beam` that are kept.
        moves: runs of wordpieces put elsewhere in each text that is edited.
        pairs: the best edits of a text that are also tried two at a time.
        cycles: times that corrections and edits are gone through, where more than one text is kept.
        strong: search as hard as was worth it, some 6,000 texts embedded for each vector, in place of the
            nine settings above; wants a GPU.
        reader: folder of a saved text reader in the place of the package's, such as one of longer texts.
        epochs: times it goes through the texts it is given, on freshly noised vectors; `practised` practises
            better, and throws away practice that does not help.
        rate: highest learning rate; 3e-5 on a CPU and 5e-4 on a GPU when None.
        held_back: share of the texts held back for the control.
        device: such as "cpu" or "cuda"; a GPU when None and there is one.
    """

    steps: int = 0
    beam: int = 4
    branch: int = 8
    likeliest: int = 4
    polish: int = 0
    wide: int = 1
    moves: int = 0
    pairs: int = 0
    cycles: int = 1
    strong: bool = False
    reader: PathLike | None = None
    epochs: float = 0.0
    batch: int = 64
    rate: float | None = None
    held_back: float = 0.05
    device: str | None = None
    seed: int = 0

    name: ClassVar[str] = "minilm"
    paper: ClassVar[str] = "Vec2Text"
    summary: ClassVar[str] = "reads all-MiniLM-L6-v2 vectors with no training at all"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"
    needs: ClassVar[Literal["texts", "attacked", "nothing"]] = "nothing"

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.steps, "steps", 0, 10_000)
        whole_number(self.beam, "beam", 1, 1024)
        whole_number(self.branch, "branch", 1, 1024)
        whole_number(self.likeliest, "likeliest", 1, 1024)
        whole_number(self.polish, "polish", 0, 10_000)
        whole_number(self.wide, "wide", 1, 1024)
        whole_number(self.moves, "moves", 0, 10_000)
        whole_number(self.pairs, "pairs", 0, 256)
        whole_number(self.cycles, "cycles", 1, 1000)
        whole_number(self.batch, "batch", 1, 10**6)
        finite_number(self.epochs, "epochs", 0.0, 1e4)
        if self.rate is not None:
            finite_number(self.rate, "rate", 1e-7, 1.0)
        finite_number(self.held_back, "held_back", 0.0, 0.9)
        whole_number(self.seed, "seed", 0, 2**63 - 1)
        if not isinstance(self.strong, bool):
            raise InputError(f"strong has to be true or false. Found {self.strong!r:.40}.")
        others = [name for name in _SEARCHED if getattr(self, name) != getattr(type(self), name)]
        if self.strong and others:
            raise InputError(f"strong has a search of its own. Found {others[0]} beside it. Leave one away.")

    def fit(
        self,
        texts: Sequence[str] = (),
        vectors: Any = None,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> TextReader:
        """Load the reader; texts, where there are any, are for the control and for practice."""
        reader = TextReader.load(self.reader or model_path(), device=self.device)
        reader.seed = self.seed
        reader.search = STRONG if self.strong else self._search()
        if reader.search.compares:
            reader.embedder = load_embedder("minilm")
        known, clean = ([], None) if vectors is None or not len(texts) else checked(texts, vectors)
        if clean is not None:
            if clean.shape[1] != reader.dim:
                raise InputError(
                    f"Vectors of all-MiniLM-L6-v2 have {reader.dim} dimensions. Found {clean.shape[1]}."
                )
            _, test = held_back(len(known), self.held_back, self.seed)
            reader.measure([known[row] for row in test], clean[test], 50)
        release = as_release(mechanism)
        if release is not None:
            reader.release, reader.ratio = release, told_ratio(release, reader.dim)
            if reader.embedder is not None:
                reader.embedder = entrance_of(mechanism, reader.embedder)
            if self.epochs and clean is not None:
                self._practise(reader, known, clean, release, on_step)
        return reader

    def _search(self) -> Search:
        """How hard to look, by the settings of its own."""
        beam = self.beam if self.steps else 1
        asked = {name: getattr(self, name) for name in _SEARCHED}
        return Search(**{**asked, "beam": beam, "first": 4 * beam if beam > 1 else 1})

    def _practise(
        self,
        reader: TextReader,
        texts: list[str],
        clean: Vectors,
        release: Release,
        on_step: OnStep | None,
    ) -> None:
        training, _ = held_back(len(texts), self.held_back, self.seed)
        fresh = release.fresh(self.seed)
        device = chosen_device(self.device)
        rows = rows_on(clean[training], device)
        tokens = reader.pieces.encode([texts[row] for row in training], reader.network.sizes.longest)
        with seeded(self.seed, device):
            rate = practice_rate(self.rate, device)
            trainer = Trainer(reader.network, rate=rate, pad=reader.pieces.pad)
            writer = WriterTraining(reader.network, trainer, self.batch)
            batches = writer.texts(tokens, lambda: fresh(rows), reader.pieces.pad, reader.ratio)
            writer.train(batches, self.epochs, generator(self.seed), "practising on releases", on_step)


def told_ratio(release: Release, dim: int) -> float:
    """The noise ratio the reader is told; it was taught ratios up to 1.3, alike in all directions."""
    try:
        return float(np.clip(release.mechanism.noise_ratio(dim), 0.0, 1.3))
    except InputError:
        return 0.0


def model_path() -> Path:
    """Where the package with the weights keeps them."""
    return Path(importlib.import_module(PACKAGE).model_path())
