"""The corrector attack: write, embed what was written, correct it, again and again (Vec2Text, seed 003)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from sfumato.attacks.base import Embeds, OnStep, checked, entrance_of, held_back
from sfumato.attacks.huggingface.training import seeded
from sfumato.attacks.on_device import rows_on
from sfumato.attacks.writers.decoder import Decoder
from sfumato.attacks.writers.generate import write
from sfumato.attacks.writers.search import Search
from sfumato.attacks.writers.textreader import TextReader, unit
from sfumato.attacks.writers.training import TextBatch
from sfumato.attacks.writers.wordpieces import Tokens, Wordpieces
from sfumato.attacks.writers.writing import Batches, WriterTraining, by_length
from sfumato.devices import chosen_device
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from sfumato.numbers import finite_number, whole_number
from sfumato.preparing import Entrance
from sfumato.randomness import generator
from sfumato.release import Release, Releasing, as_release
from sfumato.types import Vectors

_HEATS = (0.0, 0.5, 0.8, 1.0)
_CHUNK = 256
_CONTROL_ROWS = 50


@dataclass(frozen=True, kw_only=True)
class Corrector(Decoder):
    """Writes the text and corrects it by the victim's own encoder.

    Args:
        embedder: the victim's encoder, or its name.
        steps: rounds of correction; 0 is the hypothesiser alone.
        beam: hypotheses kept for each vector.
        honest: share of the texts the hypothesiser does not learn from, so that its mistakes on them are
            those it makes on texts it has never seen.
        corrections: times it goes through the texts with hypotheses, fresh ones each time.
    """

    positions: int = 16
    embedder: Any = "minilm"
    steps: int = 20
    beam: int = 4
    honest: float = 0.3
    corrections: float = 3.0

    name: ClassVar[str] = "corrector"
    paper: ClassVar[str] = "Vec2Text"
    summary: ClassVar[str] = "writes the text and corrects it by the victim's own encoder"
    reads: ClassVar[Literal["terms", "text", "row"]] = "text"

    def __post_init__(self) -> None:
        """Check every field."""
        Decoder.__post_init__(self)
        whole_number(self.steps, "steps", 0, 10_000)
        whole_number(self.beam, "beam", 1, 1024)
        finite_number(self.honest, "honest", 0.0, 0.9)
        finite_number(self.corrections, "corrections", 1e-3, 1e4)

    @property
    def search(self) -> Search:
        """How hard its reader looks."""
        first = 4 * self.beam if self.beam > 1 else 1
        return Search(steps=self.steps, beam=self.beam, first=first)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Any,
        mechanism: Releasing | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> TextReader:
        """Teach a network to write texts from vectors, then to correct what it wrote."""
        known, clean = checked(texts, vectors)
        if len(known) < 4:
            raise InputError(f"There must be at least four texts to learn from. Found {len(known)}.")
        named: Embeds = load_embedder(self.embedder) if isinstance(self.embedder, str) else self.embedder
        entrance, encoder = entrance_of(mechanism, named), Entrance.of(named).encoder
        training, test = held_back(len(known), self.held_back, self.seed)
        learned = [known[row] for row in training]
        pieces = Wordpieces.learn(learned, self.wordpieces)
        tokens = pieces.encode(learned, self.longest)
        own, _ = held_back(len(training), self.honest, self.seed + 1)
        random = generator(self.seed)
        device = chosen_device(self.device)
        with seeded(self.seed, device):
            every = rows_on(clean[training], device)
            writer = self.writer(pieces, tokens[own], clean[training[own]])
            reader = TextReader(writer.network, pieces, embedder=encoder, search=self.search, seed=self.seed)

            def train(release: Callable[[Vectors], Vectors], often: float, what: str) -> None:
                base = writer.texts(tokens[own], lambda: release(every[own]), pieces.pad)
                writer.train(base, often * self.epochs, random, f"{what}: writing", on_step)
                if self.steps:
                    both = self._both(writer, reader, base, tokens, lambda: release(every))
                    writer.train(both, often * self.corrections, random, f"{what}: correcting", on_step)

            train(lambda rows: rows, 1.0, "clean vectors")
            reader.measure([known[row] for row in test], clean[test], _CONTROL_ROWS)
            release = as_release(mechanism)
            if release is not None:
                self._refuse_other_dimension(release, clean)
                reader.release, reader.embedder = release, entrance
                train(release.fresh(self.seed), 0.5, "releases")
        return reader

    def _refuse_other_dimension(self, release: Release, clean: Vectors) -> None:
        width = release.output_dim(clean.shape[1])
        if width != clean.shape[1]:
            raise InputError(
                f"The corrector reads releases of the encoder's dimension, {clean.shape[1]}. Found {width}. "
                "Use the decoder."
            )

    def _both(
        self,
        writer: WriterTraining,
        reader: TextReader,
        base: Batches,
        tokens: Tokens,
        release: Callable[[], Vectors],
    ) -> Batches:
        """Epochs of corrections, with some of plain writing in between so that it is not forgotten."""

        def epoch(random: np.random.Generator) -> Iterator[TextBatch]:
            vectors = unit(release())
            guesses, hypotheses = self._hypotheses(writer, reader, vectors)
            lengths = (tokens != reader.pieces.pad).sum(1)
            corrections = []
            for rows in by_length(lengths, self.batch, random):
                wide = int((hypotheses[rows] != reader.pieces.pad).sum(1).max())
                corrections.append(
                    TextBatch(
                        writer.tensor(vectors[rows]),
                        writer.tensor(tokens[rows, : int(lengths[rows].max())]),
                        torch.zeros(len(rows), device=writer.device),
                        writer.tensor(guesses[rows]),
                        writer.tensor(hypotheses[rows, :wide]),
                    )
                )
            plain = list(base(random))[: len(corrections) // 3]
            mixed = chain.from_iterable(
                zip_longest(corrections[::3], corrections[1::3], corrections[2::3], plain)
            )
            yield from (batch for batch in mixed if batch is not None)

        return epoch

    def _hypotheses(
        self, writer: WriterTraining, reader: TextReader, vectors: Vectors
    ) -> tuple[Vectors, Tokens]:
        """What the network writes now, at several temperatures, and the vectors of that."""
        found = []
        for number, start in enumerate(range(0, len(vectors), _CHUNK)):
            part = writer.tensor(vectors[start : start + _CHUNK])
            heat = _HEATS[number % len(_HEATS)]
            found.append(write(writer.network, reader.specials, part, temperatures=(heat,)).tokens)
        tokens = torch.cat(found)
        return reader.encode(tokens).cpu().numpy(), tokens.cpu().numpy()
