"""Membership: is this text in the store at all?

The attacker holds what the store holds and the texts that he asks about. For each he weighs how likely the
stored rows are if the text is among them, against how likely they are as releases of the other texts: the
mean over rows y of p(y | x) / p(y), where p(y) is the mean over all other candidates (a likelihood ratio, as
in Carlini et al. 2022). Where nobody knows the noise the nearest row decides: by how much it is nearer to the
text than to any other candidate, which is the same ratio for noise that is alike in all directions. Where it
is known that there is none, how near the nearest row is: a text that is much like another candidate is stored
all the same if it is there, and one that is like a stored row and like no other candidate is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import (
    Attack,
    Control,
    Inverter,
    Needs,
    OnStep,
    Reads,
    Recovered,
    checked,
    held_back,
)
from sfumato.attacks.kept_release import pack_texts, pack_victim, unpack_texts, unpack_victim
from sfumato.errors import ArtifactError, InputError
from sfumato.likelihood import Likelihood
from sfumato.metrics.roc import area
from sfumato.metrics.similarity import unit_rows
from sfumato.numbers import whole_number
from sfumato.release import AS_IT_IS, Release, Releasing, as_release
from sfumato.types import Floats, Vectors

_CELLS = 1 << 21
"""Pairs of a stored row and a candidate weighed at a time."""
_CONTROL_ROWS = 400
IN, OUT = "in", "out"


@dataclass(frozen=True, kw_only=True)
class Membership(Attack):
    """Says of each candidate text how sure it is that the store holds it.

    `fit` takes the candidates and their vectors as they enter the release, for a protector with neutral texts
    `protector.prepare(texts).vectors`; `recover` takes all rows of the store, in any order, and has one entry
    a candidate.
    """

    seed: int = 0

    name: ClassVar[str] = "membership"
    paper: ClassVar[str] = "likelihood ratio (Carlini et al. 2022)"
    summary: ClassVar[str] = "is this text in the store?"
    reads: ClassVar[Reads] = "member"
    needs: ClassVar[Needs] = "candidates"

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
    ) -> MembershipTest:
        """Keep the candidates and what is known of the release."""
        candidates, clean = checked(texts, vectors)
        if len(candidates) < 2:
            raise InputError(f"Membership needs two candidate texts or more. Found {len(candidates)}.")
        made = MembershipTest(candidates, clean, as_release(mechanism), self.seed)
        rows = np.sort(held_back(len(clean), 0.5, self.seed)[1])[:_CONTROL_ROWS]
        inside = np.isin(np.arange(len(clean)), rows)
        alone = MembershipTest(candidates, clean, AS_IT_IS, self.seed).scores(clean[rows])
        made.control = Control("AUC", area(alone, inside), len(clean))
        if on_step is not None:
            on_step("candidates", 1.0)
        return made


class MembershipTest(Inverter):
    """Candidate texts, ready to be looked for in a store.

    Args:
        texts: the candidates.
        clean: `(m, d)` their vectors as they enter the release.
        release: what the store's rows went through; None where nobody knows.
        seed: of simulated releases, where there is no density.
    """

    kind = "membership-attack"

    def __init__(self, texts: list[str], clean: Vectors, release: Release | None, seed: int = 0) -> None:
        self.texts, self.clean, self.release, self.seed = texts, clean, release, seed

    def scores(self, vectors: Any) -> Floats:
        """`[m]` of each candidate: the log likelihood ratio, or how much a row is like it."""
        return self._weighed(vectors)[0]

    def _weighed(self, vectors: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """`[m]` each: the scores, and whether a candidate is taken to be in."""
        stored = as_vectors(vectors).astype(np.float64)
        inputs = self.clean.astype(np.float64)
        release = self.release or AS_IT_IS
        release.check_pair(stored, inputs)
        if not len(stored):
            return np.zeros(len(inputs)), np.zeros(len(inputs), bool)
        if self.release is None or not release.mechanism.noisy:
            near, lead = _nearness(stored, release.expected(inputs))
            return (lead if self.release is None else near), lead > 0
        found = _ratios(stored, inputs, release.likelihood(inputs.shape[1], seed=self.seed))
        return found, found > 0

    def recover(self, vectors: Any) -> Recovered:
        """Say of each candidate whether it is in; `details` has the `candidates`."""
        found, inside = self._weighed(vectors)
        rows = [IN if one else OUT for one in inside.tolist()]
        return Recovered(rows, found, {"candidates": len(self.texts)})

    def save(self, path: PathLike) -> str:
        """Write candidates, their vectors and what is known of the victim."""
        victim, arrays = pack_victim(self.release)
        control = None if self.control is None else [self.control.value, self.control.rows]
        config = {"seed": self.seed, "victim": victim, "control": control}
        tensors = {"clean": self.clean, **pack_texts(self.texts), **arrays}
        return artifacts.save(path, self.kind, config, tensors)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read them back."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            texts, clean = checked(unpack_texts(tensors), np.array(tensors["clean"]))
            release = unpack_victim(config["victim"], tensors)[0]
            made = cls(texts, clean, release, whole_number(config["seed"], "seed", 0, 2**63 - 1))
            if config["control"] is not None:
                made.control = Control("AUC", float(config["control"][0]), int(config["control"][1]))
        except (KeyError, TypeError, IndexError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made


def _nearness(stored: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """`[m]` each: how near the nearest row is, and by how much a row is nearer than to any other, at best."""
    rows, wanted = unit_rows(stored), unit_rows(expected)
    height = max(1, _CELLS // len(wanted))
    best, lead = np.full(len(wanted), -np.inf), np.full(len(wanted), -np.inf)
    for start in range(0, len(rows), height):
        near = rows[start : start + height] @ wanted.T
        two = np.partition(near, -2, axis=1)[:, -2:]
        others = np.where(near >= two[:, 1:], two[:, :1], two[:, 1:])
        best, lead = np.maximum(best, near.max(axis=0)), np.maximum(lead, (near - others).max(axis=0))
    return best, lead


def _ratios(stored: Floats, inputs: Floats, weigh: Likelihood) -> Floats:
    """`[m]` log of the mean over rows of p(y | x) over the mean of p(y | x') of all other candidates."""
    height = max(1, _CELLS // len(inputs))
    total = np.full(len(inputs), -np.inf)
    for start in range(0, len(stored), height):
        table = weigh(stored[start : start + height], inputs)
        table = table[np.isfinite(table).any(axis=1)]
        if len(table):
            total = np.logaddexp(total, logsumexp(table - _of_others(table), axis=0))
    return np.asarray(np.maximum(total, -1e6) + np.log(len(inputs) - 1) - np.log(len(stored)))


def _of_others(table: Floats) -> Floats:
    """`(n, m)` log of the sum over all other candidates of each row's likelihoods."""
    every = np.asarray(logsumexp(table, axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        others = every + np.log1p(-np.exp(np.minimum(table - every, 0.0)))
    # Where one outweighs all others, taking it away again would leave rounding: those are added up anew.
    best, rows = table.argmax(axis=1), np.arange(len(table))
    without = table.copy()
    without[rows, best] = -np.inf
    others[rows, best] = logsumexp(without, axis=1)
    return np.asarray(np.maximum(others, table.min() - 1e6))
