"""Vec2Text as it was published (seed 003): two T5 models, one that guesses a text and one that corrects it.

The victim's encoder embeds each guess; the corrector sees both vectors, their difference and the guess.
Both train on freshly noised vectors, and a guess is compared as the victim would release it without noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.attacks.base import Attack, Embeds, OnStep, checked, entrance_of, fresh_releases, held_back
from sfumato.attacks.huggingface.pieces import Pieces, padded
from sfumato.attacks.huggingface.reader import T5Reader
from sfumato.attacks.huggingface.t5 import VectorT5
from sfumato.attacks.huggingface.training import FineTuning, Loss, progress, seeded, train
from sfumato.attacks.on_device import rows_on
from sfumato.devices import autocast, chosen_device
from sfumato.embedders import load_embedder
from sfumato.embedders.huggingface.models import Local, find_model, load_tokenizer, load_weights
from sfumato.errors import InputError, ParameterError
from sfumato.numbers import finite_number, whole_number
from sfumato.release import Releasing, as_release
from sfumato.types import Vectors

__all__ = ["T5Corrector", "T5Reader"]


@dataclass(frozen=True, kw_only=True)
class T5Corrector(Attack):
    """Guesses a text from its vector, embeds the guess, corrects it, again and again.

    Args:
        model: a folder with a T5 model, or the local copy of a hub one.
        embedder: the victim's encoder, or its name; None for the protector's own. Not needed for 0 steps.
        steps: rounds of correction; 0 is the hypothesiser alone.
        beam: hypotheses kept for each vector, see `Corrections`.
        positions: encoder positions each vector becomes.
        longest: most pieces in a text; the rest of longer ones is left out.
        epochs: of each of the two models; the paper has 100.
        rate: highest learning rate of T5's own weights.
        head_rate: of the parts that read vectors.
        held_back: share of the texts held back for the control.
        device: such as "cpu" or "cuda"; a GPU when None and there is one.
    """

    model: str = "t5-base"
    embedder: Embeds | str | None = None
    steps: int = 20
    beam: int = 1
    positions: int = 16
    longest: int = 32
    epochs: int = 10
    batch: int = 128
    rate: float = 2e-4
    head_rate: float = 2e-4
    held_back: float = 0.05
    device: str | None = None
    seed: int = 0

    name: ClassVar[str] = "corrector-t5"
    paper: ClassVar[str] = "Vec2Text"
    summary: ClassVar[str] = "writes the text with T5, embeds it, corrects it, as Vec2Text was published"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"

    def __post_init__(self) -> None:
        """Check every field."""
        for name, low, high in (
            ("steps", 0, 10**4),
            ("beam", 1, 64),
            ("positions", 1, 256),
            ("longest", 1, 4096),
            ("epochs", 1, 10**6),
            ("batch", 1, 10**6),
            ("seed", 0, 2**63 - 1),
        ):
            whole_number(getattr(self, name), name, low, high)
        finite_number(self.rate, "rate", 1e-8, 1.0)
        finite_number(self.head_rate, "head_rate", 1e-8, 1.0)
        finite_number(self.held_back, "held_back", 0.0, 0.9)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> T5Reader:
        """Train the hypothesiser, let it guess, and train the corrector on its guesses (section 3.2)."""
        known, clean = checked(texts, vectors)
        if len(known) < 2:
            raise InputError(f"There must be at least two texts to learn from. Found {len(known)}.")
        encoder, release = self._encoder(mechanism), as_release(mechanism)
        local, device = find_model(self.model), chosen_device(self.device)
        training, test = held_back(len(known), self.held_back, self.seed)
        pieces = Pieces.of(load_tokenizer(local))
        own = [known[row] for row in training]
        data = _T5Texts(
            pieces.rows(own, self.longest),
            rows_on(clean[training], device),
            fresh_releases(release, self.seed),
            device,
        )
        with seeded(self.seed, device):
            first = self._network(local, data, corrects=False)
            self._train(first, data, progress(on_step, "hypothesiser"))
            made = T5Reader(first, None, pieces, encoder, release, longest=self.longest)
            if self.steps:
                second = self._network(local, data, corrects=True)
                guesses = made.guesses(data.release(data.clean))
                data = replace(data, guesses=guesses, guessed=made.embed(pieces.decode(guesses)))
                self._train(second, data, progress(on_step, "corrector"))
                made = T5Reader(first, second, pieces, encoder, release, longest=self.longest)
        made.steps, made.beam = self.steps, self.beam
        made.measure([known[row] for row in test], clean[test])
        return made

    def _encoder(self, mechanism: Releasing | None) -> Embeds | None:
        named = load_embedder(self.embedder) if isinstance(self.embedder, str) else self.embedder
        found = entrance_of(mechanism, named)
        if found is not None:
            return found
        if self.steps or self.beam > 1:
            raise ParameterError(
                "`embedder` must be the victim's encoder: guesses are embedded to correct them. Found none. "
                "Name one, or set steps=0 and beam=1."
            )
        return None

    def _network(self, local: Local, data: _T5Texts, *, corrects: bool) -> VectorT5:
        base = load_weights("T5ForConditionalGeneration", local)
        dim = data.release(data.clean[:1]).shape[1]
        made = VectorT5(base, dim, self.positions, corrects=corrects)
        made.to(data.device)
        return made

    def _train(self, network: VectorT5, data: _T5Texts, tell: Any) -> None:
        def epoch_loss(_: int) -> Loss:
            noisy = torch.as_tensor(data.release(data.clean))
            return lambda rows: data.loss(network, noisy, rows)

        recipe = FineTuning(self.epochs, self.batch, self.rate, self.head_rate, self.seed)
        network.train()
        train(network.base, network.heads, len(data.clean), epoch_loss, recipe, tell)
        network.eval()


@dataclass(frozen=True, slots=True)
class _T5Texts:
    """What is learned from: texts as pieces, their vectors, and, for a corrector, guesses and theirs."""

    rows: list[list[int]]
    clean: Any
    release: Any
    device: torch.device
    guesses: list[list[int]] | None = None
    guessed: Vectors | None = None

    def loss(self, network: VectorT5, noisy: torch.Tensor, rows: NDArray[np.intp]) -> torch.Tensor:
        """Mean loss of a piece of these rows, in nats."""
        text = padded([self.rows[row] for row in rows], -100).to(self.device)
        vectors = noisy[rows].to(self.device)
        guess, tokens = None, None
        if self.guesses is not None and self.guessed is not None:
            guess = torch.from_numpy(self.guessed[rows]).to(self.device)
            tokens = [self.guesses[row] for row in rows]
        with autocast(self.device):
            losses = network.losses(network.inputs(vectors, guess, tokens), text)
        return losses.sum() / (text != -100).sum()
