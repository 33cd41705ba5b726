"""Codes: b bits of a vector, on which side of b public hyperplanes it lies (Charikar, STOC 2002).

The hyperplanes are no secret and nobody's texts are in them: they are drawn from a fixed seed by the number
of bits and the dimension alone, or, for the default encoder, whose background (made-up sentences) was there
from the start, within the directions in which that varies most, around its mean. A row shows the store b
bits, one of 2^b views; a query shows its b distances from the hyperplanes, each in one of 15 steps, which
rank better than sides alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.embedders.minilm import MiniLM
from sfumato.numbers import whole_number
from sfumato.sealing.cells.codebook import unit
from sfumato.sealing.handles.ranked import RankedHandle, at_unit_length
from sfumato.sensitivity.shipped import shipped_background
from sfumato.types import Floats, Vectors

BITS, FEWEST_BITS, MOST_BITS = 64, 2, 4096
_STEPS = 7
"""On each side of a hyperplane."""
_BY_BACKGROUND = frozenset({MiniLM.model_id})
"""Encoders whose hyperplanes follow their background. One that is shipped later must not move the codes of
rows that are stored already."""


class CodeHandle(RankedHandle):
    """The store ranks rows by b bits of each."""

    name = "codes"
    takes = ("bits",)
    sees = (
        "how many rows there are, b bits of each row's vector by a public codebook, b rounded coordinates of "
        "each query's vector, and which rows a query finds"
    )

    @classmethod
    def options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The number of bits."""
        bits = BITS if given.get("bits") is None else given["bits"]
        return super().options(given) | {"bits": whole_number(bits, "bits", FEWEST_BITS, MOST_BITS)}

    @property
    def bits(self) -> int:
        """How many bits a row shows."""
        return int(self._client.state.settings.options["bits"])

    def dim(self, dim: int) -> int:
        """As many as there are bits."""
        return self.bits

    def shown(self, texts: Sequence[str], vectors: Vectors) -> Vectors:
        """The sides of the hyperplanes that rows lie on, as signs."""
        signs = np.where(self._seen(vectors) >= 0, 1.0, -1.0)
        return np.asarray(signs / np.sqrt(self.bits), np.float32)

    def asked(self, vectors: Vectors) -> Vectors:
        """How far from each hyperplane queries lie, in few steps: some more candidates, far fewer bits."""
        seen = self._seen(vectors)
        peaks = np.abs(seen).max(axis=1, keepdims=True)
        return at_unit_length(np.rint(_STEPS * seen / np.where(peaks > 0, peaks, 1.0)))

    def _seen(self, vectors: Vectors) -> Vectors:
        centre, planes = codebook(self.bits, vectors.shape[1], self._client.state.settings.encoder)
        return np.asarray((unit(vectors) - centre) @ planes, np.float32)


@lru_cache(maxsize=4)
def codebook(bits: int, dim: int, encoder: str) -> tuple[Vectors, Vectors]:
    """`[d]` a centre and `[d, b]` hyperplanes; the same wherever and whenever they are made."""
    background = shipped_background(encoder) if encoder in _BY_BACKGROUND and bits <= dim else None
    if background is None:
        blocks = [_basis(dim, part) for part in range(-(-bits // dim))]
        return np.zeros(dim, np.float32), np.concatenate(blocks, axis=1)[:, :bits].astype(np.float32)
    axes = np.linalg.eigh(background.covariance)[1][:, ::-1][:, :bits]
    # A library may give an axis or its opposite.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(bits)])
    return background.mean.astype(np.float32), (axes @ _basis(bits, 0)).astype(np.float32)


def _basis(dim: int, part: int) -> Floats:
    """`[dim, dim]` an orthonormal basis drawn evenly, out of SHAKE-256: numpy's own draws may change."""
    stream = hashlib.shake_256(f"sfumato codes 1 {dim} {part}".encode()).digest(16 * dim * dim)
    uniform = (np.frombuffer(stream, "<u8").reshape(2, dim, dim) >> np.uint64(11)) * 2.0**-53
    normal = np.sqrt(-2 * np.log1p(-uniform[0])) * np.cos(2 * np.pi * uniform[1])
    basis, corner = np.linalg.qr(normal)
    return np.asarray(basis * np.sign(np.diag(corner)))
