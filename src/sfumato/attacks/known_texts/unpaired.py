"""Unpaired alignment: stolen vectors under an unknown key, and public texts; not one pair.

The attacker knows which encoder made the vectors and not what turned them afterwards: a rotation, a code of
signs, noise on top. He embeds public texts with that encoder, lays the stolen cloud over the public one
(`clouds`), and reads the turned-back vectors as he would read clean ones. A cloud is what he needs: the map
is learned from the vectors that are read, so it takes thousands of them at once, and none of their texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Inverter, OnStep, Recovered, checked, held_back
from sfumato.attacks.huggingface.library import Library, unit
from sfumato.attacks.kept_reader import pack_reader, unpack_reader
from sfumato.attacks.known_texts.clouds import LEAST, overlay
from sfumato.attacks.known_texts.leastsquares import moments
from sfumato.errors import ArtifactError, InputError
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.release import Releasing, as_release
from sfumato.types import Floats, Vectors

_CONTROL_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class Unpaired(Attack):
    """Turns stolen vectors back into the encoder's space without a pair, and reads them there.

    `fit` takes public texts and their clean vectors; the map is learned from what `recover` is given.

    Args:
        reader: reads the encoder's own vectors: a fitted attack, an attack or its name to be fitted to the
            public texts, or "library" for the nearest public text.
        most: vectors of each side that are compared with each other; time and memory grow with its square.
    """

    reader: Inverter | Attack | str = "library"
    most: int = 6000
    seed: int = 0

    name: ClassVar[str] = "unpaired"
    paper: ClassVar[str] = "the idea of vec2vec and mini-vec2vec (Jha et al. 2025; Dar 2025)"
    summary: ClassVar[str] = "no pairs: lays the stolen cloud over a public one, whatever key turned it"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"
    public: ClassVar[bool] = True
    together: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.most, "most", LEAST, 50_000)
        whole_number(self.seed, "seed", 0, 2**63 - 1)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> UnpairedReader:
        """Keep the public cloud as the victim would release it, and fit the reader to it."""
        known, clean = checked(texts, vectors)
        if len(known) < 2 * LEAST:
            raise InputError(
                f"Unpaired alignment needs {2 * LEAST} public texts or more. Found {len(known)}."
            )
        expected, spread = moments(as_release(mechanism), clean, self.seed)
        public = expected.astype(np.float32)
        reader = self._reader(known, clean, public, mechanism, on_step)
        made = UnpairedReader(public, spread, reader, self.most, self.seed)
        made.control = self._control(clean)
        if on_step is not None:
            on_step("public cloud", 1.0)
        return made

    def _reader(
        self,
        known: list[str],
        clean: Vectors,
        public: Vectors,
        mechanism: Releasing | None,
        on_step: OnStep | None,
    ) -> Inverter:
        if isinstance(self.reader, Inverter):
            return self.reader
        attack: Any = self.reader
        if isinstance(attack, str):
            if attack == "library":
                return Library(known, public)
            from sfumato.attacks import ATTACKS

            kind: Any = ATTACKS.get(attack)
            attack = kind()
        fitted: Inverter = attack.fit(known, clean, mechanism, on_step=on_step)
        return fitted

    def _control(self, clean: Vectors) -> Control:
        """Half of the clean cloud, turned by a rotation that is then forgotten, laid over the other half."""
        left, right = held_back(len(clean), 0.5, self.seed)
        rng = generator(self.seed)
        key = np.linalg.qr(rng.standard_normal((clean.shape[1], clean.shape[1])))[0]
        trial = UnpairedReader(clean[left], None, None, self.most, self.seed)
        asked = rng.permutation(len(right))[:_CONTROL_ROWS]
        turned_back = trial.align(clean[right] @ key)[asked]
        scores = turned_back @ unit(clean).T
        own = np.take_along_axis(scores, right[asked][:, None], axis=1)
        return Control(UnpairedReader.measured_by, float((scores <= own).all(axis=1).mean()), len(asked))


class UnpairedReader(Inverter):
    """A public cloud that stolen vectors are laid over, and what reads them there.

    Args:
        public: `(m, d)` where public texts' vectors are expected.
        spread: `(d, d)` covariance of the noise that the stolen ones are known to carry.
        reader: what reads; None only aligns.
        most: see `Unpaired`.
        seed: of the rows that are drawn.
    """

    kind = "unpaired-attack"
    measured_by: ClassVar[str] = "top-1"
    """The control's metric."""

    def __init__(
        self,
        public: Vectors,
        spread: Floats | None,
        reader: Inverter | None,
        most: int = 6000,
        seed: int = 0,
    ) -> None:
        self.public, self.spread, self.reader = public, spread, reader
        self.most, self.seed = most, seed

    def align(self, vectors: Any) -> Vectors:
        """Unit vectors in the encoder's space, by a map learned from these very rows."""
        stolen = as_vectors(vectors).astype(np.float64)
        public = self.public.astype(np.float64)
        linear = overlay(stolen, public, generator(self.seed), spread=self.spread, most=self.most)
        return unit(linear(stolen))

    def recover(self, vectors: Any) -> Recovered:
        """Turn the vectors back, all together, and let the reader read them."""
        if self.reader is None:
            raise InputError("This alignment has no reader. Fit the attack with one.")
        return self.reader.recover(self.align(vectors))

    def save(self, path: PathLike) -> str:
        """Write the public cloud and the reader as one folder."""
        if self.reader is None:
            raise InputError("This alignment has no reader. Fit the attack with one.")
        described, tensors = pack_reader(self.reader)
        config = {
            "most": self.most,
            "seed": self.seed,
            "reader": described,
            "control": None if self.control is None else [self.control.value, self.control.rows],
        }
        tensors["public"] = self.public
        if self.spread is not None:
            tensors["spread"] = self.spread
        return artifacts.save(path, self.kind, config, tensors)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read both back."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            public = as_vectors(np.array(tensors["public"])).astype(np.float32)
            spread = np.array(tensors["spread"]) if "spread" in tensors else None
            if spread is not None and spread.shape != (public.shape[1],) * 2:
                raise ArtifactError(f"The saved spread must fit the vectors. Found {spread.shape}.")
            reader = unpack_reader(config["reader"], tensors)
            most = whole_number(config["most"], "most", LEAST, 50_000)
            made = cls(public, spread, reader, most, int(config["seed"]))
            if config["control"] is not None:
                value, rows = config["control"]
                made.control = Control(cls.measured_by, float(value), int(rows))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made
