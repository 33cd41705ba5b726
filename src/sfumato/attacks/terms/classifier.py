"""Which terms are in the text: a multi-label classifier on vectors (MLC; SPARSE, appendix I.3; DPPN).

Adaptive: it is trained on vectors that are noised anew in every epoch, exactly as the victim noises them.
Where it may query the victim's encoder, it also trains on its texts with other terms put in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from sfumato.attacks.base import Attack, Embeds, OnStep, checked, entrance_of
from sfumato.attacks.terms.perceptron import Inputs, Perceptron, Schedule
from sfumato.attacks.terms.reader import TokenReader
from sfumato.attacks.terms.training_set import TrainingRun, TrainingSet, train_all
from sfumato.attacks.terms.vocabulary import Vocabulary
from sfumato.concepts.concept import Concept
from sfumato.concepts.texts.duplicates import split_texts
from sfumato.errors import InputError, ParameterError
from sfumato.numbers import finite_number, whole_number
from sfumato.preparing import Entrance
from sfumato.randomness import generator
from sfumato.release import Releasing, as_release
from sfumato.types import Vectors

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
    """How vectors are scaled, see `Inputs`; auto: as serves a linear classifier best on held-back rows."""
    members: int = 1
    """How many networks to average."""
    at_least: int = 5
    most: int = 2000
    """The most words looked for when no vocabulary is given."""
    held_back: float = 0.1
    """Share of the texts kept back to calibrate and choose by; near-duplicates stay together."""
    control: bool = True
    """Whether an attack on noised vectors is fitted to clean ones as well, to show that it works at all."""
    device: str | None = None
    """Such as "cuda": noise and networks then stay on it; None for the CPU, with noise drawn by numpy."""
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
        if self.device is not None and not isinstance(self.device, str):
            raise ParameterError(f"`device` must be a name or None. Found {type(self.device).__name__}.")
        if self.inputs not in ("auto", *get_args(Inputs)):
            known = ", ".join(("auto", *get_args(Inputs)))
            raise ParameterError(f"`inputs` must be one of {known}. Found {self.inputs!r:.40}.")

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> TokenReader:
        """Train on fresh releases of the vectors; see `Attack.fit`."""
        training = self.training_set(texts, vectors, mechanism, on_step)
        return _fit(self, training, on_step)["network"]

    def runs(self, training: TrainingSet) -> list[TrainingRun]:
        """Its networks, once it is said how vectors are scaled."""
        assert self.inputs != "auto"
        schedule = Schedule(
            self.hidden, self.epochs, self.batch, self.dropout, self.weight_decay, self.inputs
        )
        return [TrainingRun(training, schedule, self.seed + member) for member in range(self.members)]

    def training_set(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        on_step: OnStep | None = None,
    ) -> TrainingSet:
        """What it learns from and what it holds back, for whoever trains several at once."""
        known, clean = self._checked(texts, vectors)
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
        rows, labels, copies = clean[learn], held[learn], 0
        asked = self.embedder is not None
        encoder = Entrance.of(entrance_of(mechanism, self.embedder) if asked else None)
        if not encoder.hides:  # neutral texts are the same for every term
            made = self._substitutes(vocabulary, [known[row] for row in learn if held[row].any()], rng)
            if made:
                copies = self.copies
                if on_step is not None:
                    on_step("embedding other terms", 0.0)
                rows = _joined(rows, np.asarray(encoder.embed(made), np.float32))
                labels = np.concatenate([labels, vocabulary.table(vocabulary.find(made))])
        tested = clean[keep] if self.device is None else clean[keep].cpu().numpy()
        return TrainingSet(
            vocabulary, rows, labels, tested, held[keep], as_release(mechanism), self.seed, copies=copies
        )

    def _checked(self, texts: Sequence[str], vectors: Any) -> tuple[list[str], Any]:
        if self.device is None:
            return checked(texts, vectors)
        from sfumato.attacks.on_device import checked_on, place

        return checked_on(texts, vectors, place(self.device))

    def _substitutes(self, vocabulary: Vocabulary, texts: list[str], rng: np.random.Generator) -> list[str]:
        concept = vocabulary.concept
        if self.embedder is None or concept is None or concept.swap is None or len(vocabulary.terms) < 2:
            return []
        return [concept.substitute(text, rng) for _ in range(self.copies) for text in texts]


def _joined(rows: Any, more: Vectors) -> Any:
    """Rows and more of them, where the first are."""
    if isinstance(rows, np.ndarray):
        return np.concatenate([rows, more])
    import torch

    return torch.cat([rows, torch.from_numpy(more).to(rows.device)])


LINEAR: dict[str, Any] = {"hidden": (), "dropout": 0.0}
"""What makes the classifier a linear one."""
SHAPES = ("both", "network", "linear")
"""What `best_of` chooses from: the mean of a network and a linear classifier, or one of them."""


def best_of(
    attack: TokenClassifier,
    texts: Sequence[str],
    vectors: Any,
    mechanism: Releasing | None = None,
    *,
    on_step: OnStep | None = None,
) -> TokenReader:
    """Fit `attack`, a linear classifier and their mean; return the one that foretells held-back rows best.

    Its `tried` holds the leakage of each there, `search` what it was chosen from, `chosen` what it is.
    """
    return best_reader(attack, attack.training_set(texts, vectors, mechanism, on_step), on_step)


def best_reader(attack: TokenClassifier, training: TrainingSet, on_step: OnStep | None = None) -> TokenReader:
    """The same on a training set that is there; see `best_of`."""
    readers = _fit(attack, training, on_step, shapes=SHAPES)
    best = min(readers.values(), key=lambda reader: reader.loss)
    best.tried = {name: reader.leakage for name, reader in readers.items()}
    return best


def _searched(attack: TokenClassifier, shapes: Sequence[str]) -> dict[str, Any]:
    """What a classifier is chosen from; figures of another search cannot be compared."""
    names = ("hidden", "epochs", "batch", "dropout", "weight_decay", "members", "held_back")
    given = {name: getattr(attack, name) for name in names}
    plain = {name: list(each) if isinstance(each, tuple) else each for name, each in given.items()}
    return {"shapes": list(shapes), "inputs": list(_scalings(attack))} | plain


def _scalings(attack: TokenClassifier) -> tuple[Inputs, ...]:
    return get_args(Inputs) if attack.inputs == "auto" else (attack.inputs,)


def _fit(
    attack: TokenClassifier,
    training: TrainingSet,
    on_step: OnStep | None,
    *,
    shapes: Sequence[str] = ("network",),
) -> dict[str, TokenReader]:
    """Fit a classifier in several shapes, and as a network to clean vectors where there is noise.

    Fitted to noise a classifier may read clean vectors badly, so that is the control of all.
    """
    noisy = training.release is not None
    sets = [training, training.without_noise()] if noisy and attack.control else [training]
    probed = [
        _straight(attack, rows, on_step, needed="linear" in shapes and rows is training) for rows in sets
    ]
    runs = [replace(attack, inputs=inputs).runs(rows) for rows, (inputs, _) in zip(sets, probed, strict=True)]
    trained = iter(train_all([run for each in runs for run in each], on_step))
    networks = [[next(trained) for _ in each] for each in runs]
    inputs, straight = probed[0]
    members = {"both": [*networks[0], *straight], "network": networks[0], "linear": straight}
    readers = {shape: training.reader(members[shape]) for shape in shapes}
    control = sets[-1].reader(networks[-1]).control if len(sets) > 1 else None
    for shape, reader in readers.items():
        reader.control = control if noisy else reader.control
        reader.search = _searched(attack, shapes)
        reader.chosen = {"shape": shape, "inputs": inputs, "copies": training.copies, "loss": reader.loss}
    return readers


def _straight(
    attack: TokenClassifier, training: TrainingSet, on_step: OnStep | None, *, needed: bool
) -> tuple[Inputs, list[Perceptron]]:
    """The scaling that serves a linear classifier best on held-back rows, and that classifier.

    A linear one tells as much as a network which scaling shows more, at half the time. With one scaling it
    is trained only where it is `needed`.
    """
    scalings = _scalings(attack)
    if len(scalings) == 1 and not needed:
        return scalings[0], []
    runs = [replace(attack, **LINEAR, inputs=inputs).runs(training) for inputs in scalings]
    trained = iter(train_all([run for each in runs for run in each], on_step))
    tried = {inputs: [next(trained) for _ in each] for inputs, each in zip(scalings, runs, strict=True)}
    best = min(tried, key=lambda inputs: training.reader(tried[inputs]).loss)
    return best, tried[best]
