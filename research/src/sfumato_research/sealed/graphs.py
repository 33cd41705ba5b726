"""The attack on what rows share: a graph of rows and tags, its shape compared with a public corpus's.

Rows are told by the shape of the graph around them; a spectral embedding is then aligned to the public one,
first by what the shapes say, then by nearest neighbours, without a known pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.known_texts.clouds import mutual_best, orthogonal
from sfumato.attacks.known_texts.structure import spectrum
from sfumato.randomness import generator
from sfumato.types import Floats, Rows, Vectors

TREES, DEPTH, NEAR, STEPS = 60, 14, 15, 5
ENOUGH = 100
"""Known texts from which on a row's vector is regressed from where it lies in the graph."""


@dataclass(frozen=True, slots=True, eq=False)
class PublicGraph:
    """A public corpus in a graph of the attacker's own making."""

    graph: Any
    """`[n, tags]` sparse: which row has which tag."""
    sources: Rows
    vectors: Vectors

    def attack(self, graph: Any, candidates: Vectors, known: Rows | None = None) -> GraphAttack:
        """Rows of another graph compared with the public ones.

        Args:
            graph: `[m, tags]` of the attacked rows.
            candidates: `[c, d]` vectors of the texts that they might be; those of the rows themselves first.
            known: `[k]` attacked rows whose texts the attacker knows.
        """
        mine, theirs = spectrum(graph), spectrum(self.graph)
        lead = _regressed(self.vectors, theirs, candidates)
        if known is not None and len(known) >= ENOUGH:
            guessed = _regressed(mine[known], candidates[known], mine)
            beside = np.concatenate([self.vectors, candidates[known]])
            return GraphAttack(_unit(guessed) @ beside.T, _ranks(_unit(guessed) @ candidates.T))
        if known is None:
            turn = _aligned(mine, theirs, _by_shape(graph, self), self.sources)
        else:
            turn = orthogonal(mine[known], lead[known])
        moved = _unit(mine @ turn)
        return GraphAttack(moved @ theirs.T, _ranks(moved @ _unit(lead).T))


@dataclass(frozen=True, slots=True, eq=False)
class GraphAttack:
    """What it said of each row."""

    nearness: Floats
    """`[m, p]` to each public row, and to each known one after those."""
    ranks: Floats
    """`[m]` share of the candidates that came before the true text."""

    def sources(self, of_public: Rows) -> Rows:
        """`[m]` the source that most of the nearest rows have."""
        return voted(self.nearness, of_public)


def shape_features(graph: Any) -> Floats:
    """`[n, f]` ranks of what the graph looks like around each row: sizes, degrees and triangles."""
    from scipy.sparse import diags_array
    from scipy.stats import rankdata

    sizes = np.asarray(graph.sum(0)).ravel()
    joined = (graph @ graph.T).tocsr()
    joined.setdiag(0)
    joined.eliminate_zeros()
    near = (joined > 0).astype(np.float64)
    degree = np.maximum(np.asarray(near.sum(1)).ravel(), 1)
    triangles = np.asarray((joined @ near).multiply(near).sum(1)).ravel() / degree**2
    shares = [np.asarray((joined >= least).sum(1)).ravel() / degree for least in (2, 3)]
    tags = np.asarray(graph.sum(1)).ravel()
    own = [graph @ sizes**power / np.maximum(tags, 1) for power in (1, 2)]
    now = np.column_stack(
        [np.log1p(np.stack(own, axis=1)), np.log1p(degree), np.log1p(tags), *shares, triangles]
    )
    step = diags_array(1 / np.maximum(np.asarray(joined.sum(1)).ravel(), 1)) @ joined
    found = [now]
    for _ in range(4):
        mean = step @ now
        found += [mean, np.sqrt(np.maximum(step @ now**2 - mean**2, 0))]
        now = mean
    return np.asarray(rankdata(np.column_stack(found), axis=0) / graph.shape[0], np.float64)


def _by_shape(graph: Any, public: PublicGraph) -> Floats:
    """`[m, s]` how likely each source is, by the shape alone."""
    forest = trained(shape_features(public.graph), public.sources)
    found = np.zeros((graph.shape[0], int(public.sources.max()) + 1))
    found[:, forest.classes_] = forest.predict_proba(shape_features(graph))
    return found


def trained(features: Any, labels: Rows, seed: int = 0) -> Any:
    """A forest of small trees."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(TREES, max_depth=DEPTH, min_samples_leaf=5, random_state=seed, n_jobs=1)
    return model.fit(features, labels)


def _aligned(mine: Floats, theirs: Floats, guessed: Floats, sources: Rows) -> Floats:
    """A rotation of one embedding onto the other."""
    truth = np.eye(guessed.shape[1])[sources]
    weights = np.sqrt(truth.sum(axis=0))[:, None]
    here = (guessed / np.maximum(guessed.sum(axis=0), 1e-9)).T @ mine
    there = (truth / np.maximum(truth.sum(axis=0), 1)).T @ theirs
    turn = orthogonal(here * weights, there * weights)
    rng = generator(0)
    for _ in range(STEPS):
        some = rng.choice(len(mine), min(3000, len(mine)), replace=False)
        scores = mine[some] @ turn @ theirs.T + 0.2 * np.log(guessed[some] @ truth.T + 1e-3)
        both, found = mutual_best(scores)
        if len(both) < mine.shape[1]:
            break
        turn = orthogonal(mine[some[both]], theirs[found])
    return turn


def _regressed(known: Any, values: Any, asked: Any) -> Floats:
    """The values that rows like these would have, by ridge regression."""
    gram = known.T @ known + 1e-2 * len(known) / known.shape[1] * np.eye(known.shape[1])
    return np.asarray(asked @ np.linalg.solve(gram, known.T @ values))


def voted(scores: Floats | Vectors, sources: Rows) -> Rows:
    """`[m]` the source that most of the nearest rows have."""
    near = np.argpartition(-scores, NEAR, axis=1)[:, :NEAR]
    votes = np.zeros((len(scores), int(sources.max()) + 1))
    for column in near.T:
        votes[np.arange(len(scores)), sources[column]] += 1
    return np.asarray(votes.argmax(axis=1))


def _ranks(scores: Floats) -> Floats:
    """`[m]` share of the candidates that are nearer than the true one, ties counted half."""
    true = np.take_along_axis(scores, np.arange(len(scores))[:, None], axis=1)
    return np.asarray(
        ((scores > true).sum(axis=1) + 0.5 * ((scores == true).sum(axis=1) - 1)) / scores.shape[1]
    )


def _unit(array: Any) -> NDArray[Any]:
    return np.asarray(array / np.maximum(np.linalg.norm(array, axis=1, keepdims=True), 1e-12))
