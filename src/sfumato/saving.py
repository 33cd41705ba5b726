"""Keep a protector as a folder, and load it again; nothing secret is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import artifacts
from sfumato.accounting import Ledger, Secret
from sfumato.concepts.concept import Concept
from sfumato.concepts.texts.neutral import MOST_COPIES
from sfumato.embedders.base import Embedder
from sfumato.embedders.loader import refuse_remote
from sfumato.errors import ArtifactError
from sfumato.files import PathLike
from sfumato.learned import Learned
from sfumato.mechanisms import MECHANISMS, Mechanism
from sfumato.mechanisms.base import LARGEST_DIM
from sfumato.numbers import finite_number, whole_number
from sfumato.protector import Protector
from sfumato.release import Release
from sfumato.sensitivity import Background, Dense, Eraser
from sfumato.version import __version__

KIND = "protector"
_LARGEST = (1 << 30) + (1 << 26)
"""Bytes of tensors: two matrices of 8192 dimensions."""
_MOST_CONCEPTS = 256
_LONGEST_NAME = 4096


def save_protector(protector: Protector, path: PathLike) -> str:
    """Write `protector` to a folder; return its digest. The secret and the ledger stay where they are."""
    config, tensors = pack_release(protector.as_release())
    embedder = protector.embedder
    config |= {
        "sfumato": __version__,
        "guarantee": protector.guarantee.describe(),
        "embedder": embedder if isinstance(embedder, str) or embedder is None else embedder.name,
        "concepts": [concept.to_dict() for concept in protector.concepts],
        "neutral": protector.neutral,
        "neutral_by": protector.neutral_by,
        "only_matching": protector.only_matching,
        "learned": protector.learned.to_dict(),
    }
    return artifacts.save(path, KIND, config, tensors)


def pack_release(release: Release) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What has to be saved to make a release again: settings for `config.json`, and arrays."""
    mechanism, background = release.mechanism, release.background
    tensors = {f"mechanism.{name}": values for name, values in mechanism.tensors().items()}
    if background is not None:
        tensors |= {"background.mean": background.mean, "background.covariance": background.covariance}
    config = {
        "mechanism": mechanism.name,
        "parameters": mechanism.parameters(),
        "normalise": release.normalise,
        "background": None if background is None else {"rows": background.rows, "source": background.source},
    }
    if (eraser := release.eraser) is not None:
        tensors |= {"eraser.read": eraser.read, "eraser.taken": eraser.taken}
        config["eraser"] = {"presence": eraser.presence, "missed": eraser.missed, "source": eraser.source}
    return config, {name: np.asarray(value) for name, value in tensors.items()}


def unpack_release(config: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], source: str) -> Release:
    """Make a packed release again; `source` is what kind of text its shape was learned from."""
    _refuse_others(config, {"mechanism": str, "parameters": dict, "normalise": bool})
    _refuse_others(config, {"background": (dict, NoneType)})
    mechanism = _mechanism(config, tensors, source)
    eraser = _eraser(config.get("eraser"), tensors)
    dims = {mechanism.dim}
    if eraser is not None:
        dims.add(eraser.dim)
    made = Release(mechanism, _background(config["background"], tensors), config["normalise"], eraser)
    wanted = {f"mechanism.{name}" for name in mechanism.tensors()}
    if eraser is not None:
        wanted |= {"eraser.read", "eraser.taken"}
    if made.background is not None:
        wanted |= {"background.mean", "background.covariance"}
        dims.add(made.background.dim)
    if len(dims - {None}) > 1:
        raise _misfit(dims)
    if wanted != set(tensors):
        raise _refused("it holds other tensors than its mechanism, its background and its eraser")
    return made


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
    artifact = artifacts.load(path, KIND, largest=_LARGEST)
    config, tensors = artifact.config, artifact.tensors
    _refuse_odd(config)
    if embedder is None and config["embedder"] is not None:
        refuse_remote(config["embedder"], allow_remote)
    learned = Learned.of(config["learned"])
    try:
        release = unpack_release(config, tensors, learned.source or "unknown")
        protector = Protector(
            mechanism=release.mechanism,
            embedder=config["embedder"] if embedder is None else embedder,
            concepts=tuple(Concept.from_dict(each) for each in config["concepts"]),
            neutral=config["neutral"],
            neutral_by=config.get("neutral_by", "copies"),  # which is all that older versions had
            background=release.background,
            normalise=release.normalise,
            only_matching=config["only_matching"],
            learned=learned,
            eraser=release.eraser,
            secret=secret,
            ledger=ledger,
        )
    except (KeyError, TypeError) as error:
        raise ArtifactError(
            f"The protector lacks {error} or holds it in another form. Save it again with this version."
        ) from None
    dims = {release.mechanism.dim, learned.dim}
    dims |= {part.dim for part in (release.background, release.eraser) if part is not None}
    if len(dims - {None}) > 1:
        raise _misfit(dims)
    return protector


