"""Backgrounds that come with the package, for users who have little ordinary text of their own.

They hold the mean and covariance of made-up sentences under one encoder each; `benchmarks/background.py`
makes them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato import artifacts
from sfumato.errors import ArtifactError
from sfumato.sensitivity.background import Background
from sfumato.sensitivity.shapes import Dense

KIND = "background"
SOURCE = "synthetic"
FOLDER = Path(__file__).parent / "backgrounds"


def shipped_background(model_id: str) -> Background | None:
    """Return the background made with exactly this encoder, or None."""
    for path in sorted(FOLDER.glob("[a-z]*")):
        artifact = artifacts.load(path, KIND)
        if artifact.config.get("model_id") == model_id:
            return _checked(artifact)
    return None


def _checked(artifact: artifacts.Artifact) -> Background:
    """Refuse what is no covariance of made-up text with its mean."""
    try:
        mean = np.array(artifact.tensors["mean"], np.float64)
        covariance = np.array(artifact.tensors["covariance"], np.float64)
        rows, source = artifact.config["rows"], artifact.config["source"]
    except KeyError as error:
        raise ArtifactError(f"The background lacks {error}. Install the package again.") from None
    shape = Dense(covariance)  # square, symmetric, positive definite, finite
    if mean.shape != (shape.dim,) or type(rows) is not int or rows <= shape.dim or source != SOURCE:
        raise ArtifactError(
            f"A background must be a mean and a covariance of one dimension, from enough {SOURCE} text. "
            f"Found {mean.shape}, {covariance.shape}, {rows!r:.20} rows of {source!r:.20}. "
            "Install the package again."
        )
    return Background(mean, covariance, rows, source)
