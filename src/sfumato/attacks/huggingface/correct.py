"""Correcting hypotheses with a beam over whole texts (Vec2Text, seed 003, section 3, "Inference")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.writers.candidates import EXACT
from sfumato.types import Vectors

Tokens = list[int]


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """A hypothesis, its vector, and how close that comes to the one to be read."""

    tokens: Tokens
    text: str
    vector: NDArray[np.float32]
    cosine: float


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrects the hypotheses of many vectors side by side.

    Args:
        embed: the victim's encoder, as its releases would be without noise.
        correct: vectors and one hypothesis each in, `beam` corrections of each out, side by side.
        decode: tokens in, texts out.
        beam: hypotheses kept for each vector. With 1, the correction is always taken up, and the closest text
            seen is the result; with more, a hypothesis gives way only to one whose cosine is higher.
    """

    embed: Callable[[list[str]], Vectors]
    correct: Callable[[Vectors, list[Guess]], list[Tokens]]
    decode: Callable[[Sequence[Tokens]], list[str]]
    beam: int = 1

    def run(self, targets: Vectors, first: list[list[Tokens]], steps: int) -> list[Guess]:
        """Correct the `first` hypotheses of each target at most `steps` times; return the closest."""
        current = self._weighed(targets, first)
        best = [row[0] for row in current]
        going = list(range(len(targets)))
        for _ in range(steps):
            going = [row for row in going if best[row].cosine < EXACT]
            if not going:
                break
            found = self._weighed(targets[going], self._corrected(targets, current, going))
            still = []
            for row, new in zip(going, found, strict=True):
                kept = new[:1] if self.beam == 1 else closest([*current[row], *new], self.beam)
                # Decoding is greedy: from the same hypotheses the same corrections would come for ever.
                if [guess.text for guess in kept] != [guess.text for guess in current[row]]:
                    still.append(row)
                current[row] = kept
                best[row] = max(best[row], kept[0], key=lambda guess: guess.cosine)
            going = still
        return best

    def _corrected(
        self, targets: Vectors, current: list[list[Guess]], going: list[int]
    ) -> list[list[Tokens]]:
        rows = [row for row in going for _ in current[row]]
        written = self.correct(targets[rows], [guess for row in going for guess in current[row]])
        made: dict[int, list[Tokens]] = {row: [] for row in going}
        for place, tokens in enumerate(written):
            made[rows[place // self.beam]].append(tokens)
        return list(made.values())

    def _weighed(self, targets: Vectors, tokens: list[list[Tokens]]) -> list[list[Guess]]:
        """Embed the candidates of each target, each text once, and keep the closest."""
        flat = [each for row in tokens for each in row]
        texts = self.decode(flat)
        once = list(dict.fromkeys(texts))
        vectors = dict(zip(once, self.embed(once), strict=True))
        made, at = [], 0
        for target, row in zip(targets, tokens, strict=True):
            guesses = [
                Guess(each, text, vectors[text], _cosine(vectors[text], target))
                for each, text in zip(row, texts[at : at + len(row)], strict=True)
            ]
            made.append(closest(guesses, self.beam))
            at += len(row)
        return made


def closest(guesses: Sequence[Guess], count: int) -> list[Guess]:
    """The closest `count` different texts; of equals, the earlier."""
    first: dict[str, Guess] = {}
    for guess in sorted(guesses, key=lambda guess: -guess.cosine):
        first.setdefault(guess.text, guess)
    return list(first.values())[:count]


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size else 0.0
