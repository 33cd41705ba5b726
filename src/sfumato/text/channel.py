"""The token channel: a word's vector, blurred by a mechanism, decoded to the nearest word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.mechanisms import MECHANISMS, Mechanism, Polar
from sfumato.numbers import whole_number
from sfumato.randomness import Source, resolve
from sfumato.text.decoders import DECODERS, WordDecoder
from sfumato.text.prefixes import Ids
from sfumato.text.vocabulary import UNKNOWN, WordVectors
from sfumato.types import Floats

Make = Callable[[float], Mechanism]
"""Makes a mechanism from an epsilon."""

RADIUS = "polar+radius"
"""Polar with a noisy radius, which decoding by cosine then ignores (section 4, radial invariance)."""

_CHUNK = 1 << 13
"""Words blurred and decoded at a time: memory does not grow with a text."""


class Channel:
    """Words in, words out, each drawn on its own.

    Args:
        vocabulary: words and their vectors.
        mechanism: a registered name, "polar+radius", or a function from an epsilon to a mechanism.
        decoder: a name of the table DECODERS, or an object with `nearest`.
    """

    def __init__(
        self, vocabulary: WordVectors, mechanism: str | Make = "polar", decoder: str | WordDecoder = "exact"
    ) -> None:
        self.vocabulary = vocabulary
        self._make = _maker(mechanism) if isinstance(mechanism, str) else mechanism
        self.name = mechanism if isinstance(mechanism, str) else self._make(1.0).name
        self.mechanism: Make = lru_cache(maxsize=64)(self._checked)
        self.mechanism(1.0)
        self.decoder = _decoder(decoder, vocabulary)

    def _checked(self, epsilon: float) -> Mechanism:
        made = self._make(epsilon)
        if not made.guarantee.is_private:
            raise ParameterError(f"The mechanism `{self.name}` makes no promise: choose polar or laplace.")
        dim = self.vocabulary.dim
        if (made.dim is not None and made.dim != dim) or made.output_dim(dim) != dim:
            raise ParameterError(f"The mechanism `{self.name}` must keep {dim} dimensions to be decoded.")
        return made

    def _vectors(self, numbers: Ids) -> NDArray[np.float32]:
        rows = self.vocabulary.unit(numbers)
        if self.name == RADIUS:
            radii = self.vocabulary.radii[numbers]
            rows *= np.where(numbers == UNKNOWN, self.vocabulary.radii.mean(), radii)[:, None]
        return rows

    def sample(
        self, numbers: Sequence[int] | Ids, epsilons: Any, rng: object = None, *, threads: int | None = None
    ) -> Ids:
        """Draw a word for every word.

        Args:
            numbers: `[n]` words by number, UNKNOWN for the stand-in.
            epsilons: `[n]` budgets, or one for all; finite and above 0.
            rng: None for secure noise, a `Source` or a seed for experiments.
            threads: how many threads; None means all cores. The result does not depend on it.
        """
        parts = [written for _, written in self.draw(numbers, epsilons, rng, threads=threads)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def draw(
        self, numbers: Sequence[int] | Ids, epsilons: Any, rng: object = None, *, threads: int | None = None
    ) -> Iterator[tuple[NDArray[np.float32], Ids]]:
        """Yield released vectors and the words they decode to, some thousands at a time; as `sample` else.

        The vectors are valid until the next ones come. Attackers sample them; a text releases words alone.
        """
        words = np.asarray(numbers, np.int64)
        budgets = np.broadcast_to(np.asarray(epsilons, np.float64), words.shape)
        if words.size and not UNKNOWN <= int(words.min()) <= int(words.max()) < len(self.vocabulary):
            raise ParameterError(f"Words must be numbers from {UNKNOWN} to {len(self.vocabulary) - 1}.")
        source = resolve(rng)
        if not isinstance(source, Source):
            raise ParameterError("`rng` must be None, a Source or a seed: words have no keys of their own.")
        released = np.empty((min(len(words), _CHUNK), self.vocabulary.dim), np.float32)
        for low in range(0, len(words), _CHUNK):
            here, spent = words[low : low + _CHUNK], budgets[low : low + _CHUNK]
            rows = released[: len(here)]
            for epsilon in np.unique(spent).tolist():
                own = np.flatnonzero(spent == epsilon)
                rows[own] = self.mechanism(epsilon).privatize(
                    self._vectors(here[own]), source, threads=threads
                )
            # The word itself is the likeliest of all: a hint that saves time and changes nothing.
            yield rows, self.decoder.nearest(rows, threads=threads, hints=here)

    def kept(
        self,
        numbers: Sequence[int] | Ids,
        epsilons: Any,
        draws: int = 64,
        rng: object = None,
        *,
        threads: int | None = None,
    ) -> Floats:
        """Estimate the chance that each word comes out unchanged, from `draws` draws of each."""
        words = np.asarray(numbers, np.int64)
        budgets = np.broadcast_to(np.asarray(epsilons, np.float64), words.shape)
        draws = whole_number(draws, "draws", 1, 10**7)
        pairs, back = np.unique(
            np.stack([words.astype(np.float64), budgets], axis=1), axis=0, return_inverse=True
        )
        asked = np.repeat(pairs[:, 0].astype(np.int64), draws)
        drawn = self.sample(asked, np.repeat(pairs[:, 1], draws), rng, threads=threads)
        same = (drawn == asked).reshape(-1, draws).mean(axis=1)
        return np.asarray(same[back.reshape(-1)])


def _decoder(chosen: str | WordDecoder, vocabulary: WordVectors) -> WordDecoder:
    if not isinstance(chosen, str):
        return chosen
    kind: Any = DECODERS.get(chosen)
    made: WordDecoder = kind(vocabulary.vectors)
    return made


def _maker(name: str) -> Make:
    if name == RADIUS:
        return lambda epsilon: Polar(epsilon=epsilon, radius_epsilon=epsilon)
    kind: Any = MECHANISMS.get(name)
    if kind.strength != "epsilon":
        raise ParameterError(
            f"The mechanism `{name}` is not set by an epsilon. Hand over a function that makes it from one."
        )

    def make(epsilon: float) -> Mechanism:
        try:
            made: Mechanism = kind(epsilon=epsilon)
        except TypeError as error:
            raise ParameterError(
                f"The mechanism `{name}` needs more than an epsilon. Hand over a function that makes it."
            ) from error
        return made

    return make
