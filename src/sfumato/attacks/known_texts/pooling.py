"""Pooling: several releases that belong together are combined by their likelihoods before terms are named.

Where they are releases of one text, or of near-duplicates (a full stop more, other noise), their mean is
read, by a reader fitted to such means. Where they share a person, a document or a session and not the text,
each is read alone and the odds are multiplied: given the term, what the texts say else is taken for
independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.special import expit, logit, softmax

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Embeds, Inverter, OnStep, Recovered, checked, fresh_releases
from sfumato.attacks.kept_reader import pack_reader, unpack_reader
from sfumato.attacks.known_texts.averaging import AveragedRelease, mean_release
from sfumato.attacks.known_texts.groups import checked_groups, find_groups, reach_of
from sfumato.attacks.terms.attributes import AttributeReader
from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.attacks.terms.reader import LISTED
from sfumato.concepts.concept import Concept
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.metrics.ranking import ranked
from sfumato.numbers import finite_number, whole_number
from sfumato.release import AS_IT_IS, Releasing, as_release
from sfumato.types import Floats, Rows

Shared = Literal["text", "person"]
_LARGEST = 64


@dataclass(frozen=True, kw_only=True)
class Pooling(Attack):
    """Names the terms of releases that belong together.

    Args:
        shares: what releases of one group have in common: their "text", or a "person" (a document, a session)
            whose terms they name in other words.
        groups: the group of each row that will be read; None finds rows of one text by their distance, and
            leaves each row alone where a person is shared.
        sizes: numbers of releases whose mean has a reader of its own; others go to the next lower one.
        vocabulary: the terms to look for, or a concept.
        embedder: the victim's encoder, if it may be queried.
        reader: names terms, in the place of a token classifier with ordinary settings; or labels of texts,
            such as `Attributes`, of which a group has one.
    """

    shares: Shared = "text"
    groups: Sequence[int] | None = None
    sizes: tuple[int, ...] = (1, 2, 4)
    vocabulary: Concept | Sequence[str] | None = None
    embedder: Embeds | None = None
    reader: Attack | None = None
    seed: int = 0

    name: ClassVar[str] = "pooling"
    paper: ClassVar[str] = "composition, by Bayes' rule"
    summary: ClassVar[str] = "several releases of one text or one person, combined before terms are named"
    reads: ClassVar[Literal["terms", "text", "row"]] = "terms"

    def __post_init__(self) -> None:
        """Check every field."""
        if self.shares not in get_args(Shared):
            raise ParameterError(f"`shares` must be one of {get_args(Shared)}. Found {self.shares!r:.40}.")
        sizes = [whole_number(size, "sizes", 1, _LARGEST) for size in self.sizes]
        if sizes[:1] != [1] or sorted(set(sizes)) != sizes:
            raise ParameterError(f"`sizes` must begin with 1 and ascend. Found {sizes}.")
        whole_number(self.seed, "seed", 0, 2**62)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> PoolingReader:
        """Fit a reader to single releases and, where texts are shared, to means of several."""
        known, clean = checked(texts, vectors)
        attack = self.reader or TokenClassifier(
            vocabulary=self.vocabulary, embedder=self.embedder, seed=self.seed
        )
        if attack.reads not in ("terms", "label"):
            raise ParameterError(f"`reader` must name terms or labels. Found one that reads {attack.reads}.")
        readers = {1: attack.fit(known, clean, mechanism, on_step=on_step)}
        victim = as_release(mechanism)
        if self.shares == "text" and victim is not None and victim.mechanism.noisy:
            for size in self.sizes[1:]:
                several = AveragedRelease(
                    victim.mechanism, victim.background, victim.normalise, victim.eraser, times=size
                )
                readers[size] = attack.fit(known, clean, several, on_step=on_step)
        alone = readers[1].recover(fresh_releases(victim, self.seed)(clean))
        prior = np.asarray(alone.details["probabilities"].mean(axis=0))
        reach = reach_of(victim or AS_IT_IS, clean, self.seed)
        made = PoolingReader(readers, prior, reach, self.shares, self.groups)
        made.control = readers[1].control
        return made


class PoolingReader(Inverter):
    """Readers of single releases and of means, and what is needed to combine what they say.

    Args:
        readers: by how many releases the mean that each reads is of; 1 among them.
        prior: `(terms,)` how likely each term is before anything is read.
        reach: how far apart two releases of one text may be.
        shares: see `Pooling`.
        groups: see `Pooling`.
    """

    kind = "pooling-attack"

    def __init__(
        self,
        readers: dict[int, Inverter],
        prior: Floats,
        reach: float,
        shares: Shared = "text",
        groups: Sequence[int] | None = None,
    ) -> None:
        self.readers, self.prior, self.reach = dict(sorted(readers.items())), prior, reach
        self.shares, self.groups = shares, groups

    def grouped(self, vectors: Any) -> Rows:
        """The group of each row: as told, or as found."""
        if self.groups is not None:
            return checked_groups(self.groups, len(vectors))
        return find_groups(vectors, self.reach) if self.shares == "text" else np.arange(len(vectors))

    def recover(self, vectors: Any) -> Recovered:
        """Name the likeliest terms of each row's group; `details` holds the `group` of each row too."""
        rows = as_vectors(vectors)
        groups = self.grouped(rows)
        table, vocabulary = (self._of_texts if self.shares == "text" else self._of_people)(rows, groups)
        found = table[groups]
        names = ranked(found, vocabulary, [LISTED] * len(found))
        details = {"probabilities": found, "vocabulary": vocabulary, "group": groups}
        return Recovered(names, found.max(axis=1, initial=0.0), details)

    def _of_texts(self, rows: Any, groups: Rows) -> tuple[Floats, list[str]]:
        """`(groups, terms)` what is read in the mean of each group."""
        sizes, table = np.bincount(groups), np.zeros((int(groups.max(initial=-1)) + 1, len(self.prior)))
        fit_for = np.array([max(size for size in self.readers if size <= count) for count in sizes], int)
        order = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
        vocabulary: list[str] = []
        for size, reader in self.readers.items():
            chosen = np.flatnonzero(fit_for == size)
            means = [mean_release([rows[[row]] for row in order[each]]) for each in chosen]
            found = reader.recover(np.concatenate(means) if means else rows[:0])
            vocabulary = list(found.details["vocabulary"])
            table[chosen] = found.details["probabilities"]
        return table, vocabulary

    def _of_people(self, rows: Any, groups: Rows) -> tuple[Floats, list[str]]:
        """`(groups, terms)` odds of all members multiplied, with the prior counted once.

        Of labels a text has one, so their probabilities are multiplied and sum to one; terms come alone.
        """
        found = self.readers[1].recover(rows)
        one_label = isinstance(self.readers[1], AttributeReader)
        scale, back = (np.log, softmax) if one_label else (logit, _apart)
        before = scale(np.clip(self.prior, 1e-9, 1 - 1e-9))
        odds = scale(np.clip(found.details["probabilities"], 1e-12, 1 - 1e-12)) - before
        total = np.zeros((int(groups.max(initial=-1)) + 1, odds.shape[1]))
        np.add.at(total, groups, odds)
        return np.asarray(back(total + before, axis=1)), list(found.details["vocabulary"])

    def save(self, path: PathLike) -> str:
        """Write the readers and the prior as one folder."""
        described: dict[str, Any] = {}
        tensors: dict[str, Any] = {"prior": self.prior}
        for size, reader in self.readers.items():
            described[str(size)], packed = pack_reader(reader)
            tensors |= {f"{size}.{name}": values for name, values in packed.items()}
        control = self.control
        config = {
            "readers": described,
            "reach": self.reach,
            "shares": self.shares,
            "groups": None if self.groups is None else [int(group) for group in self.groups],
            "control": None if control is None else [control.metric, control.value, control.rows],
        }
        return artifacts.save(path, self.kind, config, tensors)

    @classmethod
    def load(cls, path: PathLike) -> PoolingReader:
        """Read them back."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            readers = {
                int(size): unpack_reader(
                    each,
                    {
                        name.removeprefix(f"{size}."): np.array(values)
                        for name, values in tensors.items()
                        if name.startswith(f"{size}.")
                    },
                )
                for size, each in config["readers"].items()
            }
            if 1 not in readers or config["shares"] not in get_args(Shared):
                raise ArtifactError("The saved attack must read single releases. Found no such reader.")
            reach = finite_number(config["reach"], "reach", 0.0, 1e9)
            made = cls(readers, np.array(tensors["prior"]), reach, config["shares"], config["groups"])
            if config["control"] is not None:
                metric, value, count = config["control"]
                made.control = Control(str(metric), float(value), int(count))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made


def _apart(odds: Floats, axis: int) -> Floats:
    """Probabilities of terms that do not exclude each other."""
    return np.asarray(expit(odds))
