"""Linkage: which of some known texts is this a release of?

The attacker holds a list of texts, among them those behind the releases, and takes for each release the
likeliest under the mechanism's density; where there is none, under a normal law fitted to simulated releases.
Work is cut into blocks, so that memory does not grow with the number of releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Inverter, OnStep, Recovered, checked
from sfumato.attacks.kept_release import pack_texts, pack_victim, unpack_texts, unpack_victim
from sfumato.errors import ArtifactError, InputError
from sfumato.likelihood import by_direction
from sfumato.metrics.intervals import Figure, mean
from sfumato.metrics.ranking import random_order, ranks, top
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.release import AS_IT_IS, Release, Releasing, as_release
from sfumato.types import Floats, Vectors

_CELLS = 1 << 21
"""Pairs of a release and a known text weighed at a time."""
_CONTROL_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class Linkage(Attack):
    """Names the known text behind each release.

    `fit` takes the known texts and their clean vectors: those that enter the mechanism, so for a protector
    with neutral texts `protector.prepare(texts).vectors`.
    """

    listed: int = 10
    """How many of the likeliest texts each row keeps, in `details["top"]`."""
    seed: int = 0

    name: ClassVar[str] = "linkage"
    paper: ClassVar[str] = "maximum likelihood over known texts"
    summary: ClassVar[str] = "which of the known texts is this?"
    reads: ClassVar[Literal["terms", "text", "row"]] = "row"
    needs: ClassVar[Literal["texts", "attacked", "nothing"]] = "attacked"

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.listed, "listed", 1, 10**6)
        whole_number(self.seed, "seed", 0, 2**63 - 1)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> Linker:
        """Keep the known texts and what is known of the release."""
        known, clean = checked(texts, vectors)
        if not known:
            raise InputError("Linkage needs at least one known text. Found none.")
        made = Linker(known, clean, as_release(mechanism), self.listed, self.seed)
        rows = generator(self.seed).permutation(len(known))[:_CONTROL_ROWS]
        found = Linker(known, clean, None, 1, self.seed).rank_of(clean[rows], rows)
        made.control = Control(Linker.measured_by, float((found == 0).mean()), len(rows))
        if on_step is not None:
            on_step("known texts", 1.0)
        return made


class Linker(Inverter):
    """Known texts, ready to be weighed against releases."""

    kind = "linkage-attack"
    measured_by: ClassVar[str] = "top-1"
    """The control's metric."""

    def __init__(
        self, texts: list[str], clean: Vectors, release: Release | None, listed: int = 10, seed: int = 0
    ) -> None:
        self.texts, self.clean, self.release = texts, clean, release
        self.listed, self.seed = min(listed, len(texts)), seed

    def _tables(self, vectors: Any) -> Iterator[tuple[int, Floats]]:
        """Yield the first row of a block and its `(rows, known)` log posteriors."""
        released = as_vectors(vectors).astype(np.float64)
        inputs = self.clean.astype(np.float64)
        release = self.release or AS_IT_IS
        release.check_pair(released, inputs)
        weigh = release.likelihood(inputs.shape[1], seed=self.seed)
        nearest = by_direction(release.expected)
        height = max(1, _CELLS // len(inputs))
        for start in range(0, len(released), height):
            block = released[start : start + height]
            scores = weigh(block, inputs)
            # A law under which a row can come from none of the texts does not say which of them is like it.
            known = np.isfinite(scores).any(axis=1, keepdims=True)
            if not known.all():
                scores = np.where(known, scores, nearest(block, inputs))
            yield start, np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def recover(self, vectors: Any) -> Recovered:
        """Name the likeliest known text of each release; equally likely ones in random order.

        `details` holds `index`, the position of that text, and `top`, those of the `listed` likeliest.
        """
        rng, tops, sure = generator(self.seed), [], []
        for _, table in self._tables(vectors):
            cut = np.argpartition(-table, self.listed - 1, axis=1)[:, : self.listed]
            # Which of those that tie with the last one kept are named is left to chance, not to position.
            edge = np.take_along_axis(table, cut, axis=1).min(axis=1)
            for row in np.flatnonzero((table >= edge[:, None] - 1e-6).sum(axis=1) > self.listed):
                cut[row] = random_order(table[row : row + 1], rng)[0, : self.listed]
            order = random_order(np.take_along_axis(table, cut, axis=1), rng)
            tops.append(np.take_along_axis(cut, order, axis=1))
            sure.append(np.exp(table.max(axis=1)))
        best = np.concatenate(tops) if tops else np.zeros((0, self.listed), np.intp)
        scores = np.concatenate(sure) if sure else np.zeros(0)
        rows = [self.texts[index] for index in best[:, 0].tolist()]
        return Recovered(rows, scores, {"index": best[:, 0], "top": best})

    def rank_of(self, vectors: Any, truth: Any) -> NDArray[np.intp]:
        """`[n]` rank from 0 of the known text that each release really came from."""
        own = np.asarray(truth, np.intp)
        if len(own) != len(as_vectors(vectors)) or (own < 0).any() or (own >= len(self.texts)).any():
            raise InputError(f"`truth` must name one of {len(self.texts)} known texts for every release.")
        found = [
            ranks(table, own[start : start + len(table)], seed=self.seed + start)
            for start, table in self._tables(vectors)
        ]
        return np.concatenate(found) if found else np.zeros(0, np.intp)

    def measure(self, vectors: Any, truth: Any) -> list[Figure]:
        """Top-1, top-10 and mean rank of the true texts."""
        found = self.rank_of(vectors, truth)
        return [top("top-1", found), top("top-10", found, 10), mean("rank", (found + 1).tolist())]

    def save(self, path: PathLike) -> str:
        """Write known texts, their vectors and what is known of the victim."""
        victim, arrays = pack_victim(self.release)
        control = None if self.control is None else [self.control.value, self.control.rows]
        config = {"listed": self.listed, "seed": self.seed, "victim": victim, "control": control}
        return artifacts.save(
            path, self.kind, config, {"clean": self.clean, **pack_texts(self.texts), **arrays}
        )

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read it back."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            texts, clean = checked(unpack_texts(tensors), np.array(tensors["clean"]))
            release = unpack_victim(config["victim"], tensors)[0]
            made = cls(texts, clean, release, int(config["listed"]), int(config["seed"]))
            if config["control"] is not None:
                told = config["control"]
                made.control = Control(cls.measured_by, float(told[0]), int(told[1]))
        except (KeyError, TypeError, IndexError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made
