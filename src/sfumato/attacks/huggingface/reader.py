"""A fitted pair of T5 models: guesses texts from vectors and corrects them with the victim's encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Control, Embeds, Inverter, Recovered
from sfumato.attacks.huggingface.correct import Corrections, Guess
from sfumato.attacks.huggingface.pieces import Pieces
from sfumato.attacks.huggingface.t5 import VectorT5, describe_t5, make_t5
from sfumato.attacks.huggingface.training import restore, tuned_weights
from sfumato.attacks.kept_release import pack_victim, unpack_victim
from sfumato.devices import autocast, chosen_device
from sfumato.embedders import load_embedder
from sfumato.errors import ArtifactError, InputError
from sfumato.metrics.reconstruction import token_f1
from sfumato.preparing import Entrance
from sfumato.release import AS_IT_IS, Release
from sfumato.types import Vectors

_CONTROL_ROWS = 200
_READ_ROWS = 64


class T5Reader(Inverter):
    """Reads vectors with a hypothesiser and, where there is one, a corrector.

    Args:
        first: guesses.
        second: corrects.
        pieces: what both read and write.
        embedder: the victim's encoder; None if nothing is ever embedded.
        release: what the victim's vectors go through.
        longest: most pieces in a text.
        steps: rounds of correction.
        beam: hypotheses kept for each vector.
    """

    kind = "t5-attack"

    def __init__(
        self,
        first: VectorT5,
        second: VectorT5 | None,
        pieces: Pieces,
        embedder: Embeds | None,
        release: Release | None = None,
        *,
        longest: int = 32,
        steps: int = 0,
        beam: int = 1,
    ) -> None:
        self.first, self.second, self.pieces = first.eval(), None if second is None else second.eval(), pieces
        self.embedder, self.release = embedder, release
        self.longest, self.steps, self.beam = longest, steps, beam

    @property
    def device(self) -> torch.device:
        """Where the models are."""
        return next(self.first.parameters()).device

    def embed(self, texts: Sequence[str]) -> Vectors:
        """What the victim would release for these texts, were it not for the noise."""
        self._refuse_without_encoder()
        inputs = Entrance.of(self.embedder).embed(texts)
        return (self.release or AS_IT_IS).expected(inputs).astype(np.float32)

    def _refuse_without_encoder(self) -> None:
        if self.embedder is None:
            raise InputError("Correcting needs the victim's encoder. Found none. Give it as embedder=.")

    def guesses(self, vectors: Vectors) -> list[list[int]]:
        """The hypothesiser's likeliest text for each vector."""
        return [row[0] for row in self._first(vectors, 1)]

    def _first(self, vectors: Vectors, beams: int) -> list[list[list[int]]]:
        made: list[list[list[int]]] = []
        for start in range(0, len(vectors), _READ_ROWS):
            part = self._tensor(vectors[start : start + _READ_ROWS])
            with torch.no_grad(), autocast(self.device):
                flat = self.first.eval().write(self.first.inputs(part), self.longest, beams)
            made += [flat[at : at + beams] for at in range(0, len(flat), beams)]
        return made

    def _correct(self, targets: Vectors, guesses: list[Guess]) -> list[list[int]]:
        assert self.second is not None
        made: list[list[int]] = []
        for start in range(0, len(guesses), _READ_ROWS):
            part = guesses[start : start + _READ_ROWS]
            guess = self._tensor(np.stack([one.vector for one in part]))
            with torch.no_grad(), autocast(self.device):
                inputs = self.second.inputs(
                    self._tensor(targets[start : start + _READ_ROWS]), guess, [one.tokens for one in part]
                )
                made += self.second.write(inputs, self.longest, self.beam)
        return made

    def _tensor(self, rows: NDArray[np.float32] | torch.Tensor) -> torch.Tensor:
        if isinstance(rows, torch.Tensor):
            return rows.to(self.device)
        return torch.from_numpy(np.ascontiguousarray(rows, np.float32)).to(self.device)

    def recover(self, vectors: Any) -> Recovered:
        """Read vectors; the score is the cosine to the vector, or of a sole guess its mean log probability.

        `details` holds `cosine` where guesses were embedded.
        """
        rows = as_vectors(vectors, dim=self.first.dim).astype(np.float32)
        steps = 0 if self.second is None else self.steps
        if self.beam == 1 and not steps:
            tokens = self.guesses(rows)
            return Recovered(self.pieces.decode(tokens), self._sure(rows, tokens))
        self._refuse_without_encoder()
        search = Corrections(self.embed, self._correct, self.pieces.decode, self.beam)
        best = search.run(rows, self._first(rows, self.beam), steps)
        cosines = np.array([guess.cosine for guess in best], np.float64)
        return Recovered([guess.text for guess in best], cosines, {"cosine": cosines})

    def _sure(self, vectors: Vectors, tokens: list[list[int]]) -> NDArray[np.float64]:
        found = [np.zeros(0)]
        for start in range(0, len(vectors), _READ_ROWS):
            part = self._tensor(vectors[start : start + _READ_ROWS])
            with torch.no_grad(), autocast(self.device):
                sure = self.first.sureness(self.first.inputs(part), tokens[start : start + _READ_ROWS])
            found.append(sure.double().cpu().numpy())
        return np.concatenate(found)

    def measure(self, texts: Sequence[str], clean: Vectors) -> None:
        """Set the control: token F1 on clean vectors of texts that were held back."""
        if not len(texts) or clean.shape[1] != self.first.dim:
            return
        rows = self.recover(clean[:_CONTROL_ROWS]).rows
        found = [token_f1(text, str(row)) for text, row in zip(texts, rows, strict=False)]
        self.control = Control("token F1", float(np.mean(found)), len(found))

    def save(self, path: PathLike) -> str:
        """Write both models whole, the pieces, what is known of the victim, and its encoder's name."""
        victim, arrays = pack_victim(self.release, self.embedder)
        config: dict[str, Any] = {
            "dim": self.first.dim,
            "positions": self.first.positions,
            "unit": self.first.unit,
            "longest": self.longest,
            "steps": self.steps,
            "beam": self.beam,
            "end": self.pieces.end,
            "pad": self.pieces.pad,
            "first": describe_t5(self.first.base),
            "second": None if self.second is None else describe_t5(self.second.base),
            "embedder": getattr(self.embedder, "name", None),
            "model_id": getattr(self.embedder, "model_id", None),
            "victim": victim,
            "control": None if self.control is None else [self.control.value, self.control.rows],
        }
        arrays["pieces"] = np.frombuffer(self.pieces.to_json().encode(), np.uint8).copy()
        for part, network in (("first", self.first), ("second", self.second)):
            if network is not None:
                arrays |= {f"{part}.{name}": values for name, values in tuned_weights(network).items()}
        return artifacts.save(path, self.kind, config, arrays)

    @classmethod
    def load(cls, path: PathLike, *, embedder: Embeds | None = None, device: str | None = None) -> T5Reader:
        """Read it back.

        Args:
            path: the saved folder.
            embedder: the victim's encoder, where its name does not load it.
            device: where to run the models.
        """
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            if embedder is None and config["embedder"] is not None:
                embedder = _named_embedder(config["embedder"], config["model_id"])
            release, embedder = unpack_victim(config["victim"], tensors, embedder)
            place = chosen_device(device)
            first = _network(config, "first", tensors).to(place)
            second = None if config["second"] is None else _network(config, "second", tensors).to(place)
            made = cls(
                first,
                second,
                Pieces.from_json(tensors["pieces"].tobytes().decode(), config["end"], config["pad"]),
                embedder,
                release,
                **{name: int(config[name]) for name in ("longest", "steps", "beam")},
            )
            if config["control"] is not None:
                made.control = Control("token F1", float(config["control"][0]), int(config["control"][1]))
        except (KeyError, TypeError, IndexError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made


def _named_embedder(name: str, model_id: str) -> Embeds:
    found = load_embedder(name, allow_remote=())
    if found.model_id != model_id:
        raise ArtifactError(
            f"The encoder must be the one the attack was fitted with, {model_id}. Found {found.model_id}."
        )
    return found


def _network(config: dict[str, Any], part: str, tensors: dict[str, NDArray[Any]]) -> VectorT5:
    made = VectorT5(
        make_t5(config[part]),
        int(config["dim"]),
        int(config["positions"]),
        corrects=part == "second",
        unit=bool(config["unit"]),
    )
    mark = f"{part}."
    restore(made, {name.removeprefix(mark): rows for name, rows in tensors.items() if name.startswith(mark)})
    return made
