"""Attributes: a label of the text, such as its topic, its sentiment, or its author's sex or age.

The classifier that names terms, with one label a text in place of the terms in it: trained on fresh releases,
calibrated on texts held back, a network, a linear one or their mean, as serves best there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Attack, Control, OnStep, Reads, Recovered, checked
from sfumato.attacks.terms.classifier import TokenClassifier, best_reader
from sfumato.attacks.terms.reader import LISTED, TokenReader
from sfumato.attacks.terms.training_set import TrainingSet
from sfumato.attacks.terms.vocabulary import Vocabulary
from sfumato.concepts.texts.duplicates import split_texts
from sfumato.errors import InputError, ParameterError
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.release import Releasing, as_release
from sfumato.types import Floats

MOST_LABELS = 1000
_SMALLEST = 20


@dataclass(frozen=True, kw_only=True)
class Attributes(Attack):
    """Learns to name a label of a text from its vector."""

    labels: Mapping[str, str] | None = None
    """The label of each text, by the text, of those that are learned from and those that are to be scored;
    see `concepts.texts.labels`. Texts without one are passed over."""
    hidden: tuple[int, ...] = (512,)
    epochs: int = 40
    control: bool = True
    """Whether an attack on noised vectors is fitted to clean ones as well, to show that it works at all."""
    seed: int = 0

    name: ClassVar[str] = "attributes"
    paper: ClassVar[str] = "attribute inference (Song and Raghunathan 2020)"
    summary: ClassVar[str] = "a label of the text: its topic, its sentiment, its author's sex or age"
    reads: ClassVar[Reads] = "label"
    wants: ClassVar[tuple[str, ...]] = ("labels",)

    def __post_init__(self) -> None:
        """Check every field."""
        if self.labels is not None and not isinstance(self.labels, Mapping):
            raise ParameterError(
                f"`labels` must be a mapping of texts to labels. Found {type(self.labels).__name__}."
            )
        whole_number(self.epochs, "epochs", 1, 10**6)
        whole_number(self.seed, "seed", 0, 2**62)

    def truth(self, texts: Sequence[str]) -> list[list[str]] | None:
        """The label of each text; nothing where it has none."""
        known = self.labels or {}
        return [[known[text]] if text in known else [] for text in texts]

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> AttributeReader:
        """Train on fresh releases of the texts that have a label."""
        every, clean = checked(texts, vectors)
        if not self.labels:
            raise ParameterError("`labels` must say the label of each text. Found none. Pass some.")
        labelled = [row for row, text in enumerate(every) if text in self.labels]
        known = [every[row] for row in labelled]
        kinds = sorted({self.labels[text] for text in known})
        if len(known) < _SMALLEST or not 2 <= len(kinds) <= MOST_LABELS:
            raise InputError(
                f"Labels need {_SMALLEST} texts and 2 to {MOST_LABELS} kinds. Found {len(known)} texts with "
                f"{len(kinds)} kinds."
            )
        index = {label: number for number, label in enumerate(kinds)}
        held = np.zeros((len(known), len(kinds)), bool)
        held[np.arange(len(known)), [index[self.labels[text]] for text in known]] = True
        network = TokenClassifier(
            hidden=self.hidden, epochs=self.epochs, control=self.control, seed=self.seed
        )
        learn, keep = split_texts(known, network.held_back, generator(self.seed))
        rows = clean[labelled]
        # Kinds are numbered: how labels are spelled does not matter to the classifier.
        names = Vocabulary(tuple(f"kind {number}" for number in range(len(kinds))))
        training = TrainingSet(
            names, rows[learn], held[learn], rows[keep], held[keep], as_release(mechanism), self.seed
        )
        return AttributeReader.of(kinds, best_reader(network, training, on_step))


class AttributeReader(TokenReader):
    """A fitted classifier: vectors in, a probability for every label out, which sum to one."""

    kind = "attribute-classifier"

    @classmethod
    def of(cls, labels: Sequence[str], found: TokenReader) -> Self:
        """The same classifier with the labels that its numbers stand for."""
        made = cls(labels, found.members, leakage=found.leakage)
        made.tried, made.loss = found.tried, found.loss
        made.search, made.chosen = found.search, found.chosen
        if found.control is not None:
            made.control = Control("accuracy", found.control.value, found.control.rows)
        return made

    def probabilities(self, vectors: Any) -> Floats:
        """`(n, labels)` probability of each label."""
        found = super().probabilities(vectors)
        return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))

    def recover(self, vectors: Any) -> Recovered:
        """Name the likeliest labels of each row."""
        found = self.probabilities(vectors)
        order: NDArray[np.intp] = np.argsort(-found, axis=1, kind="stable")[:, :LISTED]
        rows = [[self.vocabulary[one] for one in row] for row in order.tolist()]
        details = {"probabilities": found, "vocabulary": list(self.vocabulary)}
        return Recovered(rows, found.max(axis=1), details)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read it back."""
        made = super().load(path)
        if made.control is not None:
            made.control = Control("accuracy", made.control.value, made.control.rows)
        return made
