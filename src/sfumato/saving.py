"""Keep a protector as a folder, and load it again; nothing secret is written."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import artifacts
from sfumato.accounting import Ledger, Secret
from sfumato.concepts.concept import Concept
from sfumato.embedders.base import Embedder
from sfumato.embedders.loader import refuse_remote
from sfumato.errors import ArtifactError
from sfumato.files import PathLike
from sfumato.mechanisms import MECHANISMS, Gaussian, Mechanism
from sfumato.protector import Protector
from sfumato.sensitivity import Background, Dense, Diagonal, Factored, Mask, Shape
from sfumato.version import __version__

KIND = "protector"


def save_protector(protector: Protector, path: PathLike) -> str:
    """Write `protector` to a folder; return its digest. The secret and the ledger stay where they are."""
    tensors = {f"mechanism.{name}": values for name, values in protector.mechanism.tensors().items()}
    background = protector.background
    if background is not None:
        tensors |= {"background.mean": background.mean, "background.covariance": background.covariance}
    embedder = protector.embedder
    config = {
        "sfumato": __version__,
        "mechanism": protector.mechanism.name,
        "parameters": protector.mechanism.parameters(),
        "guarantee": protector.guarantee.describe(),
        "embedder": embedder if isinstance(embedder, str) or embedder is None else embedder.name,
        "concepts": [concept.to_dict() for concept in protector.concepts],
        "neutral": protector.neutral,
        "normalise": protector.normalise,
        "only_matching": protector.only_matching,
        "background": None if background is None else {"rows": background.rows, "source": background.source},
        "learned": protector.learned,
    }
    return artifacts.save(path, KIND, config, {name: np.asarray(value) for name, value in tensors.items()})


def load_protector(
    path: PathLike,
    *,
    secret: Secret | None = None,
    ledger: Ledger | None = None,
    embedder: Embedder | str | None = None,
    allow_remote: Collection[str] = (),
) -> Protector:
    """Load a protector.

    Args:
        path: its folder.
        secret: for sticky noise.
        ledger: counts what is spent.
        embedder: to use in the place of the one it names.
        allow_remote: hosts to which the encoder that it names may send texts; without, one on another machine
            is refused.
    """
    artifact = artifacts.load(path, KIND)
    config, tensors = artifact.config, artifact.tensors
    named = config.get("embedder")
    if embedder is None and named is not None:
        if not isinstance(named, str):
            raise ArtifactError(f"The protector must name its encoder. Found {type(named).__name__}.")
        refuse_remote(named, allow_remote)
    try:
        protector = Protector(
            mechanism=_mechanism(config["mechanism"], dict(config["parameters"]), tensors, config["learned"]),
            embedder=config["embedder"] if embedder is None else embedder,
            concepts=tuple(Concept.from_dict(each) for each in config["concepts"]),
            neutral=int(config["neutral"]),
            background=_background(config["background"], tensors),
            normalise=bool(config["normalise"]),
            only_matching=bool(config["only_matching"]),
            learned=dict(config["learned"]),
            secret=secret,
            ledger=ledger,
        )
    except (KeyError, TypeError) as error:
        raise ArtifactError(
            f"The protector lacks {error} or holds it in another form. Save it again with this version."
        ) from None
    return protector


def _background(config: dict[str, Any] | None, tensors: dict[str, NDArray[Any]]) -> Background | None:
    if config is None:
        return None
    mean, covariance = tensors["background.mean"], tensors["background.covariance"]
    Dense(covariance)  # square, symmetric, positive definite, finite
    if mean.shape != (len(covariance),):
        raise ArtifactError(
            f"The background must be of one dimension. Found {mean.shape} and {covariance.shape}."
        )
    return Background(np.asarray(mean), np.asarray(covariance), int(config["rows"]), str(config["source"]))


def _mechanism(
    name: str, parameters: dict[str, Any], tensors: dict[str, NDArray[Any]], learned: dict[str, Any]
) -> Mechanism:
    own = {
        key.removeprefix("mechanism."): np.asarray(value, np.float64)
        for key, value in tensors.items()
        if key.startswith("mechanism.")
    }
    kind: Any = MECHANISMS.get(name)
    source = str(learned.get("source", "unknown"))
    if name == "mahalanobis":
        parameters.pop("shape")
        made = kind(**parameters, shape=_shape(own))
        made.learned_from = source
        return made  # type: ignore[no-any-return]
    if name == "suppression":
        return kind(**parameters, mask=Mask(own["mask"], source=source))  # type: ignore[no-any-return]
    if name == "gaussian":
        promise = {key: parameters.pop(key) for key in ("epsilon", "delta")}
        if promise["epsilon"] is not None:
            return Gaussian.analytic(**promise, max_norm=parameters["max_norm"])
    return kind(**parameters)  # type: ignore[no-any-return]


def _shape(tensors: dict[str, NDArray[np.float64]]) -> Shape:
    if "covariance" in tensors:
        return Dense(tensors["covariance"])
    if "factors" in tensors:
        return Factored(tensors["variances"], tensors["factors"])
    return Diagonal(tensors["variances"])
