"""A linear probe: the simplest attacker there is, trained on released vectors and tested on others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import VectorError


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
