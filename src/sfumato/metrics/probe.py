"""Probes: linear classifiers trained on released vectors, to see what can still be learned from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import InputError, VectorError
from sfumato.metrics.roc import area
from sfumato.metrics.similarity import same_space
from sfumato.numbers import finite_number, whole_number
from sfumato.types import Floats

_ROWS = 1 << 13
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Strengths that are tried, each a training row."""


def probe_accuracy(released: Any, labels: NDArray[np.bool_], *, ridge: float = 1.0) -> float:
    """Accuracy of a ridge classifier that learns a yes-or-no concept on even rows, tested on odd ones."""
    features = as_vectors(released).astype(np.float64)
    target = np.asarray(labels)
    if target.dtype != bool or target.shape != (len(features),):
        raise VectorError(
            f"Labels must be {len(features)} yes-or-no values. Found {target.dtype} {target.shape}."
        )
    train, test = slice(0, None, 2), slice(1, None, 2)
    if len({*target[train].tolist()}) < 2 or not len(target[test]):
        raise VectorError("A probe needs both answers among its training rows, and rows to be tested on.")
    mean = features[train].mean(axis=0)
    scale = features[train].std() or 1.0
    centred = (features - mean) / scale
    sign = np.where(target, 1.0, -1.0)
    offset = sign[train].mean()
    gram = centred[train].T @ centred[train] + ridge * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, centred[train].T @ (sign[train] - offset))
    guess = centred[test] @ weights + offset > 0
    return float((guess == target[test]).mean())


def probe_auc(train: Any, train_labels: Any, test: Any, test_labels: Any) -> float:
    """Area under the curve of a ridge classifier: how often it ranks a yes above a no.

    Every dimension has unit spread; the ridge is the one of `RIDGES` that errs least on training rows left
    out one at a time (in closed form: Allen, 1974).
    """
    learned, tested = same_space(train, test, "training and test vectors")
    known, wanted = np.asarray(train_labels), np.asarray(test_labels)
    for labels, rows in ((known, learned), (wanted, tested)):
        if labels.dtype != bool or labels.shape != (len(rows),) or labels.all() or not labels.any():
            raise InputError(
                f"Labels must be {len(rows)} yes-or-no values, with both among them. "
                f"Found {labels.dtype} {labels.shape}."
            )
    before, after = learned.astype(np.float64), tested.astype(np.float64)
    mean, spread = before.mean(axis=0), before.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    scores = ((after - mean) / scale) @ _ridge((before - mean) / scale, np.where(known, 1.0, -1.0))
    return area(scores, wanted)


def _ridge(features: Floats, sign: Floats) -> Floats:
    """Weights of the ridge that errs least on rows left out."""
    left, values, right = np.linalg.svd(features, full_matrices=False)
    target = sign - sign.mean()
    shared = left.T @ target

    def error(ridge: float) -> float:
        kept = values**2 / (values**2 + ridge * len(sign))
        leverage = (left**2) @ kept + 1.0 / len(sign)
        return float((((target - left @ (kept * shared)) / np.maximum(1.0 - leverage, 1e-9)) ** 2).mean())

    best = min(RIDGES, key=error) * len(sign)
    return np.asarray(right.T @ (values / (values**2 + best) * shared))


@dataclass(frozen=True, slots=True, eq=False)
class Classification:
    """How well a logistic regression tells classes apart in rows it has not seen."""

    correct: Floats
    """`[n]` 1 where a test row was put in its class, else 0."""
    macro_f1: float
    """Mean over classes of the harmonic mean of precision and recall."""
    majority: float
    """Accuracy of always naming the class most frequent in training."""

    @property
    def accuracy(self) -> float:
        """Share of test rows put in their class."""
        return float(self.correct.mean())


def classify(
    train: Any, train_labels: Any, test: Any, test_labels: Any, *, c: float = 1.0, steps: int = 500
) -> Classification:
    """Train a multinomial logistic regression on one set of vectors and test it on another.

    Args:
        train: `(n, d)` vectors to learn from.
        train_labels: `[n]` their classes.
        test: `(m, d)` vectors to be classified.
        test_labels: `[m]` their classes.
        c: weight of the data beside 1/2 ||W||^2, the C of scikit-learn; the intercept is free.
        steps: most steps of L-BFGS.
    """
    learned, tested = same_space(train, test, "training and test vectors")
    given, wanted = np.asarray(train_labels), np.asarray(test_labels)
    if given.shape != (len(learned),) or wanted.shape != (len(tested),) or not len(tested):
        raise InputError(
            f"Labels must be one a row, {len(learned)} and {len(tested)}. "
            f"Found shapes {given.shape} and {wanted.shape}."
        )
    classes, target = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"A classifier must have two classes to learn. Found {len(classes)}.")
    weights = _logistic(
        learned,
        target,
        len(classes),
        finite_number(c, "c", 1e-9, 1e9),
        whole_number(steps, "steps", 1, 10**6),
    )
    guess = np.concatenate(
        [
            _logits(tested[start : start + _ROWS], weights).argmax(axis=1)
            for start in range(0, len(tested), _ROWS)
        ]
    )
    named = classes[guess]
    frequent = classes[np.bincount(target).argmax()]
    return Classification(
        (named == wanted).astype(np.float64), _macro_f1(named, wanted), float((wanted == frequent).mean())
    )


def _logits(rows: Any, weights: Floats) -> Floats:
    return np.asarray(rows.astype(np.float64) @ weights[:-1] + weights[-1])


def _logistic(features: Any, target: NDArray[np.intp], classes: int, c: float, steps: int) -> Floats:
    """`[d + 1, classes]` weights and, in the last row, intercepts."""
    from scipy.optimize import minimize

    shape = (features.shape[1] + 1, classes)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        total, slope = 0.5 * float((weights[:-1] ** 2).sum()), weights.copy()
        slope[-1] = 0.0
        for start in range(0, len(features), _ROWS):
            rows, own = features[start : start + _ROWS].astype(np.float64), target[start : start + _ROWS]
            logits = _logits(rows, weights)
            logits -= logits.max(axis=1, keepdims=True)
            chances = np.exp(logits)
            sums = chances.sum(axis=1, keepdims=True)
            each = np.arange(len(own))
            total -= c * float((logits[each, own] - np.log(sums[:, 0])).sum())
            chances /= sums
            chances[each, own] -= 1.0
            slope[:-1] += c * (rows.T @ chances)
            slope[-1] += c * chances.sum(axis=0)
        return total, slope.ravel()

    found = minimize(
        loss,
        np.zeros(shape[0] * classes),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "gtol": 1e-5 * max(1.0, c), "ftol": 1e-12},
    )
    return np.asarray(found.x).reshape(shape)


def _macro_f1(named: NDArray[Any], wanted: NDArray[Any]) -> float:
    """Over the classes that were named or wanted, as scikit-learn counts them."""
    scores = []
    for label in np.unique(np.concatenate([named, wanted])):
        right = int(((named == label) & (wanted == label)).sum())
        scores.append(2 * right / int((named == label).sum() + (wanted == label).sum()))
    return float(np.mean(scores))
