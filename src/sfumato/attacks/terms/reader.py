"""A fitted token classifier: what it is, how it is calibrated, how it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Control, Inverter, Recovered
from sfumato.attacks.terms.perceptron import Perceptron
from sfumato.errors import ArtifactError, VectorError
from sfumato.metrics.ranking import ranked
from sfumato.types import Floats

LISTED = 10
"""How many terms a row names in `recover`."""


def platt(logits: NDArray[np.floating[Any]], held: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and shift that make log odds calibrated on these rows (Platt 1999, with his smoothed targets)."""
    scores, truth = logits.astype(np.float64).ravel(), held.ravel()
    yes, no = int(truth.sum()), int((~truth).sum())
    if not yes or not no:
        return 1.0, 0.0
    target = np.where(truth, (yes + 1) / (yes + 2), 1 / (no + 2))

    def objective(values: Floats) -> tuple[float, Floats]:
        log_slope, shift = values
        moved = np.exp(log_slope) * scores + shift
        loss = (np.logaddexp(0.0, moved) - target * moved).sum()
        wrong = expit(moved) - target
        return float(loss), np.array([(wrong * scores).sum() * np.exp(log_slope), wrong.sum()])

    found = minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-4, 4), (-20, 20)])
    return float(np.exp(found.x[0])), float(found.x[1])


class TokenReader(Inverter):
    """A fitted classifier: vectors in, a calibrated probability for every term out."""

    kind = "token-classifier"

    def __init__(
        self, vocabulary: Sequence[str], members: tuple[Perceptron, ...], *, leakage: float = 0.0
    ) -> None:
        self.vocabulary, self.members = tuple(vocabulary), members
        self.leakage = leakage
        """Share of terms among the top guesses on held-back rows, released as the victim releases."""
        self.tried: dict[str, float] = {}
        """The same for every classifier that was tried, by name."""
        self.loss = float("inf")
        """Cross-entropy of a held-back row, which a classifier is chosen by."""
        self.search: dict[str, Any] = {}
        """What it was chosen from."""
        self.chosen: dict[str, Any] = {}
        """Its shape, how its inputs are scaled, and from how many copies of a text it learned."""

    @property
    def dim(self) -> int:
        """The dimension of the vectors it reads."""
        return len(self.members[0].layers[0][0])

    def logits(self, vectors: Any) -> NDArray[np.float32]:
        """`(n, terms)` calibrated log odds that a term is in the text."""
        rows = as_vectors(vectors, dim=self.dim).astype(np.float32)
        total = self.members[0].logits(rows)
        for member in self.members[1:]:
            total += member.logits(rows)
        return total / np.float32(len(self.members))

    def probabilities(self, vectors: Any) -> Floats:
        """`(n, terms)` calibrated probability that a term is in the text."""
        return np.asarray(expit(self.logits(vectors).astype(np.float64)))

    def top(self, vectors: Any, counts: Sequence[int] | int) -> list[list[str]]:
        """The likeliest terms of each row: `counts` of them, or so many for each row."""
        logits = self.logits(vectors)
        each = [counts] * len(logits) if isinstance(counts, int) else list(counts)
        if len(each) != len(logits):
            raise VectorError(
                f"`counts` must have one number a row. Found {len(each)} for {len(logits)} rows."
            )
        return ranked(logits, self.vocabulary, each)

    def recover(self, vectors: Any) -> Recovered:
        """Name the likeliest terms of each row; `details` holds all `probabilities` and the `vocabulary`."""
        found = self.probabilities(vectors)
        rows = ranked(found, self.vocabulary, [LISTED] * len(found))
        details = {"probabilities": found, "vocabulary": list(self.vocabulary)}
        return Recovered(rows, found.max(axis=1), details)

    def save(self, path: PathLike) -> str:
        """Write the networks and the vocabulary."""
        control = None if self.control is None else [self.control.value, self.control.rows]
        config = {
            "vocabulary": list(self.vocabulary),
            "members": len(self.members),
            "leakage": self.leakage,
            "tried": self.tried,
            "search": self.search,
            "chosen": self.chosen,
            "control": control,
        }
        arrays = [member.tensors(f"member.{number}") for number, member in enumerate(self.members)]
        return artifacts.save(path, self.kind, config, {k: v for each in arrays for k, v in each.items()})

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read it back."""
        artifact = artifacts.load(path, cls.kind)
        try:
            count, vocabulary = int(artifact.config["members"]), artifact.config["vocabulary"]
            members = [Perceptron.from_tensors(f"member.{n}", artifact.tensors) for n in range(count)]
            made = cls(vocabulary, tuple(members), leakage=float(artifact.config["leakage"]))
            made.tried = {str(key): float(value) for key, value in artifact.config["tried"].items()}
            made.search = dict(artifact.config.get("search", {}))
            made.chosen = dict(artifact.config.get("chosen", {}))
            if artifact.config["control"] is not None:
                made.control = Control("leakage", *artifact.config["control"])
        except (KeyError, TypeError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        widths = {(len(each.layers[0][0]), each.layers[-1][0].shape[1]) for each in members}
        if len(widths) != 1 or widths.pop()[1] != len(made.vocabulary):
            raise ArtifactError("All networks of a saved classifier must read the same vectors and terms.")
        return made
