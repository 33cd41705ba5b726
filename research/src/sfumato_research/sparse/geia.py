"""GEIA with a language model that reads vectors before it is tuned to a defence.

GEIA (Li et al. 2023) tunes GPT-2 behind a projection of the vector. A language model that only ever saw the
texts of one small set writes the likeliest sentence and does not look at the vector, so that here the first
blocks of SmolLM2 learn from clean vectors of public sentences before. From there they are tuned anew to clean
vectors, to texts without the concept and to each defence, for as many steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sfumato.attacks.base import Embeds, entrance_of, fresh_releases
from sfumato.attacks.on_device import rows_on
from sfumato.metrics.leakage import words
from sfumato.preparing import Entrance
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.trials.reading import AttackMethod, Read
from sfumato.types import Vectors
from sfumato_research.sparse.short_model import BLOCKS, first_blocks
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import rows

ALIKE = 0.7
"""Share of words in common (Jaccard) from which a public sentence is too near to an attacked one."""


@dataclass(frozen=True, slots=True)
class TunedSizes:
    """How much the language model reads before, and for each defence.

    Args:
        public: sentences of the first part.
        epochs: over them.
        beside: public sentences that stay beside the set's own texts while it is tuned.
        tuned: epochs of tuning.
        rate: highest learning rate of the language model.
        slower: times that while it is tuned.
        words: whether the word vectors learn, too, while it is tuned. Without, a step takes half the time,
            and the softmax is over the pieces that stand in the texts it is tuned with.
        blocks: of the language model; all of them learn.
    """

    public: int = 240_000
    epochs: int = 4
    beside: int = 10_000
    tuned: int = 6
    batch: int = 256
    rate: float = 5e-4
    slower: float = 0.5
    words: bool = True
    blocks: int = BLOCKS


SIZES = {
    "cuda": TunedSizes(),
    "cpu": TunedSizes(60_000, epochs=1, beside=500, tuned=5, batch=32, rate=2e-4, slower=1.0, words=False),
}
"""By device."""
QUICK = TunedSizes(public=64, epochs=1, beside=16, tuned=1, batch=16, blocks=1)
_HEAD_RATE = 1e-3
"""Highest learning rate of the projection."""


def public_sentences(data: Path, count: int, attacked: Sequence[str], seed: int) -> list[str]:
    """Sentences of many sources in random order, none like an attacked text."""
    every = [row["text"] for row in rows(data, "sentences", "sentences")]
    order = generator(seed).permutation(len(every))[: round(1.05 * count) + 100]
    drawn = [every[place] for place in order]
    near = _nearest(drawn, attacked)
    return [text for text, share in zip(drawn, near, strict=True) if share < ALIKE][:count]


def _nearest(texts: Sequence[str], others: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """For each text the largest share of words it has in common with one of the others."""
    place: dict[str, int] = {}
    counted = []
    for some in (texts, others):
        ends, columns = [0], []
        for text in some:
            columns += [place.setdefault(word, len(place)) for word in set(words(text))]
            ends.append(len(columns))
        counted.append((np.array(columns, np.int32), np.array(ends, np.int32)))
    held, wanted = (
        csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(ends) - 1, len(place)))
        for columns, ends in counted
    )
    common = (held @ wanted.T).toarray()
    sizes = (np.diff(ends) for _, ends in counted)
    first, second = sizes
    return np.asarray((common / np.maximum(first[:, None] + second[None, :] - common, 1)).max(axis=1))


class NarrowLoss:
    """The loss of a prefix model whose word vectors stay, over the pieces of some texts alone.

    Args:
        network: SmolLM2's first blocks behind a prefix; its word vectors stop learning.
        rows: pieces of the texts.
    """

    def __init__(self, network: Any, rows: Sequence[Sequence[int]]) -> None:
        import torch

        words = network.base.get_input_embeddings().weight.requires_grad_(False)
        used = torch.tensor(sorted({piece for row in rows for piece in row}), device=words.device)
        self.network, self.words = network, words[used]
        self.place = torch.full((len(words),), -1, device=words.device)
        self.place[used] = torch.arange(len(used), device=words.device)

    def __call__(self, vectors: Any, tokens: Any) -> Any:
        """Mean loss of a piece, in nats."""
        import torch
        from torch.nn import functional as F

        base, before = self.network.base, self.network.prefix(vectors)
        text = base.get_input_embeddings()(tokens.clamp_min(0)).to(before.dtype)
        states = base.model(inputs_embeds=torch.cat([before, text], 1), use_cache=False).last_hidden_state
        there = tokens >= 0
        scores = F.linear(states[:, self.network.positions - 1 : -1][there], self.words)
        return F.cross_entropy(scores.float(), self.place[tokens[there]])


class LanguageModelAttack:
    """A language model taught to read clean vectors once, then tuned to whatever is attacked.

    Args:
        setting: data, device and cache.
        embedder: the victim's encoder, which keeps nothing of what it embeds.
        attacked: texts that it must not have seen, nor their like.
        sizes: how much it learns.
    """

    def __init__(
        self, setting: Setting, embedder: Embeds, attacked: Sequence[str], sizes: TunedSizes
    ) -> None:
        self.setting, self.embedder, self.sizes = setting, embedder, sizes
        self.attacked = list(attacked)

    @cached_property
    def sentences(self) -> list[str]:
        """What it learns from before."""
        return public_sentences(self.setting.data, self.sizes.public, self.attacked, self.setting.seed)

    @cached_property
    def vectors(self) -> Vectors:
        """Their clean vectors."""
        return np.asarray(self.embedder.embed(self.sentences), np.float32)

    @cached_property
    def vectors_beside(self) -> Vectors:
        """Clean vectors of those that stay beside a set's own texts: where the start is kept, no others."""
        return np.asarray(self.embedder.embed(self.sentences[: self.sizes.beside]), np.float32)

    @cached_property
    def settings(self) -> Any:
        """The attack of the table, `decoder-lm`, that is tuned."""
        from sfumato.attacks.huggingface.causal import LanguageModelDecoder

        sizes, folder = self.sizes, self.kept(f"smollm2-{self.sizes.blocks}-blocks")
        return LanguageModelDecoder(
            model=str(first_blocks(folder, sizes.blocks)), epochs=sizes.epochs, batch=sizes.batch,
            rate=sizes.rate, head_rate=_HEAD_RATE, held_back=0.01,
            device=self.setting.device, seed=self.setting.seed,
        )  # fmt: skip

    @cached_property
    def start(self) -> Any:
        """The model that reads clean vectors; kept between runs where there is a place for it."""
        from sfumato.attacks.huggingface.causal import LanguageModelReader

        kept = self.kept(f"geia-{self.sizes.public}-{self.sizes.epochs}")
        if kept.exists():
            return LanguageModelReader.load(kept, device=self.setting.device)
        made = self.settings.fit(self.sentences, self.vectors)
        self.setting.on_step(f"reads clean vectors of public sentences: {made.control}")
        made.save(kept)
        return made

    @cached_property
    def _scratch(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory(prefix="geia-")

    def kept(self, name: str) -> Path:
        """Where something is kept: between runs, or as long as this lives."""
        return (self.setting.cache or Path(self._scratch.name)) / name

    @property
    def method(self) -> AttackMethod:
        """The attack as trials take it."""
        return AttackMethod("language model", "text", self.fit)

    def fit(
        self,
        texts: Sequence[str],
        vectors: Vectors,
        victim: Releasing | None,
        embedder: Embeds | None,
        seed: int,
    ) -> Read:
        """Tune a copy to releases of these texts, and of public sentences beside them."""
        import torch

        from sfumato.attacks.huggingface.causal import LanguageModelReader
        from sfumato.attacks.huggingface.pieces import padded
        from sfumato.attacks.huggingface.training import FineTuning, seeded, train
        from sfumato.devices import autocast

        beside = self.sentences[: self.sizes.beside]
        way = Entrance.of(entrance_of(victim, self.embedder))
        more = np.asarray(way.embed(beside), np.float32) if way.hides else self.vectors_beside
        start, device = self.start, self.start.device
        network = deepcopy(start.network).train()
        pieces = start.pieces.rows([*texts, *beside], self.settings.longest)
        entering = rows_on(np.concatenate([np.asarray(vectors, np.float32), more]), device)
        release, sizes = fresh_releases(victim, seed), self.sizes
        loss_of = network if sizes.words else NarrowLoss(network, pieces)

        def epoch_loss(_: int) -> Any:
            noisy = torch.as_tensor(release(entering))

            def loss(chosen: Any) -> Any:
                tokens = padded([pieces[row] for row in chosen], -100).to(device)
                with autocast(device):
                    return loss_of(noisy[chosen].to(device), tokens)

            return loss

        recipe = FineTuning(
            sizes.tuned, sizes.batch, sizes.rate * sizes.slower, _HEAD_RATE * sizes.slower, seed
        )
        with seeded(seed, device):
            lengths = [len(row) for row in pieces]
            train(network.base, network.heads, len(pieces), epoch_loss, recipe, lengths=lengths)
        reader = LanguageModelReader(network.eval(), start.pieces, self.settings, start.base_digest)
        return lambda released: [str(row) for row in reader.recover(released).rows]
