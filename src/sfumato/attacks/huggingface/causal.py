"""Any local Hugging Face language model, taught to write texts from their vectors (GEIA).

The vector becomes a prefix of the model, which then writes the text behind it. It trains on freshly noised
vectors in every epoch, on a GPU in bfloat16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import (
    Attack,
    Control,
    Inverter,
    OnStep,
    Recovered,
    checked,
    fresh_releases,
    held_back,
)
from sfumato.attacks.huggingface.pieces import Pieces, padded
from sfumato.attacks.huggingface.prefix import PrefixModel
from sfumato.attacks.huggingface.training import (
    FineTuning,
    Loss,
    progress,
    restore,
    seeded,
    train,
    tuned_weights,
)
from sfumato.attacks.on_device import rows_on
from sfumato.devices import autocast, chosen_device
from sfumato.embedders.huggingface.models import SMOLLM2, find_model, load_tokenizer, load_weights
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.metrics.reconstruction import token_f1
from sfumato.numbers import finite_number, whole_number
from sfumato.release import Releasing
from sfumato.types import Vectors

_CONTROL_ROWS = 200
_READ_ROWS = 64


@dataclass(frozen=True, kw_only=True)
class LanguageModelDecoder(Attack):
    """Writes the text with a ready-made language model whose prefix is the vector.

    Args:
        model: a folder, the local copy of a hub model, or "smollm2" for the packaged SmolLM2-135M.
        positions: prefix positions the vector becomes; GEIA has one.
        blocks: how many of the model's last blocks learn beside the projection; None for every weight.
        longest: most pieces in a text; the rest of longer ones is left out.
        rate: highest learning rate of the model's own weights.
        head_rate: of the projection.
        temperature: 0 writes the likeliest piece each time; above 0, samples.
        samples: texts drawn for each vector where the temperature is above 0; the likeliest is kept.
        held_back: share of the texts held back for the control.
        device: such as "cpu" or "cuda"; a GPU when None and there is one.
    """

    model: str = SMOLLM2
    positions: int = 16
    blocks: int | None = None
    longest: int = 32
    epochs: int = 3
    batch: int = 64
    rate: float = 2e-4
    head_rate: float = 1e-3
    temperature: float = 0.0
    samples: int = 1
    held_back: float = 0.05
    device: str | None = None
    seed: int = 0

    name: ClassVar[str] = "decoder-lm"
    paper: ClassVar[str] = "GEIA"
    summary: ClassVar[str] = "writes the text with any local Hugging Face language model"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"

    def __post_init__(self) -> None:
        """Check every field."""
        whole_number(self.positions, "positions", 1, 1024)
        if self.blocks is not None:
            whole_number(self.blocks, "blocks", 0, 1024)
        whole_number(self.longest, "longest", 1, 4096)
        whole_number(self.epochs, "epochs", 1, 10**6)
        whole_number(self.batch, "batch", 1, 10**6)
        finite_number(self.rate, "rate", 1e-8, 1.0)
        finite_number(self.head_rate, "head_rate", 1e-8, 1.0)
        finite_number(self.temperature, "temperature", 0.0, 10.0)
        whole_number(self.samples, "samples", 1, 1024)
        finite_number(self.held_back, "held_back", 0.0, 0.9)
        whole_number(self.seed, "seed", 0, 2**63 - 1)
        if self.samples > 1 and self.temperature == 0:
            raise ParameterError(
                f"`samples` above 1 needs a `temperature` above 0: all would be alike. Found {self.samples}."
            )

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> LanguageModelReader:
        """Teach the model to write texts from releases of their vectors."""
        known, clean = checked(texts, vectors)
        if len(known) < 2:
            raise InputError(f"There must be at least two texts to learn from. Found {len(known)}.")
        local, device = find_model(self.model), chosen_device(self.device)
        pieces = Pieces.of(load_tokenizer(local))
        release = fresh_releases(mechanism, self.seed)
        training, test = held_back(len(known), self.held_back, self.seed)
        dim = release(clean[:1]).shape[1]
        with seeded(self.seed, device):
            network = PrefixModel(
                load_weights("AutoModelForCausalLM", local), dim, self.positions, self.blocks
            )
            network.to(device).train()
            rows = pieces.rows([known[row] for row in training], self.longest)
            vectors_there = rows_on(clean[training], device)

            def epoch_loss(_: int) -> Loss:
                noisy = torch.as_tensor(release(vectors_there))

                def loss(chosen: NDArray[np.intp]) -> torch.Tensor:
                    tokens = padded([rows[row] for row in chosen], -100).to(device)
                    with autocast(device):
                        value: torch.Tensor = network(noisy[chosen].to(device), tokens)
                    return value

                return loss

            recipe = FineTuning(self.epochs, self.batch, self.rate, self.head_rate, self.seed)
            train(
                network.base, network.heads, len(training), epoch_loss, recipe, progress(on_step, "decoder"),
                lengths=[len(row) for row in rows],
            )  # fmt: skip
        made = LanguageModelReader(network.eval(), pieces, self, local.digest())
        made.measure([known[row] for row in test], clean[test])
        return made


class LanguageModelReader(Inverter):
    """A language model that has learned to write texts from vectors."""

    kind = "language-model-attack"

    def __init__(
        self, network: PrefixModel, pieces: Pieces, settings: LanguageModelDecoder, base_digest: str
    ) -> None:
        self.network, self.pieces, self.settings, self.base_digest = network, pieces, settings, base_digest

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.network.size.device

    def recover(self, vectors: Any) -> Recovered:
        """Write a text for each vector; the score is the mean log probability of its pieces."""
        rows = as_vectors(vectors, dim=self.network.dim).astype(np.float32)
        rng = torch.Generator(self.device).manual_seed(self.settings.seed)
        texts: list[str] = []
        scores: list[NDArray[np.float64]] = []
        for start in range(0, len(rows), _READ_ROWS):
            part = torch.from_numpy(rows[start : start + _READ_ROWS]).to(self.device)
            written, sure = self._best(part, rng)
            texts += self.pieces.decode(written.tolist())
            scores.append(sure.double().cpu().numpy())
        return Recovered(texts, np.concatenate(scores) if scores else np.zeros(0))

    def _best(self, part: torch.Tensor, rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """The likeliest of the texts drawn for each vector, and how likely."""
        settings = self.settings
        with autocast(self.device):
            drawn = [
                self.network.write(
                    part,
                    longest=settings.longest,
                    end=self.pieces.end,
                    temperature=settings.temperature,
                    rng=rng,
                )
                for _ in range(settings.samples)
            ]
        sure, which = torch.stack([one.scores for one in drawn]).max(0)
        tokens = torch.stack([one.tokens for one in drawn])[
            which, torch.arange(len(part), device=part.device)
        ]
        return tokens, sure

    def measure(self, texts: Sequence[str], clean: Vectors) -> None:
        """Set the control: token F1 on clean vectors of texts that were held back."""
        if not len(texts) or clean.shape[1] != self.network.dim:
            return
        rows = self.recover(clean[:_CONTROL_ROWS]).rows
        found = [token_f1(text, str(row)) for text, row in zip(texts, rows, strict=False)]
        self.control = Control("token F1", float(np.mean(found)), len(found))

    def save(self, path: PathLike) -> str:
        """Write what was learned; of the language model itself, its name and digest."""
        names = ("model", "positions", "blocks", "longest", "temperature", "samples", "seed")
        config = {
            "settings": {name: getattr(self.settings, name) for name in names},
            "dim": self.network.dim,
            "base_digest": self.base_digest,
            "control": None if self.control is None else [self.control.value, self.control.rows],
        }
        return artifacts.save(path, self.kind, config, tuned_weights(self.network))

    @classmethod
    def load(
        cls, path: PathLike, *, model: str | None = None, device: str | None = None
    ) -> LanguageModelReader:
        """Read it back.

        Args:
            path: the saved folder.
            model: where the language model is now, if not where it was.
            device: where to run it.
        """
        artifact = artifacts.load(path, cls.kind)
        try:
            config = artifact.config
            settings = LanguageModelDecoder(**config["settings"])
            local = find_model(model or settings.model)
            found = local.digest()
            if found != config["base_digest"]:
                raise ArtifactError(
                    f"The language model must be the tuned one, {config['base_digest'][:12]}…. Found "
                    f"{found[:12]}… in `{local.name}`. Name the right folder with model=."
                )
            base = load_weights("AutoModelForCausalLM", local)
            network = PrefixModel(base, int(config["dim"]), settings.positions, settings.blocks)
            restore(network, artifact.tensors)
            pieces = Pieces.of(load_tokenizer(local))
            made = cls(network.to(chosen_device(device)).eval(), pieces, settings, found)
            if config["control"] is not None:
                made.control = Control("token F1", float(config["control"][0]), int(config["control"][1]))
        except (KeyError, TypeError, IndexError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made
