"""Denoising from noisy vectors alone: many releases, not one clean vector of theirs (the idea of DAEI).

What all releases have in common tells what each was. The attacker knows the noise's covariance, learns from
the very releases that he reads where texts lie (`shrinkage`, `clusters`), keeps the denoiser whose error by
Stein's risk estimate is least, and hands what it gives to a reader of clean vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Inverter, OnStep, Recovered, checked
from sfumato.attacks.huggingface.library import Library, unit
from sfumato.attacks.kept_reader import pack_reader, unpack_reader
from sfumato.attacks.known_texts.clouds import LEAST
from sfumato.attacks.known_texts.clusters import choose
from sfumato.attacks.known_texts.leastsquares import LinearMap, adds_alike, moments
from sfumato.attacks.known_texts.shrinkage import Whitening
from sfumato.errors import ArtifactError, InputError
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.release import Release, Releasing, as_release
from sfumato.types import Floats, Vectors

_CONTROL_ROWS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """How a release becomes a vector with noise on top, all of it public."""

    noise: Floats | None
    """`(d, d)` covariance of that noise; None for none."""
    length: float | None = None
    """What releases of unit length are stretched to; they lost theirs, and this is its mean."""
    undo: LinearMap | None = None
    """Takes the public filter off."""

    @classmethod
    def of(cls, release: Release | None, clean: Vectors, seed: int) -> tuple[Observed, Vectors]:
        """From what the attacker knows and public vectors; and what those look like without noise."""
        if release is None or not release.mechanism.noisy:
            return cls(None), clean if release is None else release.expected(clean).astype(np.float32)
        dim = clean.shape[1]
        if not adds_alike(release, dim):
            expected, spread = moments(release, clean, seed)
            return cls(spread), expected.astype(np.float32)
        noise, matrix = release.mechanism.noise_covariance(dim), release.linear
        before = replace(release, normalise=False).expected(clean)
        seen = noise if matrix is None else matrix @ noise @ matrix.T
        size = float(np.sqrt(np.square(before).sum(axis=1).mean() + np.trace(seen)))
        length = size if release.normalise else None
        if matrix is None or release.eraser is not None or release.background is None:
            return cls(seen, length), before.astype(np.float32)
        mean = release.background.mean
        return cls(
            noise, length, LinearMap(np.asarray(np.linalg.inv(matrix).T, np.float64), mean, mean)
        ), clean

    def rows(self, released: Floats) -> Floats:
        """Vectors with noise on top."""
        rows = released if self.length is None else released * self.length
        return rows if self.undo is None else self.undo(rows)


@dataclass(frozen=True, kw_only=True)
class Denoising(Attack):
    """Takes noise off releases by what they have in common, and reads them as clean vectors are read.

    `fit` takes public texts and their clean vectors, for the reader alone; the denoiser is learned from what
    `recover` is given.

    Args:
        reader: reads clean vectors: a fitted attack, an attack or its name to be fitted to the public texts,
            or "library" for the nearest public text.
        most: releases that the denoiser is learned from.
    """

    reader: Inverter | Attack | str = "library"
    most: int = 20_000
    seed: int = 0

    name: ClassVar[str] = "denoising"
    paper: ClassVar[str] = "the idea of DAEI (2026): Stein's unbiased risk estimate (1981)"
    summary: ClassVar[str] = "many noisy releases, no clean one: takes the noise off, then reads"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"
    public: ClassVar[bool] = True
    together: ClassVar[bool] = True
    wants: ClassVar[tuple[str, ...]] = ("victim",)

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.most, "most", LEAST, 10**6)
        whole_number(self.seed, "seed", 0, 2**63 - 1)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> DenoisingReader:
        """Fit the reader to public texts, and keep what is known of the noise."""
        known, clean = checked(texts, vectors)
        if not known:
            raise InputError("Denoising needs public texts for its reader. Found none.")
        observed, seen = Observed.of(as_release(mechanism), clean, self.seed)
        made = DenoisingReader(observed, self._reader(known, seen, on_step), self.most, self.seed)
        made.control = made.reader.control or _own_text(made.reader, known, seen)
        if on_step is not None:
            on_step("public texts", 1.0)
        return made

    def _reader(self, known: list[str], seen: Vectors, on_step: OnStep | None) -> Inverter:
        if isinstance(self.reader, Inverter):
            return self.reader
        attack: Any = self.reader
        if isinstance(attack, str):
            if attack == "library":
                return Library(known, seen)
            from sfumato.attacks import ATTACKS

            kind: Any = ATTACKS.get(attack)
            attack = kind()
        fitted: Inverter = attack.fit(known, seen, on_step=on_step)
        return fitted


def _own_text(reader: Inverter, known: list[str], seen: Vectors) -> Control:
    """How often a public text is read from its own clean vector."""
    found = reader.recover(seen[:_CONTROL_ROWS]).rows
    right = [row == text for row, text in zip(found, known[:_CONTROL_ROWS], strict=True)]
    return Control("top-1", float(np.mean(right)), len(right))


class DenoisingReader(Inverter):
    """What is known of the noise, and what reads vectors once it is off.

    Args:
        observed: how a release becomes a vector with noise on top.
        reader: what reads.
        most: see `Denoising`.
        seed: of rows that are drawn and clusters' first centres.
    """

    kind = "denoising-attack"

    def __init__(self, observed: Observed, reader: Inverter, most: int = 20_000, seed: int = 0) -> None:
        self.observed, self.reader, self.most, self.seed = observed, reader, most, seed

    def denoise(self, vectors: Any) -> tuple[Floats, dict[str, Any]]:
        """Vectors without noise as far as they can tell, and what took it off.

        `risk` is the estimated squared error over that of the rows as they were; 1 says nothing was gained.
        """
        rows = self.observed.rows(as_vectors(vectors).astype(np.float64))
        noise = self.observed.noise
        if noise is None:
            return rows, {"denoiser": "none", "risk": 1.0}
        if rows.shape[1] != len(noise):
            raise InputError(f"Releases have dimension {len(noise)} here. Found {rows.shape[1]}.")
        if len(rows) < LEAST:
            raise InputError(f"Denoising learns from {LEAST} releases or more. Found {len(rows)}.")
        order = generator(self.seed).permutation(len(rows))[: self.most]
        turn = Whitening.of(rows[order], noise)
        name, denoiser, risk = choose(turn.white(rows[order]), self.seed)
        return turn.denoised(rows, denoiser), {"denoiser": name, "risk": risk}

    def recover(self, vectors: Any) -> Recovered:
        """Take the noise off all vectors together and let the reader read them."""
        clean, how = self.denoise(vectors)
        found = self.reader.recover(unit(clean))
        return Recovered(found.rows, found.scores, found.details | how)

    def save(self, path: PathLike) -> str:
        """Write what is known of the noise and the reader as one folder."""
        described, tensors = pack_reader(self.reader)
        control = self.control
        config = {
            "most": self.most,
            "seed": self.seed,
            "length": self.observed.length,
            "reader": described,
            "control": None if control is None else [control.metric, control.value, control.rows],
        }
        if self.observed.noise is not None:
            tensors["noise"] = self.observed.noise
        if self.observed.undo is not None:
            tensors |= {"undo": self.observed.undo.matrix, "mean": self.observed.undo.origin}
        return artifacts.save(path, self.kind, config, tensors)

    @classmethod
    def load(cls, path: PathLike) -> DenoisingReader:
        """Read both back."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, {name: np.array(each) for name, each in artifact.tensors.items()}
        try:
            noise, undo, length = tensors.get("noise"), None, config["length"]
            if noise is not None and (noise.ndim != 2 or noise.shape[0] != noise.shape[1]):
                raise ArtifactError(f"The saved noise must be a covariance matrix. Found {noise.shape}.")
            if "undo" in tensors:
                undo = LinearMap(tensors["undo"], tensors["mean"], tensors["mean"])
            observed = Observed(noise, None if length is None else float(length), undo)
            most = whole_number(config["most"], "most", LEAST, 10**6)
            made = cls(observed, unpack_reader(config["reader"], tensors), most, int(config["seed"]))
            if config["control"] is not None:
                metric, value, count = config["control"]
                made.control = Control(str(metric), float(value), int(count))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made
