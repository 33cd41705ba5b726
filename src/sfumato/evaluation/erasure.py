"""LEACE: the linear map that hides a label from every linear reader and moves vectors least."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.concepts.concept import surfaces
from sfumato.errors import InputError
from sfumato.evaluation.baselines import Baseline, Sample
from sfumato.evaluation.defence import Defence
from sfumato.mechanisms.transform import Transform
from sfumato.types import Floats

Label = Literal["presence", "terms"]
"""presence: whether the concept is in the text; terms: which of its terms are."""

LABELS: tuple[Label, ...] = ("presence", "terms")


@dataclass(frozen=True, kw_only=True)
class Leace(Baseline):
    """Least-squares erasure by the package concept-erasure: no noise, and no promise of privacy."""

    name = "leace"
    paper = "Belrose et al. 2023"
    labels: tuple[Label, ...] = LABELS
    most_terms: int = 256
    """Rarer terms beyond these share one label."""

    def fit(self, sample: Sample) -> list[Defence]:
        """Fit an eraser to each kind of label."""
        found = [surfaces(text, places) for text, places in zip(sample.texts, sample.found(), strict=True)]
        return [self._fit(sample, label, self._targets(label, found)) for label in self.labels]

    def _targets(self, label: Label, found: list[list[str]]) -> Floats:
        """`[n, k]` labels, 1 where the text has them."""
        if label == "presence":
            columns = {"": 0}
        else:
            counts = Counter(term for terms in found for term in terms)
            columns = {term: number for number, (term, _) in enumerate(counts.most_common(self.most_terms))}
        table = np.zeros((len(found), len(columns) + (label == "terms")))
        for row, terms in enumerate(found):
            for term in terms:
                table[row, 0 if label == "presence" else columns.get(term, len(columns))] = 1.0
        varies = table.std(axis=0) > 0
        if not varies.any():
            raise InputError(
                "Some texts must hold the concept and others not, or terms differ. Found no such."
            )
        return np.asarray(table[:, varies])

    def _fit(self, sample: Sample, label: Label, targets: Floats) -> Defence:
        import torch

        with warnings.catch_warnings():  # it compiles with a tool that torch wants to see replaced
            warnings.simplefilter("ignore", DeprecationWarning)
            from concept_erasure import LeaceFitter

        fitted = LeaceFitter.fit(
            torch.from_numpy(sample.vectors.astype(np.float64)), torch.from_numpy(targets)
        ).eraser
        left, right = fitted.proj_left.numpy(), fitted.proj_right.numpy()
        mean = fitted.bias.numpy()
        settings = {
            "label": label,
            "labels": targets.shape[1],
            "rank": int(np.linalg.matrix_rank(left @ right)),
        }
        mechanism = Transform(
            "leace",
            lambda vectors: vectors - (vectors - mean) @ right.T @ left.T,
            note="linear erasure: a reader that is not linear may still find the concept",
            settings=settings,
        )
        return Defence(
            name=self.name,
            setting=f"{label} erased",
            mechanism=mechanism,
            embedder=sample.embedder,
            parameters=settings,
        )
