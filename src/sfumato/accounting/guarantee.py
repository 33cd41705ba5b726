"""What a release promises, as a frozen record that can be priced, printed and saved."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Metric = Literal["l2", "mahalanobis", "angular", "chordal", "chordal+radius", "bounded", "none"]
"""Distance between two inputs in which epsilon is counted; "bounded" means any two inputs are neighbours."""

Proof = Literal["proved", "conditional", "none"]
"""proved: follows from the density alone; conditional: rests on an assumption named in the notes."""


@dataclass(frozen=True, slots=True)
class Substitutions:
    """Privacy loss when one term of a concept is put for another, over the pairs it was learned from."""

    median: float
    p95: float
    worst: float


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What one release of one vector promises: at most exp(epsilon * distance(x, x')) between output laws."""

    mechanism: str
    epsilon: float
    """Epsilon of the density, per unit of `metric`; infinite when there is no promise."""
    metric: Metric
    proof: Proof
    delta: float = 0.0
    worst_case_l2: float = math.inf
    """The largest privacy loss per unit of Euclidean distance between two inputs."""
    slack: float = 0.0
    """Extra privacy loss that floating point and the output grid may add to one release."""
    releases: int = 1
    """How many independent releases of the same text are counted here."""
    notes: tuple[str, ...] = ()
    substitutions: Substitutions | None = None
    """What one swapped term costs; None where it was not measured."""

    @property
    def is_private(self) -> bool:
        """Whether anything is promised at all."""
        return self.proof != "none" and math.isfinite(self.epsilon)

    def compose(self, releases: int) -> Guarantee:
        """Price `releases` independent releases of one text (basic composition: epsilons and deltas add)."""
        if releases < 1:
            raise ValueError(f"`releases` must be at least 1. Found {releases}.")
        return replace(
            self,
            epsilon=self.epsilon * releases,
            delta=min(1.0, self.delta * releases),
            worst_case_l2=self.worst_case_l2 * releases,
            slack=self.slack * releases,
            releases=self.releases * releases,
        )

    def loss(self, distance: float) -> float:
        """Privacy loss between two inputs at `distance` in this guarantee's own metric."""
        return self.epsilon * (1.0 if self.metric == "bounded" else distance) + self.slack

    def describe(self) -> str:
        """One plain sentence for a report."""
        if not self.is_private:
            return f"{self.mechanism}: no differential privacy guarantee (epsilon is infinite)."
        per = {
            "bounded": "between any two inputs",
            "l2": "per unit of Euclidean distance",
            "mahalanobis": "per unit of Mahalanobis distance",
            "angular": "per radian of angle",
            "chordal": "per unit of chordal distance",
            "chordal+radius": "per unit of chordal distance plus radius difference",
        }.get(self.metric, f"per unit of {self.metric} distance")
        delta = f", delta {self.delta:.3g}" if self.delta else ""
        times = f" over {self.releases} releases" if self.releases > 1 else ""
        assumed = "" if self.proof == "proved" else " (conditional: `sfumato explain` says on what)"
        return f"{self.mechanism}: epsilon {self.epsilon:.6g} {per}{delta}{times}{assumed}."

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; infinities become the string "inf"."""
        values = asdict(self)
        values["notes"] = list(self.notes)
        return {k: ("inf" if isinstance(v, float) and math.isinf(v) else v) for k, v in values.items()}