def protector_digest(path: PathLike) -> str:
    """The SHA-256 of a saved protector."""
    return artifacts.load(path, KIND, largest=_LARGEST).digest


def _refuse_odd(config: dict[str, Any]) -> None:
    """Refuse settings that no protector has; anyone can seal a folder, so the seal vouches for none."""
    _refuse_others(
        config, {"embedder": (str, NoneType), "concepts": list, "only_matching": bool, "learned": dict}
    )
    whole_number(config.get("neutral"), "neutral", 0, MOST_COPIES)
    if len(config["concepts"]) > _MOST_CONCEPTS or len(config["embedder"] or "") > _LONGEST_NAME:
        raise _refused(f"it has over {_MOST_CONCEPTS} concepts, or an encoder's name without end")
    _refuse_odd_record(config["learned"])


def _refuse_others(config: Mapping[str, Any], kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    for name, kind in kinds.items():
        if name not in config or not isinstance(config[name], kind):
            raise _refused(f"`{name}` is missing or of another kind")


def _refuse_odd_record(learned: dict[str, Any]) -> None:
    if learned.get("dim") is not None:
        whole_number(learned["dim"], "dim", 1, LARGEST_DIM)
    if not all(isinstance(learned.get(name, ""), str | NoneType) for name in ("model_id", "source")):
        raise _refused("`learned` holds names that are no text")
    distances = learned.get("substitution_distances", {"median": 0.0, "p95": 0.0, "max": 0.0})
    if not isinstance(distances, dict):
        raise _refused("`substitution_distances` is of another kind")
    for name in ("median", "p95", "max"):
        finite_number(distances.get(name), name, 0.0, 1e12)


def _misfit(dims: Collection[int | None]) -> ArtifactError:
    return _refused(f"its parts have different dimensions: {sorted(filter(None, dims))}")


def _refused(reason: str) -> ArtifactError:
    return ArtifactError(f"The protector is refused: {reason}. Save it again with this version.")


def _background(config: Mapping[str, Any] | None, tensors: Mapping[str, NDArray[Any]]) -> Background | None:
    if config is None:
        return None
    whole_number(config.get("rows"), "rows", 1, 1 << 62)
    if not isinstance(config.get("source"), str):
        raise _refused("`background` does not say where its text came from")
    mean, covariance = tensors["background.mean"], tensors["background.covariance"]
    Dense(covariance)  # square, symmetric, positive definite, finite
    if mean.shape != (len(covariance),):
        raise ArtifactError(
            f"The background must be of one dimension. Found {mean.shape} and {covariance.shape}."
        )
    return Background(np.asarray(mean), np.asarray(covariance), int(config["rows"]), str(config["source"]))


def _eraser(config: Any, tensors: Mapping[str, NDArray[Any]]) -> Eraser | None:
    if config is None:
        return None
    if not isinstance(config, dict) or not isinstance(config.get("source"), str):
        raise _refused("`eraser` does not say where its text came from")
    read, taken = (np.asarray(tensors[f"eraser.{name}"], np.float64) for name in ("read", "taken"))
    return Eraser(read, taken, config.get("presence", 0), config["source"], config.get("missed", 0))


def _mechanism(config: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], source: str) -> Mechanism:
    own = {
        key.removeprefix("mechanism."): np.asarray(value, np.float64)
        for key, value in tensors.items()
        if key.startswith("mechanism.")
    }
    return MECHANISMS.get(config["mechanism"]).from_saved(config["parameters"], own, source=source)
