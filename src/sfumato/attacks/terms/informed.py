"""The informed attacker: knows the sentence but for the sensitive term, and everything about the release.

He embeds the sentence with every candidate in the term's place and takes the likeliest under the mechanism's
own density (maximum likelihood, or Bayes with a prior). No attack that reads one release can do better: it is
what metric differential privacy speaks about, and it needs no training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Attack, Control, Embeds, Inverter, OnStep, Recovered, checked, entrance_of
from sfumato.attacks.kept_release import pack_victim, unpack_victim
from sfumato.concepts.concept import Concept
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.likelihood import Likelihood
from sfumato.metrics.intervals import Figure, mean
from sfumato.metrics.ranking import random_order, ranks, top
from sfumato.preparing import Entrance
from sfumato.randomness import generator
from sfumato.release import AS_IT_IS, Release, Releasing, as_release
from sfumato.types import Floats

LISTED = 10
"""How many of the candidates a row names."""


def guess(
    released: Any,
    candidates: Any,
    mechanism: Releasing | None = None,
    *,
    prior: Sequence[float] | Floats | None = None,
    seed: int = 0,
) -> Floats:
    """Return `[k]` the posterior of each candidate, given one release.

    Args:
        released: `(d,)` or `(1, d)`.
        candidates: `(k, d)` the clean vectors it may be a release of.
        mechanism: what it was released through; None for no noise.
        prior: `[k]` how likely each was before; equally, if left out.
        seed: simulates releases where the mechanism has no density.
    """
    inputs = as_vectors(candidates).astype(np.float64)
    one = as_vectors(np.atleast_2d(np.asarray(released))).astype(np.float64)
    if len(one) != 1:
        raise InputError(f"`guess` takes one release. Found {len(one)}. Use `guess_all`.")
    return guess_all(one, [inputs], mechanism, prior=prior, seed=seed)[0]


def guess_all(
    released: Any,
    candidates: Sequence[Any],
    mechanism: Releasing | None = None,
    *,
    prior: Sequence[float] | Floats | None = None,
    seed: int = 0,
) -> list[Floats]:
    """Return the posterior over its own candidates for each release; see `guess`."""
    outputs = as_vectors(released).astype(np.float64)
    if len(outputs) != len(candidates):
        raise InputError(
            f"Every release must have its candidates. Found {len(outputs)} and {len(candidates)}."
        )
    sets = [as_vectors(each).astype(np.float64) for each in candidates]
    if not sets:
        return []
    release = as_release(mechanism) or AS_IT_IS
    known = release.likelihood(sets[0].shape[1], seed=seed)
    for inputs in sets:
        release.check_pair(outputs, inputs)
    return [
        _posterior(known, row, inputs, _checked_prior(prior, len(inputs)))
        for row, inputs in zip(outputs, sets, strict=True)
    ]


def _checked_prior(prior: Sequence[float] | Floats | None, count: int) -> Floats:
    weights = np.ones(count) if prior is None else np.asarray(prior, np.float64)
    if (
        weights.shape != (count,)
        or not np.isfinite(weights).all()
        or (weights < 0).any()
        or not weights.any()
    ):
        raise ParameterError(
            f"`prior` must be {count} numbers of at least 0, one a candidate. Found shape {weights.shape}."
        )
    return weights


def _posterior(known: Likelihood, row: Floats, inputs: Floats, prior: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        scores = known(row[None], inputs)[0] + np.log(prior)
    if not np.isfinite(scores).any():  # no candidate is possible: nothing was learned
        return np.asarray(prior / prior.sum())
    return np.asarray(np.exp(scores - logsumexp(scores)))


@dataclass(frozen=True, kw_only=True)
class Informed(Attack):
    """Names the term that was left out of a known sentence.

    `fit` takes the attacked texts themselves, in the order of the releases that `recover` will read.
    """

    concept: Concept | Sequence[str] | None = None
    """What the attacker is after: a concept with terms, or the candidate terms."""
    embedder: Embeds | None = None
    """The victim's encoder, or its `Entrance` where it embeds neutral texts; a protector brings its own."""
    prior: Mapping[str, float] | None = None
    """How likely each term is beforehand; equally, if left out."""
    seed: int = 0

    name: ClassVar[str] = "informed"
    paper: ClassVar[str] = "the adversary of metric differential privacy"
    summary: ClassVar[str] = "knows the sentence but for the term, and the mechanism's density"
    reads: ClassVar[Literal["terms", "text", "row"]] = "terms"
    needs: ClassVar[Literal["texts", "attacked", "nothing"]] = "attacked"

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> InformedReader:
        """Embed every candidate of every text that names exactly one term; other texts are not asked."""
        sentences, clean = checked(texts, vectors)
        concept = candidate_terms(self.concept)
        terms = tuple(term.lower() for term in concept.terms)
        prior = _checked_prior(
            None if self.prior is None else [self.prior.get(term, 0.0) for term in terms], len(terms)
        )
        encoder = Entrance.of(entrance_of(mechanism, self.embedder))
        if encoder.encoder is None:
            raise ParameterError("`embedder` must be the victim's encoder. Found none. Pass one.")
        found = [concept.terms_in(text) for text in sentences]
        asked = np.array([len(each) == 1 and each[0] in terms for each in found], bool)
        blocks = []
        for done, row in enumerate(np.flatnonzero(asked).tolist()):
            swapped = [concept.replace(sentences[row], term) for term in concept.terms]
            swapped[terms.index(found[row][0])] = sentences[row]
            blocks.append(np.asarray(encoder.embed(swapped), np.float32))
            if on_step is not None:
                on_step("embedding candidates", (done + 1) / asked.sum())
        if not blocks:
            raise InputError(
                f"No text names exactly one term of `{concept.name}`, so there is nothing to ask."
            )
        made = InformedReader(np.stack(blocks), asked, terms, as_release(mechanism), prior, self.seed)
        if not encoder.hides:  # clean vectors are among the candidates
            truth = [terms.index(each[0]) for each, ask in zip(found, asked, strict=True) if ask]
            made.measure_control(clean[asked], truth)
        return made


