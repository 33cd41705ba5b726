"""What a token classifier learns from, what is held back, and training several networks side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Control, OnStep, fresh_releases
from sfumato.attacks.terms.perceptron import Perceptron, Schedule, train
from sfumato.attacks.terms.reader import TokenReader, platt
from sfumato.attacks.terms.vocabulary import Vocabulary
from sfumato.metrics.leakage import count_leaked
from sfumato.metrics.ranking import ranked
from sfumato.release import Release
from sfumato.types import Vectors

_DRAWS = 2
_SIDE_BY_SIDE = 2


class TrainingSet:
    """What is learned from, and what is held back to calibrate and choose by."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        clean: Any,
        held: NDArray[np.bool_],
        tested: Vectors,
        kept: NDArray[np.bool_],
        release: Release | None,
        seed: int,
        *,
        copies: int = 0,
    ) -> None:
        self.copies = copies
        """Texts with another term put in, for each text."""
        self.vocabulary, self.clean, self.held = vocabulary, clean, held
        self.tested, self.true, self.release, self.seed = tested, kept, release, seed
        fresh = fresh_releases(release, seed)
        # More than one draw, so that the calibration does not hang on one.
        self.noisy = np.concatenate([fresh(tested) for _ in range(_DRAWS)])
        self.kept = np.tile(kept, (_DRAWS, 1))

    def without_noise(self) -> TrainingSet:
        """The same training set on clean vectors."""
        return TrainingSet(
            self.vocabulary,
            self.clean,
            self.held,
            self.tested,
            self.true,
            None,
            self.seed,
            copies=self.copies,
        )

    def reader(self, members: list[Perceptron]) -> TokenReader:
        """Calibrate the mean of the members on held-back rows (Platt 1999); clean rows are a control."""
        mean = np.mean([member.logits(self.noisy) for member in members], axis=0)
        slope, shift = platt(mean, self.kept)
        made = TokenReader(
            self.vocabulary.terms,
            tuple(member.rescaled(slope, shift) for member in members),
            leakage=self._share(mean, self.kept),
        )
        made.loss = self._loss(slope * mean + shift)
        if self.release is None:
            rows = self.true.any(axis=1)
            clean = made.logits(self.tested[rows])
            made.control = Control("leakage", self._share(clean, self.true[rows]), int(rows.sum()))
        return made

    def _loss(self, logits: NDArray[np.floating[Any]]) -> float:
        """Cross-entropy of a held-back row: steadier than the leakage of a few dozen rows."""
        return float((np.logaddexp(0.0, logits) - self.kept * logits).sum(axis=1).mean())

    def _share(self, logits: NDArray[np.floating[Any]], kept: NDArray[np.bool_]) -> float:
        terms = np.array(self.vocabulary.terms, object)
        truth = [list(terms[row]) for row in kept]
        return count_leaked(truth, ranked(logits, list(terms), kept.sum(axis=1).tolist())).rate


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One network to be trained; its noise and its start come from `seed` alone."""

    training: TrainingSet
    schedule: Schedule
    seed: int


def train_all(runs: Sequence[TrainingRun], on_step: OnStep | None) -> list[Perceptron]:
    """Train networks, each in a thread of its own: two side by side, or on a device one after another."""
    total, done = sum(run.schedule.epochs for run in runs), [0] * len(runs)
    # Made here: a seed's warning cannot be silenced in one thread alone.
    releases = [fresh_releases(run.training.release, run.seed + 1) for run in runs]

    def work(number: int) -> Perceptron:
        run = runs[number]

        def on_epoch(epoch: int) -> None:
            done[number] = epoch + 1
            if on_step is not None:
                on_step("training", sum(done) / total)

        return train(
            run.training.clean, run.training.held, releases[number], run.schedule, run.seed, on_epoch
        )

    on_host = all(isinstance(run.training.clean, np.ndarray) for run in runs)
    with single_threads(), ThreadPoolExecutor(_SIDE_BY_SIDE if on_host else 1) as pool:
        return list(pool.map(work, range(len(runs))))


@contextmanager
def single_threads() -> Iterator[None]:
    """Keep torch to one thread each: those that meet after every small product cost more than they give."""
    import torch

    allowed = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(allowed)
