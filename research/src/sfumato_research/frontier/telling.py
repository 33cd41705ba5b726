"""Questions that a yes or no answers: is the concept there, is this text in the collection, which is it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.terms.perceptron import Schedule, train
from sfumato.attacks.terms.training_set import single_threads
from sfumato.concepts.texts.duplicates import split
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator
from sfumato.trials.making import make_attack
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget
from sfumato.types import Floats, Rows, Vectors

LINEAR, NETWORK = Schedule((), 30, 512, 0.0, 1e-2, "white"), Schedule((256,), 30, 512, 0.3, 1e-2, "white")
_MEMBERS = 300
KNOWN = 1000
_ASKED = 300


def presence_rows(pool: Split) -> tuple[Rows, NDArray[np.bool_]]:
    """Rows of the pool with a labelled term, and those without one."""
    holding = set(pool.rows.tolist())
    labelled = pool.concept.find_all(pool.texts, pool.spans)
    rows = [row for row, spans in enumerate(labelled) if row in holding or not spans]
    return np.array(rows, np.intp), np.array([row in holding for row in rows], bool)


def presence_scores(
    vectors: Vectors, holds: NDArray[np.bool_], groups: NDArray[np.int64], seed: int, device: str
) -> tuple[Rows, Floats, Floats]:
    """Which rows are tested, and how sure a linear classifier and a network are of each."""
    learn, test = split(groups, 0.5, generator(seed))
    labels = holds[:, None]
    known = vectors[learn]
    if device != "cpu":
        import torch

        known = torch.from_numpy(known).to(device)
    scores = []
    for schedule in (LINEAR, NETWORK):
        with single_threads():
            fitted = train(known, labels[learn], lambda rows: rows, schedule, seed, lambda epoch: None)
        scores.append(fitted.logits(vectors[test])[:, 0].astype(np.float64))
    return test.astype(np.intp), scores[0], scores[1]


def linked(pool: Split, target: DefenceTarget, seed: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Positions of attacked rows, and whether each release is named among a thousand known texts."""
    order = generator(seed).permutation(len(pool.test))[:_ASKED]
    asked = pool.attacked[order]
    others = generator(seed).permutation(np.setdiff1d(np.arange(len(pool.texts)), asked))
    known = np.concatenate([asked, others[: KNOWN - len(asked)]])
    texts = [pool.texts[row] for row in known]
    linker = make_attack("linkage", {"seed": seed}, {}).fit(
        texts, target.entering[known], target.defence.victim
    )
    ranks = linker.rank_of(target.documents()[asked], np.arange(len(asked)))  # type: ignore[attr-defined]
    return order, np.asarray(ranks) == 0


def membership_scores(pool: Split, target: DefenceTarget, seed: int) -> tuple[NDArray[np.bool_], Floats]:
    """Known texts, half of which are in the collection, and how near the nearest release is to each."""
    order = generator(seed + 1).permutation(pool.attacked)
    half = min(_MEMBERS, len(order) // 2)
    inside, outside = order[:half], order[half : 2 * half]
    stored = np.setdiff1d(np.arange(len(pool.texts)), outside)
    asked = np.concatenate([inside, outside])
    expected = unit_rows(target.defence.through.expected(target.entering[asked]))
    released = unit_rows(target.documents()[stored])
    near = (expected @ released.T).max(axis=1)
    return np.isin(asked, inside), near
