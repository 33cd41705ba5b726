"""The oracle: an attacker who may have texts of his own released by the same protector, under its secret.

He knows a stored release and its sentence but for the term. He asks for a release of the sentence with
every candidate in the term's place and names the one whose release lies nearest to the stored one. Where
noise is sticky and keyed by the sentence itself, the true candidate answers with the stored release, bit for
bit; where all candidates get the same answer, asking tells nothing. With fresh noise he is the informed
attacker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import InputError
from sfumato.likelihood import ROUNDING
from sfumato.randomness import generator

# Guesses share no stream with whatever made the texts from the same seed.
_STREAM = 1 << 49

Ask = Callable[[list[str]], Any]
"""Texts of the attacker's own in, their `(n, d)` releases out."""


def name_by_asking(
    ask: Ask, stored: Any, candidates: Sequence[Sequence[str]], *, seed: int = 0
) -> NDArray[np.intp]:
    """`[n]` which of its candidate sentences each stored release is taken for; equally near ones at random.

    Args:
        ask: releases texts as the victim does.
        stored: `(n, d)` releases that are attacked.
        candidates: the sentences each may be a release of.
        seed: draws among candidates whose releases are equally near.
    """
    releases = as_vectors(stored).astype(np.float64)
    if len(releases) != len(candidates) or not all(candidates):
        raise InputError(
            f"Every release must have its candidates. Found {len(releases)} and {len(candidates)}."
        )
    # One call for all, each sentence once: an encoder may round a text otherwise in another batch.
    asked = list(dict.fromkeys(text for each in candidates for text in each))
    answers = dict(zip(asked, np.asarray(ask(asked), np.float64), strict=True))
    rng = generator(_STREAM + seed)
    named = np.zeros(len(releases), np.intp)
    for row, (release, sentences) in enumerate(zip(releases, candidates, strict=True)):
        gaps = np.linalg.norm(np.stack([answers[text] for text in sentences]) - release, axis=1)
        named[row] = rng.choice(np.flatnonzero(gaps <= gaps.min() + ROUNDING))
    return named
