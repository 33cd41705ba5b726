"""Which terms are in the text: a multi-label classifier on vectors (MLC; SPARSE, appendix I.3; DPPN).

Adaptive: it is trained on vectors that are noised anew in every epoch, exactly as the victim noises them.
Where it may query the victim's encoder, it also trains on its texts with other terms put in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import finite_number, whole_number
from sfumato.attacks.base import (
    Attack,
    Control,
    Embeds,
    OnStep,
    Release,
    Vectors,
    checked,
    fresh_releases,
)
from sfumato.attacks.likelihood import embeds_neutral
from sfumato.attacks.perceptron import Inputs, Perceptron, Schedule, train
from sfumato.attacks.reader import TokenReader, platt
from sfumato.attacks.scores import ranked, top_share
from sfumato.attacks.vocabulary import Vocabulary
from sfumato.concepts.concept import Concept
from sfumato.concepts.duplicates import near_duplicates, split
from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Mechanism
from sfumato.protector import Protector
from sfumato.randomness import generator

_CONTROL_DRAWS = 2
_SMALLEST = 10


@dataclass(frozen=True, kw_only=True)
class TokenClassifier(Attack):
    """Learns to name the terms of a text from its vector.

    The paper's network is `hidden=(512, 256, 128)`, `dropout=0`; `hidden=()` is a linear one.
    """

    vocabulary: Sequence[str] | Concept | None = None
    """The terms to look for; None for the words that stand in at least `at_least` texts."""
    embedder: Embeds | None = None
    """The victim's encoder, if it may be queried: texts with other terms put in are then learned from too."""
    copies: int = 8
    """How many such texts to make of each text that names a term of a concept."""
    hidden: tuple[int, ...] = (512,)
    epochs: int = 40
    batch: int = 512
    dropout: float = 0.3
    weight_decay: float = 1e-2
    inputs: Literal["auto"] | Inputs = "auto"
    """How vectors are scaled, see `Inputs`; auto: "scaled" for clean vectors, "white" for noised ones."""
    members: int = 1
    """How many networks to average."""
    at_least: int = 5
    most: int = 2000
    """The most words looked for when no vocabulary is given."""
    held_back: float = 0.1
    """Share of the texts kept back to calibrate and choose by; near-duplicates stay together."""
    control: bool = True
    """Whether an attack on noised vectors is fitted to clean ones as well, to show that it works at all."""
    seed: int = 0

    name: ClassVar[str] = "tokens"
    paper: ClassVar[str] = "MLC (Song and Raghunathan 2020), as in SPARSE and DPPN"
    summary: ClassVar[str] = "which words, or which of a concept's terms, are in the text"
    reads: ClassVar[Literal["terms", "text", "row"]] = "terms"

    def __post_init__(self) -> None:
        """Check every field."""
        for name, low, high in (
            ("copies", 0, 1000),
            ("epochs", 1, 10**6),
            ("batch", 1, 10**7),
            ("members", 1, 100),
            ("at_least", 1, 10**9),
            ("most", 1, 10**6),
            ("seed", 0, 2**62),
        ):
            whole_number(getattr(self, name), name, low, high)
        for width in self.hidden:
            whole_number(width, "hidden", 1, 1 << 16)
        finite_number(self.dropout, "dropout", 0.0, 0.95)
        finite_number(self.weight_decay, "weight_decay", 0.0, 10.0)
        finite_number(self.held_back, "held_back", 0.01, 0.5)
        if self.inputs not in ("auto", *get_args(Inputs)):
            known = ", ".join(("auto", *get_args(Inputs)))
            raise ParameterError(f"`inputs` must be one of {known}. Found {self.inputs!r:.40}.")

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Mechanism | Protector | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> TokenReader:
        """Train on fresh releases of the vectors; see `Attack.fit`."""
        lesson = self._lesson(texts, vectors, mechanism, on_step)
        made = lesson.reader(self._members(lesson, on_step))
        return self._with_control(made, lesson, on_step)

    def _with_control(self, made: TokenReader, lesson: _Lesson, on_step: OnStep | None) -> TokenReader:
        """Fitted to noise it may read clean vectors badly: the control is the same attack fitted to those."""
        if lesson.noised:
            made.control = None
            if self.control:
                clean = lesson.without_noise()
                made.control = clean.reader(self._members(clean, on_step)).control
        return made

    def _members(self, lesson: _Lesson, on_step: OnStep | None) -> list[Perceptron]:
        automatic: Inputs = "white" if lesson.noised else "scaled"
        inputs = automatic if self.inputs == "auto" else self.inputs
        schedule = Schedule(self.hidden, self.epochs, self.batch, self.dropout, self.weight_decay, inputs)
        members = []
        for member in range(self.members):

            def on_epoch(epoch: int, member: int = member) -> None:
                if on_step is not None:
                    on_step("training", (member + (epoch + 1) / self.epochs) / self.members)

            members.append(
                train(
                    lesson.clean,
                    lesson.held,
                    lesson.release,
                    schedule,
                    self.seed + member,
                    on_epoch,
                )
            )
        return members

    def _lesson(
        self, texts: Sequence[str], vectors: Any, victim: Mechanism | Protector | None, on_step: OnStep | None
    ) -> _Lesson:
        known, clean = checked(texts, vectors)
        if len(known) < _SMALLEST:
            raise InputError(f"The classifier needs at least {_SMALLEST} texts. Found {len(known)}.")
        rng = generator(self.seed)
        learn, keep = split_texts(known, self.held_back, rng)
        vocabulary = Vocabulary.of(
            self.vocabulary, [known[row] for row in learn], at_least=self.at_least, most=self.most
        )
        held = vocabulary.table(vocabulary.find(known))
        if not held[learn].any():
            raise InputError(
                f"No text names one of the {len(vocabulary.terms)} terms, so none can be learned."
            )
        rows, labels = clean[learn], held[learn]
        if not embeds_neutral(victim):  # whose neutral texts are the same for every term
            made = self._substitutes(vocabulary, [known[row] for row in learn if held[row].any()], rng)
            if made and self.embedder is not None:
                if on_step is not None:
                    on_step("embedding other terms", 0.0)
                rows = np.concatenate([rows, np.asarray(self.embedder.embed(made), np.float32)])
                labels = np.concatenate([labels, vocabulary.table(vocabulary.find(made))])
        release = fresh_releases(victim, self.seed)
        return _Lesson(vocabulary, rows, labels, clean[keep], held[keep], release, victim is not None)

    def _substitutes(self, vocabulary: Vocabulary, texts: list[str], rng: np.random.Generator) -> list[str]:
        concept = vocabulary.concept
        if self.embedder is None or concept is None or concept.swap is None or len(vocabulary.terms) < 2:
            return []
        return [concept.substitute(text, rng) for _ in range(self.copies) for text in texts]


