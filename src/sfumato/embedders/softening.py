"""Soft places in tokens: which tokens they take, what stands there instead, and how that is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.texts.soft import SoftPlace

TermTokens = tuple[tuple[int, ...], ...]
"""The tokens of each term that stands in a soft place."""


def soft_positions(
    offsets: NDArray[np.int64], places: Sequence[SoftPlace]
) -> tuple[NDArray[np.bool_], list[tuple[int, SoftPlace]]]:
    """Which tokens of a text stay, and at which of them each soft place is: one, whatever it stands for.

    Args:
        offsets: `[n, 2]` where in the text each token starts and ends; special tokens start where they end.
        places: those of the text.
    """
    starts, ends = offsets.reshape(-1, 2).T
    kept = np.ones(len(starts), bool)
    found = []
    for place in places:
        inside = np.flatnonzero((starts < place.end) & (ends > place.start) & (starts < ends) & kept)
        if len(inside):
            found.append((int(inside[0]), place))
            kept[inside[1:]] = False
    return kept, found


def mean_embedding(terms: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """The mean of the terms, each `[tokens, d]` input embeddings, at the mean length of their tokens.

    A shorter one, as the plain mean of different terms is, would stand out from ordinary tokens.
    """
    wide = [np.asarray(term, np.float64) for term in terms]
    mean = np.mean([term.mean(axis=0) for term in wide], axis=0)
    length = np.mean([np.linalg.norm(term, axis=1).mean() for term in wide])
    return np.asarray(mean * (length / max(float(np.linalg.norm(mean)), 1e-12)))


def spelled(ids: NDArray[np.int64], soft: NDArray[np.bool_], terms: Iterator[TermTokens]) -> bytes:
    """Tokens as bytes that no other tokens have, each soft one spelled out in numbers that no token has."""
    parts = [np.where(soft, -1, ids)]
    for each in terms:
        for term in each:
            parts += [np.array([-3]), np.array(term, np.int64)]
        parts.append(np.array([-2]))
    return np.concatenate(parts).astype("<i8").tobytes()