def candidate_terms(given: Concept | Sequence[str] | None) -> Concept:
    """What an attacker chooses from: a concept of two terms or more."""
    if given is None:
        raise ParameterError("`concept` must say what the attacker is after. Found none. Pass one.")
    concept = given if isinstance(given, Concept) else Concept.from_terms("terms", given)
    if len(concept.terms) < 2:
        raise ParameterError(
            f"`concept` must have at least 2 terms to choose from. Found {len(concept.terms)}."
        )
    return concept


class InformedReader(Inverter):
    """Candidates of every attacked text, ready to be weighed against its release."""

    kind = "informed-attack"

    def __init__(
        self,
        candidates: NDArray[np.float32],
        asked: NDArray[np.bool_],
        terms: tuple[str, ...],
        release: Release | None,
        prior: Floats,
        seed: int = 0,
    ) -> None:
        self.candidates, self.asked, self.terms = candidates, asked, terms
        """`(texts asked, k, d)`, which texts those are, and the k terms."""
        self.release, self.prior, self.seed = release, prior, seed

    def measure_control(self, clean: NDArray[np.float32], truth: list[int]) -> None:
        """Read the clean vectors of the texts that are asked."""
        posteriors = np.stack(guess_all(clean, list(self.candidates), None))
        found = ranks(np.log(posteriors + 1e-300), np.array(truth), seed=self.seed)
        self.control = Control("top-1", float((found == 0).mean()), len(found))

    def recover(self, vectors: Any) -> Recovered:
        """Weigh the candidates of each text against its release; equally likely ones in random order."""
        released = as_vectors(vectors)
        if len(released) != len(self.asked):
            raise InputError(
                f"There must be one release for each of the {len(self.asked)} known texts, in their order. "
                f"Found {len(released)}."
            )
        posteriors = np.stack(
            guess_all(
                released[self.asked], list(self.candidates), self.release, prior=self.prior, seed=self.seed
            )
        )
        order = random_order(np.log(posteriors + 1e-300), generator(self.seed))
        rows: list[list[str]] = [[] for _ in self.asked]
        probabilities = np.zeros((len(self.asked), len(self.terms)))
        probabilities[self.asked] = posteriors
        for row, columns in zip(np.flatnonzero(self.asked).tolist(), order.tolist(), strict=True):
            rows[row] = [self.terms[column] for column in columns[:LISTED]]
        return Recovered(
            rows,
            probabilities.max(axis=1),
            {"probabilities": probabilities, "vocabulary": list(self.terms), "asked": self.asked},
        )

    def measure(self, recovered: Recovered, truth: Sequence[str | None]) -> list[Figure]:
        """Top-1, top-5, mean rank and mean posterior of the true terms, over the texts that were asked."""
        index = {term: number for number, term in enumerate(self.terms)}
        rows = [row for row in np.flatnonzero(self.asked).tolist() if truth[row] is not None]
        own = np.array([index[str(truth[row]).lower()] for row in rows], np.intp)
        posteriors = recovered.details["probabilities"][rows]
        found = ranks(np.log(posteriors + 1e-300), own, seed=self.seed)
        return [
            top("top-1", found),
            top("top-5", found, 5),
            mean("rank", (found + 1).tolist()),
            mean("posterior of the truth", posteriors[np.arange(len(own)), own].tolist()),
        ]

    def save(self, path: PathLike) -> str:
        """Write candidates, terms and what is known of the victim."""
        victim, arrays = pack_victim(self.release)
        config = {
            "terms": list(self.terms),
            "seed": self.seed,
            "victim": victim,
            "control": None if self.control is None else [self.control.value, self.control.rows],
        }
        own = {"candidates": self.candidates, "asked": self.asked, "prior": self.prior}
        return artifacts.save(path, self.kind, config, {**own, **arrays})

    @classmethod
    def load(cls, path: PathLike) -> InformedReader:
        """Read it back."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            made = cls(
                np.asarray(tensors["candidates"], np.float32),
                np.asarray(tensors["asked"], bool),
                tuple(config["terms"]),
                unpack_victim(config["victim"], tensors)[0],
                np.asarray(tensors["prior"], np.float64),
                int(config["seed"]),
            )
            if config["control"] is not None:
                made.control = Control("top-1", float(config["control"][0]), int(config["control"][1]))
        except (KeyError, TypeError, IndexError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        if made.candidates.shape[:2] != (int(made.asked.sum()), len(made.terms)):
            raise ArtifactError(
                f"There must be candidates for each text and term. Found shape {made.candidates.shape}."
            )
        return made
