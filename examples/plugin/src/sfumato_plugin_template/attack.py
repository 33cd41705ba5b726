"""Takes the text of the nearest vector it has seen: the simplest attack that reads a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato import artifacts
from sfumato.attacks import Attack, Control, Inverter, Recovered
from sfumato.attacks.base import checked, held_back
from sfumato.attacks.kept_release import pack_texts, unpack_texts
from sfumato.errors import ArtifactError


@dataclass(frozen=True, kw_only=True)
class Parrot(Attack):
    """Repeats what it has seen."""

    seed: int = 0

    name: ClassVar[str] = "parrot"
    paper: ClassVar[str] = "none: an example"
    summary: ClassVar[str] = "repeats the text of the nearest vector it has seen"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"

    def fit(
        self, texts: Sequence[str], vectors: Any, mechanism: Any = None, *, on_step: Any = None
    ) -> Memories:
        """Remember them all, but for some that say how well it does."""
        own, clean = checked(texts, vectors)
        train, test = held_back(len(own), 0.1, self.seed)
        made = Memories([own[row] for row in train], clean[train])
        guessed = made.recover(clean[test]).rows
        exact = [guess == own[row] for guess, row in zip(guessed, test, strict=True)]
        made.control = Control("exact", float(np.mean(exact)) if exact else 0.0, len(exact))
        return made


class Memories(Inverter):
    """Texts and their vectors."""

    kind = "parrot-attack"

    def __init__(self, texts: list[str], clean: Any) -> None:
        self.texts, self.clean = texts, clean

    def recover(self, vectors: Any) -> Recovered:
        """The text of the nearest vector by cosine."""
        seen = self.clean / np.linalg.norm(self.clean, axis=1, keepdims=True)
        asked = np.asarray(vectors, np.float32)
        likeness = asked @ seen.T / np.linalg.norm(asked, axis=1, keepdims=True)
        best = likeness.argmax(axis=1)
        return Recovered([self.texts[row] for row in best], likeness.max(axis=1).astype(np.float64))

    def save(self, path: Any) -> str:
        """Write it as a sealed folder."""
        return artifacts.save(path, self.kind, {}, {"clean": self.clean, **pack_texts(self.texts)})

    @classmethod
    def load(cls, path: Any) -> Memories:
        """Read it back."""
        tensors = artifacts.load(path, cls.kind).tensors
        if "clean" not in tensors:
            raise ArtifactError("The saved attack lacks its vectors. Fit it again.")
        return cls(*checked(unpack_texts(tensors), np.array(tensors["clean"])))
