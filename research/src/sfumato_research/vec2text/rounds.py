"""One hypothesis corrected round after round, with every round kept (Vec2Text, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.attacks.writers.candidates import Beam, best, joined
from sfumato.attacks.writers.generate import Specials, write
from sfumato.attacks.writers.network import Network
from sfumato.attacks.writers.search import Encode, hypothesis
from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.devices import all_digits


@dataclass(frozen=True, slots=True, eq=False)
class CorrectionRounds:
    """What each round wrote, and the closest text up to it; round 0 is the first hypothesis."""

    pieces: Wordpieces
    closest: NDArray[np.int64]
    """`[rounds + 1, n, length]` wordpieces of the closest text so far."""
    cosines: NDArray[np.float64]
    """`[rounds + 1, n]` how close that one is."""
    written: NDArray[np.int64]
    """`[rounds + 1, n, length]` wordpieces of what the round itself wrote."""

    def texts(self, after: int) -> list[str]:
        """The closest text of every vector after so many rounds."""
        return self.pieces.decode(self.closest[after])

    def last(self, after: int) -> list[str]:
        """What that round wrote, close or not: all there is for who cannot embed."""
        return self.pieces.decode(self.written[after])


@dataclass(frozen=True, slots=True)
class RoundCorrector:
    """A network that corrects, and how its texts are embedded."""

    network: Network
    specials: Specials
    encode: Encode

    @torch.no_grad()
    def run(
        self,
        targets: Tensor,
        ratio: Tensor,
        steps: int,
        *,
        feedback: bool = True,
        start: Tensor | None = None,
    ) -> list[tuple[Tensor, Tensor, Tensor]]:
        """For every round: the closest texts so far, how close they are, and what was written.

        As `Searcher` follows one hypothesis: it moves on each time, and the closest one seen is kept.
        """
        first = hypothesis(self.network, self.specials, targets, ratio, 1).tokens if start is None else start
        current = self._embedded(first, targets)
        kept = current
        found = [(kept.tokens[:, 0], kept.cosines[:, 0], current.tokens[:, 0])]
        for _ in range(steps):
            told = current.vectors[:, 0] if feedback else None
            corrected = write(
                self.network, self.specials, targets, ratio=ratio, guess=told, tokens=current.tokens[:, 0]
            )
            current = self._embedded(corrected.tokens, targets)
            kept = best(joined(kept, current), 1)
            found.append((kept.tokens[:, 0], kept.cosines[:, 0], current.tokens[:, 0]))
        return found

    def _embedded(self, tokens: Tensor, targets: Tensor) -> Beam:
        with all_digits(targets.device):
            vectors = self.encode(tokens)
            cosines = (vectors * targets).sum(1, keepdim=True).float()
        return Beam(tokens[:, None], vectors[:, None], cosines)


def gathered(pieces: Wordpieces, parts: list[list[tuple[Tensor, Tensor, Tensor]]]) -> CorrectionRounds:
    """The rounds of several batches of vectors as one."""

    def column(which: int) -> NDArray[np.generic]:
        rounds = zip(*parts, strict=True)
        return np.stack([torch.cat([each[which] for each in now]).cpu().numpy() for now in rounds])

    return CorrectionRounds(
        pieces, column(0).astype(np.int64), column(1).astype(np.float64), column(2).astype(np.int64)
    )
