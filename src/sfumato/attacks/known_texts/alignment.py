"""Alignment (ALGEN): with few leaked pairs, map the victim's vectors into an encoder of the attacker's own.

The attacker has texts whose vectors leaked, an encoder, and something that reads that encoder. One least
squares solve maps the victim's space to his; the victim's encoder is never asked.

Where all he wants is the likeliest of some texts, the map goes the other way: from his vectors of these to
what the victim would release, with the spread that errors and noise give it. Least squares draws what it
predicts towards the mean, and that hides the nearest neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Embeds, Inverter, OnStep, Recovered, checked, held_back
from sfumato.attacks.huggingface.library import Library, unit
from sfumato.attacks.kept_reader import pack_reader, unpack_reader
from sfumato.attacks.known_texts.leastsquares import (
    RIDGES,
    LeaveOneOut,
    LinearMap,
    covariance_of,
    crossed_errors,
    fit_procrustes,
    fit_ridge,
    moments,
)
from sfumato.embedders import load_embedder
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.metrics.similarity import pair_cosines
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import generator
from sfumato.release import Releasing, as_release
from sfumato.types import Floats, Vectors

__all__ = ["AlignedReader", "Alignment", "Library"]

Method = Literal["ridge", "procrustes"]


@dataclass(frozen=True, kw_only=True)
class Alignment(Attack):
    """Maps vectors into the attacker's own encoder and reads them there.

    `fit` takes the leaked pairs: texts and the victim's clean vectors of them. Where releases leaked, pass
    these and no mechanism: the map then fits their noise by itself.

    Args:
        encoder: the attacker's encoder, or its name.
        reader: reads that encoder: a fitted attack, or an attack or its name to be fitted to `corpus`; or
            "library" for the likeliest text of `corpus`.
        corpus: the attacker's own texts; the leaked ones when empty.
        pairs: how many of the leaked pairs are used; None for all.
        method: least squares with a ridge, or the closest rotation, which suits keys that rotate.
        ridge: see `fit_ridge`.
        centre: see `fit_ridge`.
        held_back: share of the pairs that the control is measured on; the map itself is fitted to all.
    """

    encoder: Embeds | str = "minilm"
    reader: Inverter | Attack | str = "library"
    corpus: Sequence[str] = ()
    pairs: int | None = None
    method: Method = "ridge"
    ridge: float | None = None
    centre: bool = True
    held_back: float = 0.1
    seed: int = 0

    name: ClassVar[str] = "alignment"
    paper: ClassVar[str] = "ALGEN (Chen, Xu and Bjerva 2025)"
    summary: ClassVar[str] = "few leaked pairs, no queries: maps vectors into the attacker's own encoder"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"

    def __post_init__(self) -> None:
        """Check every field."""
        if self.pairs is not None:
            whole_number(self.pairs, "pairs", 1, 10**9)
        if self.method not in get_args(Method):
            raise ParameterError(f"`method` must be one of {get_args(Method)}. Found {self.method!r}.")
        if self.ridge is not None:
            finite_number(self.ridge, "ridge", 0.0, 1e6)
        finite_number(self.held_back, "held_back", 0.0, 0.9)
        whole_number(self.seed, "seed", 0, 2**63 - 1)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> AlignedReader:
        """Fit the map to leaked pairs, and the reader to the attacker's own texts."""
        leaked, clean = checked(texts, vectors)
        if not leaked:
            raise InputError("Alignment needs at least one leaked pair. Found none.")
        if self.pairs is not None and self.pairs < len(leaked):
            rows = np.sort(generator(self.seed).permutation(len(leaked))[: self.pairs])
            leaked, clean = [leaked[row] for row in rows], clean[rows]
        encoder = load_embedder(self.encoder) if isinstance(self.encoder, str) else self.encoder
        own = np.asarray(encoder.embed(leaked), np.float32)
        if on_step is not None:
            on_step("alignment", 0.5)
        expected, spread = moments(as_release(mechanism), clean, self.seed)
        corpus = list(self.corpus) or leaked
        known = np.asarray(encoder.embed(corpus), np.float32) if self.corpus else own
        direct = isinstance(self.reader, str) and self.reader == "library"
        reader = (
            self._library(expected, spread, own, corpus, known)
            if direct
            else self._reader(corpus, known, on_step)
        )
        made = AlignedReader(self._map(expected, own, spread), reader, direct=direct)
        if len(leaked) > 1:
            training, test = held_back(len(leaked), self.held_back, self.seed)
            trial = AlignedReader(self._map(clean[training], own[training], None), reader)
            kept = pair_cosines(trial.align(clean[test]), own[test])
            made.control = Control("cosine", float(kept.mean()), len(kept))
        return made

    def _map(self, inputs: Any, outputs: Any, spread: Floats | None) -> LinearMap:
        if self.method == "procrustes":
            return fit_procrustes(inputs, outputs)
        return fit_ridge(inputs, outputs, ridge=self.ridge, noise=spread, centre=self.centre)

    def _library(
        self, expected: Floats, spread: Floats | None, own: Vectors, corpus: list[str], known: Vectors
    ) -> Library:
        """The corpus as the victim would release it, with the spread of what is not known about that."""
        back = self._map(own, expected, None)
        if self.method == "procrustes":
            errors = crossed_errors(fit_procrustes, own, expected)
        else:
            trial = LeaveOneOut(own, expected, centre=self.centre)
            errors = trial.errors(trial.best() if self.ridge is None else max(self.ridge, RIDGES[0]))
        around = covariance_of(errors)
        return Library(corpus, back(known), around if spread is None else around + spread)

    def _reader(self, corpus: list[str], known: Vectors, on_step: OnStep | None) -> Inverter:
        if isinstance(self.reader, Inverter):
            return self.reader
        attack: Any = self.reader
        if isinstance(attack, str):
            from sfumato.attacks import ATTACKS

            kind: Any = ATTACKS.get(attack)
            attack = kind()
        fitted: Inverter = attack.fit(corpus, known, on_step=on_step)
        return fitted


