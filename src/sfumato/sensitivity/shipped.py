"""Saved backgrounds: those that come with the package, and those made for a model of one's own.

They hold the mean and covariance of made-up sentences under one encoder each; `benchmarks/background.py`
makes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato import artifacts
from sfumato.errors import ArtifactError, ParameterError
from sfumato.files import PathLike
from sfumato.sensitivity.background import Background
from sfumato.sensitivity.shapes import Dense
from sfumato.types import Floats

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


def read_background(folder: PathLike, model_id: str) -> Background:
    """Return the background in a folder, or refuse it: it has to be of this very encoder."""
    artifact = artifacts.load(folder, KIND)
    if artifact.config.get("model_id") != model_id:
        raise ParameterError(
            f"The background in `{folder}` must be of the encoder in use. It is of another: make it again."
        )
    return _checked(artifact)


def save_background(
    folder: PathLike, background: Background, model_id: str, said: dict[str, Any] | None = None
) -> str:
    """Write a background for this encoder in float32, half of its symmetric matrix, and give its digest."""
    config = {"model_id": model_id, "rows": background.rows, "source": background.source, **(said or {})}
    corner = np.triu_indices(background.dim)
    tensors = {
        "mean": background.mean.astype(np.float32),
        "triangle": background.covariance[corner].astype(np.float32),
    }
    return artifacts.save(folder, KIND, config, tensors)


def _checked(artifact: artifacts.Artifact) -> Background:
    """Refuse what is no covariance of made-up text with its mean."""
    try:
        mean = np.array(artifact.tensors["mean"], np.float64)
        covariance = _covariance(artifact.tensors, mean.size)
        rows, source = artifact.config["rows"], artifact.config["source"]
    except KeyError as error:
        raise ArtifactError(
            f"The background lacks {error}. Make it again, or install the package again."
        ) from None
    shape = Dense(covariance)  # square, symmetric, positive definite, finite
    if mean.shape != (shape.dim,) or type(rows) is not int or rows <= shape.dim or source != SOURCE:
        raise ArtifactError(
            f"A background must be a mean and a covariance of one dimension, from enough {SOURCE} text. "
            f"Found {mean.shape}, {covariance.shape}, {rows!r:.20} rows of {source!r:.20}. "
            "Make it again, or install the package again."
        )
    return Background(mean, covariance, rows, source)


def _covariance(tensors: dict[str, Any], dim: int) -> Floats:
    """The whole matrix, from itself or from the half of it that is kept."""
    if "triangle" not in tensors:
        return np.array(tensors["covariance"], np.float64)
    half = np.array(tensors["triangle"], np.float64)
    if half.shape != (dim * (dim + 1) // 2,):
        raise ArtifactError(f"Half a covariance of {dim} dimensions has another length. Found {half.shape}.")
    whole = np.zeros((dim, dim))
    whole[np.triu_indices(dim)] = half
    return np.asarray(whole + np.triu(whole, 1).T)
