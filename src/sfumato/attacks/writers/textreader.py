"""A fitted network that writes texts from vectors, alone or with the victim's encoder to check itself by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfumato import artifacts
from sfumato.arrays import as_vectors
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Control, Embeds, Inverter, Recovered
from sfumato.attacks.kept_release import Tensors, pack_victim, unpack_victim
from sfumato.attacks.writers.estimate import LinearEstimate
from sfumato.attacks.writers.generate import Specials
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.quantise import Arrays, pack, unpack
from sfumato.attacks.writers.search import Search, Searcher, hypothesis
from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.devices import autocast, chosen_device
from sfumato.embedders import load_embedder
from sfumato.errors import ArtifactError, InputError
from sfumato.gpu.filtering import unit_rows
from sfumato.metrics.reconstruction import token_f1
from sfumato.preparing import Entrance
from sfumato.release import Release
from sfumato.types import Vectors

GREEDY = Search(steps=0, beam=1, first=1)
_ROWS, _SHORT = 64, 32
"""Vectors read at a time, of texts of so many wordpieces."""
_CONTROL_ROWS = 200
_WEIGHTS, _ESTIMATE = "network.", "estimate."


class TextReader(Inverter):
    """Reads vectors by writing texts.

    Args:
        network: writes.
        pieces: what it writes with.
        embedder: the victim's encoder; only a search needs it.
        release: what the victim's vectors go through, so that candidates are compared with that.
        search: how hard to look; the default writes one text and looks no further.
        ratio: the noise ratio the vectors hold, for a network that was taught what it means.
        seed: of the samples a search draws.
        estimate: what is made of a release before the network sees it; None shows it as it is.
    """

    kind = "text-reader"

    def __init__(
        self,
        network: Network,
        pieces: Wordpieces,
        *,
        embedder: Embeds | None = None,
        release: Release | None = None,
        search: Search = GREEDY,
        ratio: float = 0.0,
        seed: int = 0,
        estimate: LinearEstimate | None = None,
    ) -> None:
        self.network, self.pieces, self.estimate = network.eval(), pieces, estimate
        self.embedder, self.release = embedder, release
        self.search, self.ratio, self.seed = search, ratio, seed
        self.practice: dict[str, Any] | None = None
        """How it practised, for the record, where it did."""

    @property
    def dim(self) -> int:
        """The dimension of the vectors it reads."""
        return int(self.network.sizes.dim) if self.estimate is None else self.estimate.dim

    def shown(self, released: Any) -> Vectors:
        """The unit vectors that the network is shown of releases."""
        rows = unit(np.asarray(released, np.float32))
        return rows if self.estimate is None else unit(self.estimate(rows))

    @property
    def specials(self) -> Specials:
        """The wordpieces that are none."""
        return Specials(self.pieces.pad, self.pieces.begin, self.pieces.end)

    def recover(self, vectors: Any) -> Recovered:
        """Read vectors; the score is the mean log probability, or after a search the cosine.

        `details` holds `cosine` after a search.
        """
        rows = self.shown(as_vectors(vectors, dim=self.dim))
        searcher = None
        if self.search.compares:
            if self.embedder is None:
                raise InputError("A search needs the victim's encoder. Found none. Give it as embedder=.")
            searcher = Searcher(self.network, self.specials, self.encode, self.seed)
        texts: list[str] = []
        scores = [np.zeros(0)]
        size = rows_at_once(self.network.sizes.longest)
        for start in range(0, len(rows), size):
            tokens, sure = self._read(rows[start : start + size], searcher)
            texts += self.pieces.decode(tokens.cpu().numpy())
            scores.append(sure.double().cpu().numpy())
        found = np.concatenate(scores)
        return Recovered(texts, found, {} if searcher is None else {"cosine": found})

    def _read(self, rows: Vectors, searcher: Searcher | None) -> tuple[Tensor, Tensor]:
        device = next(self.network.parameters()).device
        part = torch.from_numpy(rows).to(device)
        told = torch.full((len(part),), self.ratio, device=device)
        with autocast(device):
            if searcher is None:
                written = hypothesis(self.network, self.specials, part, told, self.search.likeliest)
                return written.tokens, written.scores
            beam = searcher.run(part, told, self.search)
            return beam.tokens[:, 0], beam.cosines[:, 0]

    def encode(self, tokens: Tensor) -> Tensor:
        """What the network is shown of these texts' releases, were it not for the noise."""
        texts = self.pieces.decode(tokens.cpu().numpy())
        # An encoder may refuse an empty text, and none is the right one.
        inputs = Entrance.of(self.embedder).embed([text or "." for text in texts])
        # Where nobody says what the victim releases, the estimate is compared with what it estimates.
        rows = unit(inputs) if self.release is None else self.shown(self.release.expected(inputs))
        return torch.from_numpy(rows).to(tokens.device)

    def measure(self, texts: Sequence[str], clean: Vectors, rows: int = _CONTROL_ROWS) -> None:
        """Set the control: token F1 on clean vectors of texts that were held back."""
        if not len(texts) or clean.shape[1] != self.dim:
            return
        found = self.recover(clean[:rows]).rows
        scores = [token_f1(text, str(row)) for text, row in zip(texts, found, strict=False)]
        self.control = Control("token F1", float(np.mean(scores)), len(scores))

    def save(self, path: PathLike, *, packed: bool = False) -> str:
        """Write the network, whole or in four bits, with all it needs to read again."""
        victim, arrays = pack_victim(self.release, self.embedder)
        config: dict[str, Any] = {
            "sizes": self.network.describe(),
            "search": asdict(self.search),
            "ratio": self.ratio,
            "seed": self.seed,
            "packed": packed,
            "embedder": getattr(self.embedder, "name", None),
            "victim": victim,
            "practice": self.practice,
            "control": None if self.control is None else [self.control.value, self.control.rows],
        }
        arrays["pieces"] = np.frombuffer(self.pieces.to_json().encode(), np.uint8).copy()
        if self.estimate is not None:
            arrays |= {_ESTIMATE + name: rows for name, rows in self.estimate.tensors().items()}
        weights: Arrays = pack(self.network) if packed else plain(self.network)
        return artifacts.save(
            path, self.kind, config, arrays | {_WEIGHTS + name: rows for name, rows in weights.items()}
        )

    @classmethod
    def load(cls, path: PathLike, *, embedder: Embeds | None = None, device: str | None = None) -> TextReader:
        """Read it back; give the embedder where its name does not load it."""
        artifact = artifacts.load(path, cls.kind)
        config, tensors = artifact.config, artifact.tensors
        try:
            network = Network(Sizes(**config["sizes"]))
            weights = {
                name.removeprefix(_WEIGHTS): rows
                for name, rows in tensors.items()
                if name.startswith(_WEIGHTS)
            }
            restore(network, weights, packed=bool(config["packed"]))
            if embedder is None and config["embedder"] is not None:
                embedder = load_embedder(config["embedder"], allow_remote=())
            release, embedder = unpack_victim(config["victim"], tensors, embedder)
            made = cls(
                network.to(chosen_device(device)),
                Wordpieces.from_json(tensors["pieces"].tobytes().decode()),
                embedder=embedder,
                release=release,
                search=Search(**config["search"]),
                ratio=float(config["ratio"]),
                seed=int(config["seed"]),
                estimate=_estimate(tensors, network.sizes.dim),
            )
            made.practice = config.get("practice")
            if config["control"] is not None:
                made.control = Control("token F1", float(config["control"][0]), int(config["control"][1]))
        except (KeyError, TypeError, IndexError) as error:
            raise ArtifactError(f"The saved attack lacks {error} or holds it in another form.") from None
        return made


