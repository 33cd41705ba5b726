"""Noise: any release of the library, a mechanism's or a protector's, as the vector that the store ranks.

The noise of a row is sticky, keyed by the collection and by what was embedded, so that rows which are sealed
again, or once more, show nothing more. A query goes without noise: what noise would take from it has to be
made up for by far more candidates, and the store sees its vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Laplace, Mechanism
from sfumato.numbers import finite_number
from sfumato.protector import Protector
from sfumato.reference import identity
from sfumato.release import Release
from sfumato.sealing.crypto.packing import pack
from sfumato.sealing.handles.ranked import RankedHandle, at_unit_length
from sfumato.types import Floats, Vectors

NOISE_RATIO = 1.4
_LEAST, _MOST = 0.05, 100.0


class NoiseHandle(RankedHandle):
    """The store ranks rows by a released vector of each."""

    name = "noise"
    takes = ("release",)
    sees = (
        "how many rows there are, a released vector of each, each query's vector as it is, and which rows a "
        "query finds"
    )

    def __init__(self, client: Any, given: Mapping[str, Any]) -> None:
        super().__init__(client, given)
        self._given = given.get("release")
        self._ratio: Protector | None = None

    @classmethod
    def options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """A noise ratio, or which release it is."""
        release, shared = given.get("release"), super().options(given)
        if release is None or isinstance(release, int | float):
            ratio = NOISE_RATIO if release is None else release
            return shared | {"noise_ratio": finite_number(ratio, "release", _LEAST, _MOST)}
        return shared | {"release": identity(_as_protector(release))}

    def dim(self, dim: int) -> int:
        """That of a release."""
        return self._equipped(dim).as_release().output_dim(dim)

    def shown(self, texts: Sequence[str], vectors: Vectors) -> Vectors:
        """Rows as they are released."""
        protector = self._equipped(vectors.shape[1])
        if protector.embeds_neutral and protector.embedder is not None:
            return at_unit_length(protector.embed(list(texts)))
        return at_unit_length(protector.protect(_settled(vectors), units=list(texts)))

    def asked(self, vectors: Vectors) -> Vectors:
        """What releases of queries would be without their noise."""
        release = self._equipped(vectors.shape[1]).as_release()
        return at_unit_length(np.asarray(release.expected(_settled(vectors)), np.float32))

    def _equipped(self, dim: int) -> Protector:
        """The release, with sticky noise of this collection where it has none of its own."""
        if "noise_ratio" not in self._client.state.settings.options:
            return self._named
        if self._ratio is None:
            ratio = self._client.state.settings.options["noise_ratio"]
            self._ratio = self._keyed(Protector(Laplace.from_noise_ratio(ratio, dim=dim)))
        return self._ratio

    @cached_property
    def _named(self) -> Protector:
        """The release that was given, which must be the one that the rows were released by."""
        wanted = self._client.state.settings.options["release"]
        if self._given is None or isinstance(self._given, int | float):
            raise InputError("The rows were sealed with a release of your own. Give the same `release`.")
        protector = _as_protector(self._given)
        if identity(protector) != wanted:
            raise InputError(
                f"The `release` must be the one that the rows were sealed with, {wanted[:12]}. "
                f"Found {identity(protector)[:12]}."
            )
        if protector.embedder is None and protector.embeds_neutral:
            protector = replace(protector, embedder=self._client.encoder())
        return self._keyed(protector)

    def _keyed(self, protector: Protector) -> Protector:
        if protector.secret is not None:
            return protector
        secret, settings = self._client.noise_secret(), self._client.state.settings
        return replace(
            protector, secret=secret, tenant=self._client.state.tenant, collection=settings.collection
        )


def _as_protector(release: Any) -> Protector:
    if isinstance(release, Protector):
        return release
    if isinstance(release, Release):
        return Protector(
            release.mechanism,
            background=release.background,
            normalise=release.normalise,
            eraser=release.eraser,
        )
    if isinstance(release, Mechanism):
        return Protector(release)
    raise ParameterError(
        "`release` must be a noise ratio, a mechanism, a release or a protector. "
        f"Found {type(release).__name__}."
    )


def _settled(vectors: Vectors) -> Floats:
    """Directions as their sealed copies give them back, to the last bit: one row, one noise, whenever."""
    codes = np.array([np.frombuffer(each[4:], np.int8) for each in pack(at_unit_length(vectors), "int8")])
    wide = codes.astype(np.float64).reshape(len(codes), vectors.shape[1])
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))