class _Lesson:
    """What is learned from, and what is held back to calibrate and choose by."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        clean: Vectors,
        held: NDArray[np.bool_],
        tested: Vectors,
        kept: NDArray[np.bool_],
        release: Release,
        noised: bool,
    ) -> None:
        self.vocabulary, self.clean, self.held, self.noised = vocabulary, clean, held, noised
        self.release, self.tested, self.true = release, tested, kept
        # More than one draw, so that the calibration does not hang on one.
        self.noisy = np.concatenate([release(tested) for _ in range(_CONTROL_DRAWS)])
        self.kept = np.tile(kept, (_CONTROL_DRAWS, 1))

    def without_noise(self) -> _Lesson:
        """The same lesson on clean vectors."""
        return _Lesson(
            self.vocabulary, self.clean, self.held, self.tested, self.true, fresh_releases(None), False
        )

    def reader(self, members: list[Perceptron]) -> TokenReader:
        """Calibrate the mean of the members on the held-back rows (Platt 1999) and measure the control."""
        mean = np.mean([member.logits(self.noisy) for member in members], axis=0)
        slope, shift = platt(mean, self.kept)
        made = TokenReader(
            self.vocabulary.terms,
            tuple(member.rescaled(slope, shift) for member in members),
            leakage=self.leakage(mean),
        )
        rows = self.true.any(axis=1)
        clean = made.logits(self.tested[rows])
        made.control = Control("leakage", self._share(clean, self.true[rows]), int(rows.sum()))
        return made

    def leakage(self, logits: NDArray[np.floating[Any]]) -> float:
        """Share of terms among the top guesses on held-back rows."""
        return self._share(logits, self.kept)

    def _share(self, logits: NDArray[np.floating[Any]], kept: NDArray[np.bool_]) -> float:
        terms = np.array(self.vocabulary.terms, object)
        truth = [list(terms[row]) for row in kept]
        return top_share(truth, ranked(logits, list(terms), kept.sum(axis=1).tolist())).value


def split_texts(
    texts: Sequence[str], share: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from and about `share` of them to test on, with near-duplicates on one side.

    Where nearly all texts are alike, as made-up ones may be, that would leave too few: rows are then drawn
    one by one.
    """
    learn, keep = split(near_duplicates(texts), share, rng)
    if len(keep) < share * len(texts) / 2:
        order = rng.permutation(len(texts))
        cut = min(max(1, round(share * len(texts))), len(texts) - 1)
        learn, keep = np.sort(order[cut:]), np.sort(order[:cut])
    return learn, keep


LINEAR: dict[str, Any] = {"hidden": (), "inputs": "white", "dropout": 0.0}
"""What makes the classifier a linear one."""


def best_of(
    attack: TokenClassifier,
    texts: Sequence[str],
    vectors: Any,
    mechanism: Mechanism | Protector | None = None,
    *,
    on_step: OnStep | None = None,
) -> TokenReader:
    """Fit `attack`, a linear classifier and their mean; return the one that leaks most on held-back rows.

    Its `tried` holds the leakage of each there.
    """
    lesson = attack._lesson(texts, vectors, mechanism, on_step)
    linear = replace(attack, **LINEAR)
    network = lesson.reader(attack._members(lesson, on_step))
    straight = lesson.reader(linear._members(lesson, on_step))
    readers = {
        "both": lesson.reader([*network.members, *straight.members]),
        "network": network,
        "linear": straight,
    }
    best = max(readers.values(), key=lambda reader: reader.leakage)
    best.tried = {name: reader.leakage for name, reader in readers.items()}
    return attack._with_control(best, lesson, on_step)
