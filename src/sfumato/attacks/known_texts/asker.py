"""What an oracle said: answers to every candidate, how often each was asked, and the term they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Control, Inverter, OnStep, Recovered
from sfumato.attacks.known_texts.answering import Answer, Answering, Questions
from sfumato.attacks.terms.reader import LISTED
from sfumato.errors import ArtifactError, InputError, VectorError
from sfumato.likelihood import ROUNDING
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.types import Floats

# Guesses share no stream with whatever made the texts from the same seed.
STREAM = 1 << 49
_ROUNDED = 5e-4
"""Of a search: scores that differ by less may be the same one rounded."""
_MOST_MEANS = 64
"""Answers to one question that are averaged, at most."""


def ask_all(
    put: Questions, texts: list[str], on_step: OnStep | None
) -> tuple[dict[str, list[Answer]], set[str], int]:
    """The answers to each text, which were refused when first asked, and how often each was asked.

    They are asked again and again where the answers are not the same.
    """
    answers: dict[str, list[Answer]] = {text: [] for text in texts}

    def keep(asked: Sequence[str]) -> list[Answer | None]:
        found = put(asked)
        for text, answer in zip(asked, found, strict=True):
            answers[text] += [] if answer is None else [answer]
        return found

    first = keep(texts)[0]
    refused, times = set(put.refused), 1  # later ones are of his own making
    if first is not None and not _same(first, keep(texts[:1])[0]):
        able = [text for text in texts if text not in put.refused]
        while times < _MOST_MEANS and able and put.left >= len(able):
            keep(able)
            times += 1
            if on_step is not None:
                on_step("asking", put.sent / put.most)
    if on_step is not None:
        on_step("asking", 1.0)
    return answers, refused, times


def _same(one: Answer, other: Answer | None) -> bool:
    """Whether a question was answered alike twice; refused the second time, it is not worth asking again."""
    if other is None:
        return True
    if isinstance(one, dict):
        shared = one.keys() & other.keys()
        return one.keys() == other.keys() and all(abs(one[id] - other[id]) < _ROUNDED for id in shared)
    return bool(np.linalg.norm(one - other) <= ROUNDING)


def answer_tables(
    source: Answering,
    answers: dict[str, list[Answer]],
    tables: list[list[str]],
    refused: set[str],
    ids: list[str] | None,
) -> tuple[Floats, NDArray[np.bool_]]:
    """`(rows, k, d)` mean releases, or `(rows, k)` mean nearness, NaN without an answer; what was refused."""
    turned_down = np.array([[text in refused for text in row] for row in tables], bool)
    if source.kind == "searches":
        owns: Sequence[str | None] = [None] * len(tables) if ids is None else ids
        near = [
            [_nearness(answers[text], own) for text in row] for row, own in zip(tables, owns, strict=True)
        ]
        return np.array(near, np.float64), turned_down
    means = {text: np.mean(found, axis=0) for text, found in answers.items() if found}
    if not means:
        raise InputError("Every question was refused, so nothing can be compared. Ask with another key.")
    nothing = np.full(len(next(iter(means.values()))), np.nan)
    return np.array([[means.get(text, nothing) for text in row] for row in tables]), turned_down


def _nearness(found: list[Answer], own: str | None) -> float:
    """How near searches for one text came to a row, or to any; a row not found is further than all."""
    if not found:
        return float("nan")
    if own is None:
        return float(np.mean([max(each.values(), default=-2.0) for each in found]))
    return float(np.mean([each.get(own, min(each.values(), default=0.0) - 1.0) for each in found]))


class Asker(Inverter):
    """The answers to every candidate of every text that was asked about.

    Args:
        terms: what he chooses from.
        asked: `[n]` the texts he asked about.
        answers: `(rows, k, d)` releases, or `(rows, k)` nearness of searches; NaN where there is none.
        refused: `(rows, k)` questions that were refused when they were first asked.
        seed: draws among candidates that are equally near.
    """

    kind = "oracle-attack"

    def __init__(
        self,
        terms: Sequence[str],
        asked: NDArray[np.bool_],
        answers: Floats,
        refused: NDArray[np.bool_],
        seed: int = 0,
    ) -> None:
        self.terms, self.asked, self.answers, self.refused = tuple(terms), asked, answers, refused
        self.seed = seed
        self.counts: dict[str, int] = {}
        """Questions `sent`, `refused`, and how many `times` each was asked."""

    def recover(self, vectors: Any) -> Recovered:
        """Name the term of each stored release, the nearest candidate first; equally near ones at random."""
        stored = as_vectors(vectors).astype(np.float64)
        if len(stored) != len(self.asked):
            raise InputError(
                f"There must be one release for each of the {len(self.asked)} known texts, in their order. "
                f"Found {len(stored)}."
            )
        gaps, alike = self._gaps(stored[self.asked])
        rng = generator(STREAM + self.seed)
        rows: list[list[str]] = [[] for _ in self.asked]
        probabilities = np.zeros((len(self.asked), len(self.terms)))
        for place, row in enumerate(np.flatnonzero(self.asked).tolist()):
            likely = self._likely(gaps[place], self.refused[place], alike)
            probabilities[row, likely] = 1.0 / len(likely)
            order = sorted(range(len(self.terms)), key=lambda one: (one not in likely, gaps[place, one]))  # noqa: B023
            order[: len(likely)] = rng.permutation(likely).tolist()
            rows[row] = [self.terms[one] for one in order[:LISTED]]
        details = {"probabilities": probabilities, "vocabulary": list(self.terms), "asked": self.asked}
        return Recovered(rows, probabilities.max(axis=1), {**details, **self.counts})

    def _gaps(self, stored: Floats) -> tuple[Floats, float]:
        """`(rows, k)` how far each candidate's answer lies, infinite without one; what counts as alike."""
        if self.answers.ndim == 2:
            return np.nan_to_num(-self.answers, nan=np.inf), _ROUNDED
        if stored.shape[1] != self.answers.shape[2]:
            raise VectorError(
                f"The answers have dimension {self.answers.shape[2]}, the releases {stored.shape[1]}."
            )
        gaps = np.linalg.norm(self.answers - stored[:, None], axis=2)
        return np.nan_to_num(gaps, nan=np.inf), ROUNDING

    @staticmethod
    def _likely(gaps: Floats, refused: NDArray[np.bool_], alike: float) -> NDArray[np.intp]:
        """The candidates that nothing tells apart; some refused and others not: those refused were spent."""
        if refused.any() and not refused.all():
            return np.flatnonzero(refused)
        least = gaps.min()
        return np.arange(len(gaps)) if np.isinf(least) else np.flatnonzero(gaps <= least + alike)

    def save(self, path: PathLike) -> str:
        """Write the answers."""
        control = None if self.control is None else [self.control.value, self.control.rows]
        config = {"terms": list(self.terms), "seed": self.seed, "counts": self.counts, "control": control}
        tensors = {
            "answers": np.nan_to_num(self.answers),
            "without": np.isnan(self.answers.reshape(*self.refused.shape, -1)[..., 0]),
            "refused": self.refused,
            "asked": self.asked,
        }
        return artifacts.save(path, self.kind, config, tensors)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read them back."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            made = cls(
                [str(term) for term in config["terms"]],
                np.asarray(tensors["asked"], bool),
                np.asarray(tensors["answers"], np.float64),
                np.asarray(tensors["refused"], bool),
                whole_number(config["seed"], "seed", 0, 2**48),
            )
            made.answers = made.answers.copy()
            made.answers[np.asarray(tensors["without"], bool)] = np.nan
            made.counts = {str(key): int(value) for key, value in config["counts"].items()}
            if config["control"] is not None:
                made.control = Control("top-1", float(config["control"][0]), int(config["control"][1]))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        shape = (int(made.asked.sum()), len(made.terms))
        if made.answers.shape[:2] != shape or made.refused.shape != shape or made.answers.ndim > 3:
            raise ArtifactError(
                f"There must be answers for each text and term. Found shape {made.answers.shape}."
            )
        return made
