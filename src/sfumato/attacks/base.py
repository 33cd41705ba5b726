"""What every attack is: texts and vectors in, an Inverter out, which reads vectors it has never seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import InputError
from sfumato.files import PathLike
from sfumato.preparing import Entrance
from sfumato.randomness import generator
from sfumato.release import Releasing, as_release
from sfumato.types import Vectors

Reads = Literal["terms", "text", "row", "label", "member"]
Needs = Literal["texts", "attacked", "candidates", "nothing"]
OnStep = Callable[[str, float], object]
"""Called with what is going on and which share of it is done, to move a progress bar."""


class Embeds(Protocol):
    """All that an attack asks of the victim's encoder."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What an attack read from some vectors, one entry a row."""

    rows: list[str] | list[list[str]]
    """A text a row, or the terms it names, the likeliest first."""
    scores: NDArray[np.float64]
    """`(n,)` how sure the attack is of each row; higher is surer, in a measure of its own."""
    details: dict[str, Any] = field(default_factory=dict)
    """What only this attack knows: probabilities, ranks, posteriors."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Control:
    """How well the same attack reads clean vectors it was not trained on: the proof that it works at all."""

    metric: str
    value: float
    rows: int


class Inverter(ABC):
    """A fitted attack."""

    kind: ClassVar[str]
    """Names the saved artifact."""
    control: Control | None = None
    """On clean vectors of held-back texts; None where no text was held back."""

    @abstractmethod
    def recover(self, vectors: Any) -> Recovered:
        """Read vectors."""

    @abstractmethod
    def save(self, path: PathLike) -> str:
        """Write the fitted attack as a sealed folder; return its digest."""

    @classmethod
    @abstractmethod
    def load(cls, path: PathLike) -> Inverter:
        """Read a fitted attack back."""


class Attack(ABC):
    """Fits an Inverter to texts and their vectors.

    Subclasses are frozen dataclasses whose fields are the settings, each with a default, `seed` among them.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    reads: ClassVar[Reads]
    """What it recovers: terms of a vocabulary, a whole text, which of some known texts it is, a label of the
    text, or which of some known texts are there at all."""
    needs: ClassVar[Needs] = "texts"
    """What `fit` is given: texts to learn from, other than those attacked; the attacked texts themselves, as
    what the attacker knows; texts of which only some are attacked; or nothing at all."""
    wants: ClassVar[tuple[str, ...]] = ()
    """What there must be beside texts and vectors, by the names of `trials.places`; without it the attack is
    left out where many are run."""
    together: ClassVar[bool] = False
    """Whether it learns from the very rows it reads, and so wants as many of them at once as there are."""
    most_rows: ClassVar[int | None] = None
    """Rows it reads at most where many attacks are run, since it is slow; None for as many as there are."""
    public: ClassVar[bool] = False
    """Whether it learns from clean vectors of public texts and has no use for leaked pairs."""
    proves_itself: ClassVar[bool] = False
    """Whether only the control it measures itself says that it works: clean vectors would prove nothing."""

    @abstractmethod
    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> Inverter:
        """Learn to read vectors.

        Args:
            texts: texts of the attacker's own.
            vectors: `(n, d)` their clean vectors.
            mechanism: what the victim releases through: a mechanism, a `Release` or a protector; the attack
                then trains on freshly noised vectors.
            on_step: hears how far it is.
        """

    def truth(self, texts: Sequence[str]) -> list[list[str]] | None:
        """What is to be named of each text, where the text alone does not say it."""
        return None


def fresh_releases(mechanism: Releasing | None, seed: int | None = None) -> Callable[[Any], Any]:
    """Return the function that noises vectors as the victim does, with noise of its own at every call.

    The attacker knows everything but the noise: mechanism, parameters, filter; a sticky secret is not his.
    A tensor on a device gives a release there.
    """
    release = as_release(mechanism)
    return (lambda vectors: vectors) if release is None else release.fresh(seed)


def entrance_of(mechanism: Releasing | None, embedder: Embeds | None) -> Embeds | None:
    """The victim's encoder: as given, with neutral texts where the victim was given whole and embeds those.

    Args:
        mechanism: what the victim releases through; a protector says what becomes of texts before that.
        embedder: its encoder, or an `Entrance` that says so itself; None takes a protector's own.
    """
    whole = getattr(mechanism, "entrance", None)
    if whole is None or isinstance(embedder, Entrance):
        return embedder
    if embedder is None and getattr(mechanism, "embedder", None) is None:
        return None
    found: Entrance = whole(embedder)
    return found if found.hides else found.encoder


def checked(texts: Sequence[str], vectors: Any) -> tuple[list[str], Vectors]:
    """Texts and as many vectors, or refuse them."""
    array = as_vectors(vectors).astype(np.float32)
    return as_many(texts, len(array)), array


def as_many(texts: Sequence[str], count: int) -> list[str]:
    """Return `count` texts as a list, or refuse them."""
    if isinstance(texts, str):
        raise InputError("`texts` must be a list of texts. Found a single text.")
    if len(texts) != count:
        raise InputError(f"There must be one text a vector. Found {len(texts)} texts and {count} vectors.")
    return list(texts)


def held_back(count: int, share: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and rows to test on, the same ones for the same seed."""
    order = generator(seed).permutation(count)
    cut = min(max(round(share * count), 1), count - 1) if count > 1 else 0
    return np.sort(order[cut:]), np.sort(order[:cut])