class AlignedReader(Inverter):
    """A map into the attacker's encoder, and what reads it there.

    Args:
        linear: the map.
        reader: what reads.
        direct: whether it reads the victim's releases themselves, and the map is only for `align`.
    """

    kind = "alignment-attack"

    def __init__(self, linear: LinearMap, reader: Inverter, *, direct: bool = False) -> None:
        self.linear, self.reader, self.direct = linear, reader, direct

    def align(self, vectors: Any) -> Vectors:
        """Unit vectors in the attacker's space."""
        return unit(self.linear(as_vectors(vectors, dim=len(self.linear.matrix))))

    def recover(self, vectors: Any) -> Recovered:
        """Map the vectors and let the reader read them."""
        return self.reader.recover(vectors if self.direct else self.align(vectors))

    def save(self, path: PathLike) -> str:
        """Write the map and the reader as one folder."""
        described, packed = pack_reader(self.reader)
        config = {
            "direct": self.direct,
            "reader": described,
            "control": None if self.control is None else [self.control.value, self.control.rows],
        }
        tensors = {"matrix": self.linear.matrix, "origin": self.linear.origin, "target": self.linear.target}
        return artifacts.save(path, self.kind, config, {**tensors, **packed})

    @classmethod
    def load(cls, path: PathLike) -> AlignedReader:
        """Read both back."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            matrix, origin, target = (np.array(tensors[name]) for name in ("matrix", "origin", "target"))
            if matrix.ndim != 2 or origin.shape != matrix.shape[:1] or target.shape != matrix.shape[1:]:
                raise ArtifactError(f"The saved map must be whole. Found a matrix of {matrix.shape}.")
            reader = unpack_reader(config["reader"], tensors)
            made = cls(LinearMap(matrix, origin, target), reader, direct=bool(config["direct"]))
            if config["control"] is not None:
                made.control = Control("cosine", float(config["control"][0]), int(config["control"][1]))
        except (KeyError, TypeError, IndexError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made
