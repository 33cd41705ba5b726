"""Words instead of vectors: the loss of a channel that releases the nearest word of a small vocabulary.

Decoding is post-processing, so that the channel from word to word inherits the promise of its mechanism: for
all words x, x' and o, P[o | x] <= exp(epsilon d(x, x')) P[o | x'] (STAMP, definition 2). Counts of what came
out are held against it with the bounds of Clopper and Pearson 1934. The tests of the text rewriter hold its
own draws against the same bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms import Mechanism
from sfumato.randomness import Source, generator
from sfumato.types import Floats
from sfumato.verification.cases import Case
from sfumato.verification.epsilon import loss_bound
from sfumato.verification.report import ALPHA, CheckRow

WORDS = 24
_SPACING = 0.25
"""Neighbouring words stand about so far apart, in radians, so that many pairs have a loss worth measuring."""

Sample = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Draws the word that comes out, for every word that goes in."""


def small_vocabulary(dim: int, words: int = WORDS) -> Floats:
    """Unit vectors around the whole circle, or scattered over the sphere: `[words, dim]`."""
    rng = generator(dim)
    if dim == 2:
        angles = np.arange(words) * 2 * math.pi / words + rng.uniform(0, _SPACING / 4, words)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    vectors = rng.standard_normal((words, dim))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def distances(vectors: Floats, metric: str) -> Floats:
    """`[V, V]` distances between words in the metric of a promise."""
    chords = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1.0))) if metric == "angular" else chords


def count_words(sample: Sample, words: int, count: int) -> NDArray[np.int64]:
    """`[V, V]` how often each word came out of each, over `count` draws of every word."""
    came = sample(np.repeat(np.arange(words), count)).reshape(words, count)
    return np.stack([np.bincount(row, minlength=words) for row in came])


def worst_excess(counts: NDArray[np.int64], claims: Floats, alpha: float = ALPHA) -> tuple[float, float]:
    """The loss proved and the loss claimed, where the first is the largest share of the second.

    All pairs of inputs and all outputs are tried, so that each is tried at alpha over their number.
    """
    words = len(counts)
    draws = int(counts[0].sum())
    proved = loss_bound(counts[:, None, :], counts[None, :, :], draws, alpha=alpha / counts.size / words)
    same = np.eye(words, dtype=bool)
    share = proved / np.where(same, 1.0, claims)[:, :, None]
    share[same] = -np.inf
    first, second, word = np.unravel_index(int(share.argmax()), share.shape)
    return float(proved[first, second, word]), float(claims[first, second])


def nearest(mechanism: Mechanism, vectors: Floats, source: Source) -> Sample:
    """The plain channel: release, then the word with the largest inner product."""

    def sample(words: NDArray[np.int64]) -> NDArray[np.int64]:
        released = mechanism.privatize(vectors[words].astype(np.float32), source).astype(np.float64)
        return np.asarray((released @ vectors.T).argmax(axis=1), np.int64)

    return sample


def check_tokens(case: Case, count: int, source: Source) -> list[CheckRow]:
    """Bound the loss between any two words of a small vocabulary from what came out of each."""
    mechanism = case.mechanism
    vectors = small_vocabulary(case.dim)
    counts = count_words(nearest(mechanism, vectors, source), len(vectors), count)
    promise = mechanism.guarantee
    claims = promise.epsilon * distances(vectors, promise.metric) + promise.slack
    proved, claimed = worst_excess(counts, claims)
    return [
        replace(case, layer="epsilon").row(
            "loss between two words",
            f"at most {claimed:.3f}",
            f"at least {proved:.3f}",
            max(0.0, proved),
            claimed,
            proved <= claimed,
        )
    ]
