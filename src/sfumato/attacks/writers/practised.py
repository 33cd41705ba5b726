"""A practised reader: it reads clean vectors already, and has practised on the victim's own releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, OnStep, checked, held_back
from sfumato.attacks.huggingface.training import seeded
from sfumato.attacks.writers.estimate import LinearEstimate
from sfumato.attacks.writers.handed import HandedTexts
from sfumato.attacks.writers.minilm import model_path, told_ratio
from sfumato.attacks.writers.practice import Practice, practice_rate
from sfumato.attacks.writers.search import Search
from sfumato.attacks.writers.textreader import TextReader, unit
from sfumato.devices import chosen_device
from sfumato.errors import InputError
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.types import Rows, Vectors

READS = "minilm"
"""The encoder whose vectors the ready-made reader reads."""
_FEWEST = 4
_DRAWN, _MOST_DRAWS = 8192, 8
_MOST_HELD = 200
_CONTROL_ROWS = 50
_RATIOS = (0.0, 0.5, 1.0)
"""Noise ratios the reader may be told of an estimate, which is blurred though no noise was added to it."""
_BY_DEVICE: dict[str, tuple[int, int]] = {"cpu": (2000, 32), "cuda": (200_000, 512)}
"""Releases and batch: some minutes on a CPU, half a minute on a large GPU."""


@dataclass(frozen=True, kw_only=True)
class Practised(Attack):
    """Practises reading on fresh releases of the very defence that is attacked, told all but its secrets.

    What is linear in the defence is undone first, where held-back texts say that this helps; then the network
    practises writing and, with `steps`, correcting. Practice that does not help on held-back texts is thrown
    away.

    Args:
        embedder: the victim's encoder, or its name; None practises on the given vectors alone.
        reader: folder of a saved text reader to begin with; the ready-made MiniLM reader when None.
        steps: rounds of correction; 0 writes one text and looks no further.
        beam: hypotheses kept for each vector.
        branch: corrections written for each hypothesis in each round, where more than one is kept.
        likeliest: texts followed at once while one is written, of which the likeliest stays; 1 is faster.
        polish: rounds of editing the best text at the end, a wordpiece each time.
        practice: releases it practises on; 2,000 on a CPU and 200,000 on a GPU when None.
        made: share of them that are of parts of the texts, or of two joined, embedded as the victim would.
        correcting: share of them that are corrected, where there are steps.
        batch: releases a step; 32 on a CPU and 512 on a GPU when None.
        rate: highest learning rate; 3e-5 on a CPU and 5e-4 on a GPU when None.
        held_back: share of the texts held back to choose by, and for the control.
        device: such as "cpu" or "cuda"; a GPU when None and there is one.
    """

    embedder: Any = READS
    reader: PathLike | None = None
    steps: int = 0
    beam: int = 4
    branch: int = 8
    likeliest: int = 4
    polish: int = 0
    practice: int | None = None
    made: float = 0.4
    correcting: float = 0.5
    batch: int | None = None
    rate: float | None = None
    held_back: float = 0.05
    device: str | None = None
    seed: int = 0

    name: ClassVar[str] = "practised"
    paper: ClassVar[str] = "Vec2Text"
    summary: ClassVar[str] = "the ready-made reader, practised on fresh releases of the very defence"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"

    def __post_init__(self) -> None:
        """Check every field."""
        for name, least, most in (
            ("steps", 0, 10_000), ("beam", 1, 1024), ("branch", 1, 1024), ("likeliest", 1, 1024),
            ("polish", 0, 10_000), ("seed", 0, 2**63 - 1),
        ):  # fmt: skip
            whole_number(getattr(self, name), name, least, most)
        for name in ("practice", "batch"):
            if getattr(self, name) is not None:
                whole_number(getattr(self, name), name, 1, 10**9)
        finite_number(self.made, "made", 0.0, 1.0)
        finite_number(self.correcting, "correcting", 0.0, 1.0)
        finite_number(self.held_back, "held_back", 1e-6, 0.9)
        if self.rate is not None:
            finite_number(self.rate, "rate", 1e-7, 1.0)
        if self.embedder is None and self.search.compares:
            raise InputError("Corrections need the victim's encoder. Found none. Give it as embedder=.")

    @property
    def search(self) -> Search:
        """How hard its reader looks."""
        beam = self.beam if self.steps else 1
        return Search(
            steps=self.steps, beam=beam, branch=self.branch, first=4 * beam if beam > 1 else 1,
            likeliest=self.likeliest, polish=self.polish,
        )  # fmt: skip

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> TextReader:
        """Practise on releases of these texts, and of others made of them."""
        known, entering = checked(texts, vectors)
        if len(known) < _FEWEST:
            raise InputError(f"There must be at least four texts to practise on. Found {len(known)}.")
        handed = HandedTexts.of(self.embedder, mechanism, known, entering)
        reader = self._beginner(handed)
        own, test = held_back(len(known), self.held_back, self.seed)
        with seeded(self.seed, chosen_device(self.device)):
            self._measure(reader, handed, test)
            practice = self._practice(reader, handed, own)
            held = HeldBack.of(practice, handed, test[:_MOST_HELD])
            self._choose(practice, handed, own, held)
            if self._practise(practice, held, on_step) and handed.plain:
                self._measure(reader, handed, test)
        if not reader.search.compares:
            reader.embedder = reader.release = None
        return reader

    def _beginner(self, handed: HandedTexts) -> TextReader:
        """The reader as it is before it practises."""
        name = getattr(handed.encoder, "name", READS)
        if self.reader is None and name != READS:
            raise InputError(
                f"The ready-made reader reads vectors of all-MiniLM-L6-v2. Found the encoder {name!r:.40}. "
                "Give reader= a folder with one that was fitted to it."
            )
        path = model_path() if self.reader is None else Path(self.reader)
        reader = TextReader.load(path, embedder=handed.encoder, device=self.device)
        reader.estimate, reader.release, reader.ratio, reader.seed = None, None, 0.0, self.seed
        if handed.clean.shape[1] != reader.dim:
            raise InputError(
                f"The reader takes vectors of {reader.dim} dimensions. Found {handed.clean.shape[1]}."
            )
        return reader

    def _measure(self, reader: TextReader, handed: HandedTexts, test: Rows) -> None:
        """Set the control: one text a vector, which needs no search."""
        reader.search = replace(self.search, steps=0, beam=1, first=1, polish=0)
        reader.measure([handed.texts[row] for row in test], handed.clean[test], _CONTROL_ROWS)
        reader.search = self.search

    def _practice(self, reader: TextReader, handed: HandedTexts, own: Rows) -> Practice:
        reader.release = handed.told
        # Guesses go the victim's way, too, if he knows it.
        reader.embedder = handed.entrance or handed.encoder
        return Practice(
            reader=reader,
            texts=[handed.texts[row] for row in own],
            entering=handed.entering[own],
            release=handed.release.fresh(self.seed),
            entrance=handed.entrance,
            made=self.made,
            correcting=self.correcting if self.search.compares else 0.0,
        )

    def _choose(self, practice: Practice, handed: HandedTexts, own: Rows, held: HeldBack) -> None:
        """Show the network releases as they are, or with what is linear undone, whichever it reads better."""
        reader, release = practice.reader, handed.release
        dim = handed.entering.shape[1]
        options: list[tuple[LinearEstimate | None, float]] = []
        if release.output_dim(dim) == reader.network.sizes.dim:
            told = told_ratio(release, dim) if release.mechanism.noisy else 0.0
            options += [(None, ratio) for ratio in dict.fromkeys((told, 0.0))]
        if not handed.plain:
            undone = self._estimate(practice, handed, own, held)
            options += [(undone, ratio) for ratio in _RATIOS]
        losses, writing = [], replace(practice, correcting=0.0)
        for estimate, ratio in options:
            reader.estimate, reader.ratio = estimate, ratio
            losses.append(writing.loss(held.texts, held.released, self._batch))
        reader.estimate, reader.ratio = options[int(np.argmin(losses))]

    def _estimate(self, practice: Practice, handed: HandedTexts, own: Rows, held: HeldBack) -> LinearEstimate:
        often = max(1, min(_MOST_DRAWS, _DRAWN // len(own))) if handed.release.mechanism.noisy else 1
        released = np.concatenate([practice.released(practice.entering) for _ in range(often)])
        clean = np.tile(handed.clean[own], (often, 1))
        return LinearEstimate.fit(unit(released), clean, (unit(held.released), held.clean))

    def _practise(self, practice: Practice, held: HeldBack, on_step: OnStep | None) -> bool:
        """Practise; return whether that helped with held-back texts, without which nothing is changed."""
        reader, kind = practice.reader, practice.device.type
        count = self.practice or _BY_DEVICE.get(kind, _BY_DEVICE["cpu"])[0]
        rate = practice_rate(self.rate, practice.device)
        first = {name: rows.clone() for name, rows in reader.network.state_dict().items()}
        before = practice.loss(held.texts, held.released, self._batch)
        practice.run(count, self._batch, rate, generator(self.seed), on_step)
        after = practice.loss(held.texts, held.released, self._batch)
        kept = bool(after < before)
        if not kept:
            reader.network.load_state_dict(first)
        reader.practice = {
            "releases": count,
            "texts": len(practice.texts),
            "made": self.made if practice.entrance is not None else 0.0,
            "estimate": reader.estimate is not None,
            "ratio": reader.ratio,
            "loss_before": before,
            "loss_after": after,
            "kept": kept,
        }
        return kept

    @property
    def _batch(self) -> int:
        kind = chosen_device(self.device).type
        return self.batch or _BY_DEVICE.get(kind, _BY_DEVICE["cpu"])[1]


@dataclass(frozen=True, slots=True, eq=False)
class HeldBack:
    """Texts that are not practised on: what they were released as, once."""

    texts: list[str]
    clean: Vectors
    released: Vectors

    @classmethod
    def of(cls, practice: Practice, handed: HandedTexts, rows: Rows) -> HeldBack:
        """Release them."""
        texts = [handed.texts[row] for row in rows]
        return cls(texts, handed.clean[rows], practice.released(handed.entering[rows]))
