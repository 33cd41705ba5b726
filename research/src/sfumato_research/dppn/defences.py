"""DPPN's defences and rivals at the paper's noise levels, and an attacker who does not know of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.accounting.guarantee import Guarantee
from sfumato.attacks.base import Embeds
from sfumato.evaluation import Defence
from sfumato.evaluation.noise_baselines import learn_mask
from sfumato.mechanisms import MECHANISMS, Mechanism, Suppression
from sfumato.randomness import Draws, generator
from sfumato.release import Releasing
from sfumato.sensitivity import Mask
from sfumato.trials.reading import AttackMethod, Read
from sfumato.types import FloatArray, Floats, Vectors
from sfumato_research.dppn.printed import CLEAN, TRADE_OFF
from sfumato_research.sparse.data import comparison
from sfumato_research.sparse.tradeoff import ratio_of
from sfumato_research.studies.base import Cell, Setting
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.measured import Measured

SHARE = 0.2
"""Of the dimensions that are suppressed, section 4.1."""
ANCHOR = 2
"""The printed epsilon whose Laplace utility on STS12 fixes the scale of the noise."""
NAMES = {"laplace": "Laplace", "purkayastha": "Purkayastha", "dppn": "DPPN"}


def levels(setting: Setting, epsilons: Sequence[int]) -> dict[int, float]:
    """The noise ratio that stands for each printed epsilon.

    Noise is in inverse proportion to epsilon; the one free constant is set so that Laplace noise keeps as
    much of STS12's correlation as the paper prints at epsilon 2.
    """
    kept = TRADE_OFF["sts12"][ANCHOR][6] / CLEAN["sts12"][2]
    found = ratio_of(comparison(setting, "sts12"), kept)
    return {epsilon: found * ANCHOR / epsilon for epsilon in epsilons}


def defence(
    on: Comparison, method: str, ratio: float, *, mask: Mask | None = None, share: float = SHARE
) -> Defence:
    """One of the three at a noise ratio; noise on fewer dimensions is as long as noise on all of them."""
    mechanism: Mechanism
    if method == "dppn":
        mechanism = Suppression.from_noise_ratio(ratio, mask=mask or learn_mask(on.sample), share=share)
    else:
        mechanism = MECHANISMS.get(method).from_noise_ratio(ratio, dim=on.dim)
    return Defence(name=method, mechanism=mechanism, embedder=on.embedder)


def measured(on: Comparison, method: str, ratio: float) -> Measured:
    """One of the three, read by an attacker trained on releases; measured once for both studies."""
    return on.cells.measured(f"{method}@{ratio:.4f}", lambda: on.measure(defence(on, method, ratio)))


def measured_unaware(on: Comparison, method: str, ratio: float, naive: AttackMethod) -> Measured:
    """The same, read by an attacker who does not know of the defence."""
    name = f"{method}@{ratio:.4f}, unaware"
    return on.cells.measured(name, lambda: on.measure(defence(on, method, ratio), naive))


def random_mask(dim: int, seed: int) -> Mask:
    """Dimensions in a random order (DPPN-Rand)."""
    return Mask(np.asarray(generator(seed).permutation(dim), np.float64), name="random")


def unaware(on: Comparison) -> AttackMethod:
    """The same attacker trained on clean vectors, who reads releases as if nothing had been done to them."""
    learned: dict[int, Read] = {}

    def fit(
        texts: Sequence[str], vectors: Vectors, victim: Releasing | None, embedder: Embeds | None, seed: int
    ) -> Read:
        if seed not in learned:
            learned[seed] = on.tokens.fit(texts, vectors, None, embedder, seed)
        return learned[seed]

    return replace(on.tokens, fit=fit)  # the same control and floor


def described(found: Measured) -> list[Cell | str | float | None]:
    """Noise ratio and the density's epsilon."""
    return [
        Cell(found.noise_ratio, form=".2f") if found.noise_ratio else None,
        Cell(found.epsilon, form=",.0f") if math.isfinite(found.epsilon) else "none",
    ]


def kept(found: Measured) -> float:
    """Share of clean utility."""
    return (found.utility.kept or 0.0) if found.utility else 0.0


class OnAxes(Mechanism):
    """Another mechanism on some dimensions only, as table 2 has Laplace and Purkayastha noise; no promise.

    Args:
        inner: what the chosen dimensions go through, as a vector of their own.
        axes: the dimensions.
        dim: of whole vectors.
        ratio: length of the noise.
    """

    name = "on-axes"
    paper = "DPPN, table 2"
    additive = False

    def __init__(self, inner: Mechanism, axes: Any, dim: int, ratio: float) -> None:
        super().__init__()
        self.inner, self.axes, self.ratio = inner, np.asarray(axes), ratio
        self.dim = dim

    @classmethod
    def of(cls, method: str, mask: Mask, share: float, ratio: float) -> OnAxes:
        """Laplace or Purkayastha noise of the same length on the top of a mask."""
        count = max(2, round(share * mask.dim))
        kind = MECHANISMS.get(method)
        # One that turns vectors turns the part, which is shorter than the whole.
        own = ratio if kind.additive else ratio * math.sqrt(mask.dim / count)
        inner = kind.from_noise_ratio(own, dim=count)
        return cls(inner, mask.top(count), mask.dim, ratio)

    @property
    def guarantee(self) -> Guarantee:
        """None: the other dimensions are released as they are."""
        return Guarantee(self.name, math.inf, "none", "none")

    def parameters(self) -> dict[str, Any]:
        """Those of the mechanism inside."""
        return {"inner": self.inner.name, "axes": len(self.axes), **self.inner.parameters()}

    def noise_sd(self, dim: int) -> float:
        """Root mean square of the noise where there is noise."""
        return self.ratio / math.sqrt(len(self.axes))

    def noise_ratio(self, dim: int | None = None) -> float:
        """As it was asked for."""
        return self.ratio

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        released = vectors.astype(np.float64)
        part = released[:, self.axes]
        lengths = np.linalg.norm(part, axis=1, keepdims=True)
        if self.inner.additive:
            part = self.inner._release(part, draws, 1.0)
        else:
            part = self.inner._release(part / np.maximum(lengths, 1e-12), draws, 1.0) * lengths
        released[:, self.axes] = part
        released *= 1.0 / step
        return released
