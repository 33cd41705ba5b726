"""How masks are learned and how it went: settings, learning curves and the report beside a learned mask."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from sfumato.errors import ParameterError
from sfumato.numbers import finite_number, whole_number
from sfumato.sensitivity.mask import Mask
from sfumato.types import Floats

Penalty = Literal["sum", "mean"]
"""The L0 penalty over dimensions: their sum (Louizos et al., 2018) or their mean (as both papers print)."""
Precision = Literal["auto", "float32", "bfloat16"]
"""Arithmetic of the classifier's products; "auto" is float32 on a CPU and bfloat16 on a GPU."""

SMALLEST_SET = 20
"""Fewer pairs than this cannot be split into pairs to learn from and pairs to stop by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskSettings:
    """What a learner does; the defaults learn a sparse mask in seconds."""

    penalty_weight: float = 1e-3
    """lambda of SPARSE, eq. 5; not used when there is a `sparsity` to aim for."""
    penalty: Penalty = "sum"
    sparsity: float | None = None
    """Share of gates that should stay open; lambda is then adapted at every step."""
    epochs: int = 100
    batch_size: int = 512
    """Most pairs in a step; an epoch has at least 16 steps where there are enough pairs."""
    learning_rate: float = 3e-4
    """Adam's rate for the classifier."""
    gate_rate: float = 2e-2
    """Adam's rate for log alpha and log beta."""
    hidden: tuple[int, ...] = (256, 128)
    held_out: float = 0.1
    """Share of pairs kept back to stop by; twins stay together."""
    patience: int = 10
    """Epochs without progress on held-out pairs before a concept stops; `epochs` or more: never stop."""
    precision: Precision = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every field."""
        finite_number(self.penalty_weight, "penalty_weight", 0.0, 1e6)
        if self.sparsity is not None:
            finite_number(self.sparsity, "sparsity", 0.001, 1.0)
        for name, low, high in (("epochs", 1, 10**6), ("batch_size", 2, 10**7), ("patience", 1, 10**6)):
            whole_number(getattr(self, name), name, low, high)
        whole_number(self.seed, "seed", 0, 2**63 - 1)
        finite_number(self.learning_rate, "learning_rate", 1e-8, 1.0)
        finite_number(self.gate_rate, "gate_rate", 1e-8, 1.0)
        finite_number(self.held_out, "held_out", 0.01, 0.5)
        if not self.hidden:
            raise ParameterError("`hidden` must name at least one layer width. Found none.")
        for width in self.hidden:
            whole_number(width, "hidden", 1, 1 << 16)
        for name, choices in (("penalty", Penalty), ("precision", Precision)):
            found, known = getattr(self, name), get_args(choices)
            if found not in known:
                raise ParameterError(f"`{name}` must be one of {', '.join(known)}. Found {found!r:.40}.")


@dataclass(frozen=True, slots=True, eq=False)
class MaskCurves:
    """One number an epoch, all `[epochs run]`."""

    loss: Floats
    """Objective on the training pairs, penalty included, gates drawn."""
    held_out_loss: Floats
    """Classification loss on held-out pairs, gates settled."""
    accuracy: Floats
    """Share of held-out texts put on the right side."""
    expected_open: Floats
    """Expected number of open gates, the sum of SPARSE's eq. 4."""
    open_share: Floats
    """Share of settled gates above 0."""
    penalty_weight: Floats
    """lambda; with a sparsity to aim for it moves, below 0 while too few gates are open."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskReport:
    """How the learning of one mask went; kept beside the mask, never saved with it."""

    curves: MaskCurves
    accuracy: float
    """Share of held-out texts that the chosen gates let the classifier put on the right side."""
    open_share: float
    """Share of gates above 0 in the chosen mask."""
    epoch: int
    """Epoch (from 1) whose gates were chosen."""
    pairs: int
    held_out: int
    """How many of the pairs were kept back."""
    settings: MaskSettings
    device: str
    precision: str

    @property
    def told_apart(self) -> bool:
        """Whether held-out accuracy is above a coin's by more than two standard errors.

        A mask that fails this says nothing about its concept.
        """
        return self.open_share > 0 and self.accuracy > 0.5 + (2 * self.held_out) ** -0.5

    def summary(self) -> dict[str, Any]:
        """Everything but the curves, ready for JSON."""
        return {
            "accuracy": self.accuracy,
            "open_share": self.open_share,
            "told_apart": self.told_apart,
            "epoch": self.epoch,
            "epochs_run": len(self.curves.loss),
            "pairs": self.pairs,
            "held_out": self.held_out,
            "device": self.device,
            "precision": self.precision,
            "settings": asdict(self.settings),
        }


@dataclass(frozen=True, slots=True, eq=False)
class LearnedMask:
    """A mask and the report of how it was learned."""

    mask: Mask
    report: MaskReport