def rows_at_once(longest: int) -> int:
    """Vectors that are read at a time, fewer of longer texts: what is remembered of a text grows with it."""
    return max(1, _ROWS * _SHORT // max(longest, _SHORT))


def unit(rows: Vectors) -> Vectors:
    """Rows of length one; of a tensor, a tensor."""
    if isinstance(rows, Tensor):
        return unit_rows(rows)  # type: ignore[no-any-return]
    found: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))
    return found


def _estimate(tensors: Tensors, dim: int) -> LinearEstimate | None:
    """The estimate that was saved, which must give what the network reads; None where there is none."""
    parts = {name.removeprefix(_ESTIMATE): np.array(rows, np.float32) for name, rows in tensors.items()
             if name.startswith(_ESTIMATE)}  # fmt: skip
    found = LinearEstimate(**parts) if parts else None
    if found is not None and len(found.after) != dim:
        raise ArtifactError(f"The estimate must give {dim} dimensions. Found {len(found.after)}.")
    return found


def plain(network: Network) -> Arrays:
    """Every weight in 32 bits."""
    return {name: rows.detach().cpu().float().numpy().copy() for name, rows in network.state_dict().items()}


def restore(network: Network, weights: Arrays, *, packed: bool) -> None:
    """Set every weight, or refuse what does not fit."""
    try:
        if packed:
            unpack(network, weights)
        else:
            network.load_state_dict({name: torch.from_numpy(rows.copy()) for name, rows in weights.items()})
    except (RuntimeError, ValueError, KeyError):
        raise ArtifactError(
            "The weights must fit the sizes in config.json. Found others. Fit the attack again."
        ) from None
