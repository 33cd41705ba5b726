"""Low-order bits: which known texts can a release still have come from, by floating-point arithmetic alone?

Plain float32 noise leaves traces that name the input (Mironov 2012; Jin et al. 2022); releases on a grid do
not. See `sfumato/bits.py`, which has the arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Inverter, OnStep, Recovered, checked
from sfumato.attacks.kept_release import pack_texts, unpack_texts
from sfumato.bits import identified, identify
from sfumato.errors import ArtifactError, InputError
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.release import Releasing, as_release
from sfumato.types import Vectors

_CONTROL_ROWS = 50
_BLOCK = 256


@dataclass(frozen=True, kw_only=True)
class Bits(Attack):
    """Rules out every known text from which no float32 noise leads to the release.

    It reads what a plain float32 sum leaves behind. A filter or a normalisation after the noise hides these
    traces from this attack, though not what the noise itself fails to hide: see `linkage`.
    """

    seed: int = 0

    name: ClassVar[str] = "bits"
    paper: ClassVar[str] = "Mironov 2012; Jin et al. 2022"
    summary: ClassVar[str] = "which known texts do the low-order bits leave possible?"
    reads: ClassVar[Literal["terms", "text", "row"]] = "row"
    needs: ClassVar[Literal["texts", "attacked", "nothing"]] = "attacked"
    proves_itself: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.seed, "seed", 0, 2**63 - 1)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> BitReader:
        """Keep the known texts' vectors, and try the attack on plain float32 noise."""
        known, clean = checked(texts, vectors)
        if not known:
            raise InputError("The bits attack needs at least one known text. Found none.")
        release = as_release(mechanism)
        if release is not None and release.mechanism.additive:  # a projection adds to projected vectors
            clean = release.mechanism.expected(clean).astype(np.float32)
        made = BitReader(known, clean)
        made.control = _control(clean, self.seed)
        if on_step is not None:
            on_step("known texts", 1.0)
        return made


def _control(clean: Vectors, seed: int) -> Control:
    """How many releases it names when float32 normal noise of about the vectors' length is simply added."""
    rng = generator(seed)
    rows = rng.permutation(len(clean))[:_CONTROL_ROWS]
    noise = rng.standard_normal((len(rows), clean.shape[1])) * float(clean.std())
    released = clean[rows] + noise.astype(np.float32)
    return Control(
        "named on plain float32 noise", identified(identify(released, clean), rows) / len(rows), len(rows)
    )


class BitReader(Inverter):
    """Known texts, to be ruled out by bits."""

    kind = "bits-attack"

    def __init__(self, texts: list[str], clean: Vectors) -> None:
        self.texts, self.clean = texts, clean

    def recover(self, vectors: Any) -> Recovered:
        """Name the text of a row where exactly one is left, else nothing.

        `details` holds `left`, how many known texts stay possible, and `index`, the one left or -1.
        """
        released = as_vectors(vectors).astype(np.float32)
        left, index = np.zeros(len(released), np.intp), np.full(len(released), -1, np.intp)
        for start in range(0, len(released), _BLOCK):
            survivors = identify(released[start : start + _BLOCK], self.clean)
            counts = survivors.sum(axis=1)
            left[start : start + len(counts)] = counts
            index[start : start + len(counts)] = np.where(counts == 1, survivors.argmax(axis=1), -1)
        rows = [self.texts[one] if one >= 0 else "" for one in index.tolist()]
        return Recovered(rows, 1.0 / np.maximum(left, 1) * (left > 0), {"left": left, "index": index})

    def save(self, path: PathLike) -> str:
        """Write known texts and their vectors."""
        control = None if self.control is None else [self.control.value, self.control.rows]
        return artifacts.save(
            path, self.kind, {"control": control}, {"clean": self.clean, **pack_texts(self.texts)}
        )

    @classmethod
    def load(cls, path: PathLike) -> BitReader:
        """Read it back."""
        artifact = artifacts.load(path, cls.kind)
        try:
            made = cls(*checked(unpack_texts(artifact.tensors), np.array(artifact.tensors["clean"])))
            if artifact.config["control"] is not None:
                value, rows = artifact.config["control"]
                made.control = Control("named on plain float32 noise", float(value), int(rows))
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made
