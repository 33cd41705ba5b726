"""Texts that the ready-made reader never saw, and what it writes of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sfumato.attacks.writers.minilm import ReadyMade
from sfumato.attacks.writers.search import Search, Searcher, hypothesis
from sfumato.attacks.writers.textreader import unit
from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.devices import autocast, chosen_device
from sfumato.embedders import CachedEmbedder, load_embedder
from sfumato.embedders.base import Embedder
from sfumato.metrics import Reconstruction, score_reconstruction
from sfumato.randomness import generator
from sfumato_research.studies.base import Cell, Entry, Setting
from sfumato_research.studies.data import rows
from sfumato_research.vec2text.rounds import CorrectionRounds, RoundCorrector, gathered
from sfumato_research.vec2text.wordpiece_encoder import WordpieceEncoder

LONGEST = 32
MOST_RATIO = 1.3
"""The reader was taught noise up to this ratio."""
NON_COMMERCIAL = ("multi30k", "brown", "gum")
"""Sources the reader was not trained on; it is tested on sentences of the others that were held back."""
HELD_BACK = 1000
GREEDY = Search(steps=0, beam=1, first=1)
BEAM = Search(steps=20, beam=4, branch=8, first=16)
"""The four closest texts kept, eight corrections of each, 20 rounds: what `--steps 20` does."""
BEAM_LABEL = "20 steps, beam 4 by 8"
QUICK_BEAM = Search(steps=1, beam=2, branch=2, first=2)
"""In its place in a quick run."""
_CUT_SEED = 20261115
"""The recipe of the weights draws its held-back sentences with this seed."""
_ROWS = {"cpu": (256, 64), "cuda": (8192, 4096)}
"""Texts written at once, and vectors read at once."""


@lru_cache(maxsize=2)
def _drawn(data: Path) -> tuple[str, ...]:
    """Sentences of the sources trained on, in the order the recipe drew them."""
    given = [(row["source"], row["text"]) for row in rows(data, "sentences", "sentences")]
    order = generator(_CUT_SEED).permutation(len(given))
    return tuple(given[at][1] for at in order if given[at][0] not in NON_COMMERCIAL)


def cut_sentences(data: Path, at_once: int = 2000) -> Iterator[str]:
    """Sentences of at most 32 wordpieces: first those held back from training, then those trained on."""
    pieces, drawn = Wordpieces.minilm(), _drawn(data)
    for start in range(0, len(drawn), at_once):
        part = drawn[start : start + at_once]
        for text, numbers in zip(part, pieces.numbers(list(part)), strict=True):
            if len(numbers) <= LONGEST:
                yield text


def held_back(data: Path, count: int) -> list[str]:
    """The first of the sentences that were held back from the reader's training."""
    return shortened([text for text, _ in zip(cut_sentences(data), range(count), strict=False)])


def trained_on(data: Path, count: int) -> list[str]:
    """Sentences behind those that were held back: the reader's training text had them."""
    found: list[str] = []
    for number, text in enumerate(cut_sentences(data)):
        if number >= HELD_BACK:
            found.append(text)
        if len(found) == count:
            break
    return shortened(found)


def shortened(texts: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Texts cut at some wordpieces and written as the encoder reads them: in lower case."""
    pieces = Wordpieces.minilm()
    return pieces.decode(pieces.encode(list(texts), longest))


class ReadyMadeReaders:
    """The ready-made reader, loaded once, with any search, as many vectors at once as the device takes."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        reader = ReadyMade(device=setting.device, seed=setting.seed).fit()
        self.device = chosen_device(setting.device)
        self.gpu = self.device.type == "cuda"
        self.network = reader.network.to(torch.bfloat16 if self.gpu else torch.float32)
        self.pieces, self.specials = reader.pieces, reader.specials
        self.encode = WordpieceEncoder(setting.device)
        self.encoder = _encoder(setting)

    def vectors(self, texts: Sequence[str]) -> Any:
        """Clean vectors, by the product's own encoder."""
        return self.encoder.embed(list(texts))

    def read(self, vectors: Any, search: Search, *, ratio: float = 0.0) -> list[str]:
        """What it writes of some vectors, told how much noise they hold."""
        searcher = Searcher(self.network, self.specials, self.encode, self.setting.seed)
        wide = max(search.first, search.likeliest, search.beam * search.branch if search.beam > 1 else 1)
        found: list[str] = []
        for targets, told in self._batches(vectors, ratio, wide):
            with self._halves():
                if search.compares:
                    tokens = searcher.run(targets, told, search).tokens[:, 0]
                else:
                    tokens = hypothesis(self.network, self.specials, targets, told, search.likeliest).tokens
            found += self.pieces.decode(tokens.cpu().numpy())
        return found

    def beamed(self, vectors: Any) -> dict[str, list[str]]:
        """What a beam reads, by its label; on a CPU, where it takes hours, in a quick run alone."""
        if not self.gpu and not self.setting.quick:
            return {}
        self.setting.on_step(BEAM_LABEL)
        return {BEAM_LABEL: self.read(vectors, self.setting.pick(BEAM, QUICK_BEAM))}

    def rounds(
        self,
        vectors: Any,
        steps: int,
        *,
        ratio: float = 0.0,
        feedback: bool = True,
        start: Any = None,
    ) -> CorrectionRounds:
        """Correct one text of each vector, and keep every round; `start` is wordpieces to begin with."""
        corrector = RoundCorrector(self.network, self.specials, self.encode)
        parts, done = [], 0
        for targets, told in self._batches(vectors, ratio, 1):
            first = None
            if start is not None:
                first = torch.from_numpy(start[done : done + len(targets)]).to(self.device)
            with self._halves():
                parts.append(corrector.run(targets, told, steps, feedback=feedback, start=first))
            done += len(targets)
        return gathered(self.pieces, parts)

    def score(self, texts: Sequence[str], found: Sequence[str], vectors: Any = None) -> Reconstruction:
        """Compare what was written with what it was written of, and with its clean vectors."""
        clean = self.vectors(texts) if vectors is None else vectors
        other = self.vectors([text or "." for text in found])
        return score_reconstruction(texts, list(found), vectors=clean, recovered_vectors=other)

    def _halves(self) -> AbstractContextManager[object]:
        """Half the digits for what writes, where a processor is faster so; a GPU's weights have no more."""
        return nullcontext() if self.gpu else autocast(self.device)

    def _batches(self, vectors: Any, ratio: float, wide: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Vectors on the device, as many as can be read at once when each takes so many texts."""
        texts, most = _ROWS[self.device.type]
        size = max(1, min(most, texts // wide))
        given = unit(np.asarray(vectors, np.float32))
        for start in range(0, len(given), size):
            part = torch.from_numpy(given[start : start + size]).to(self.device)
            yield part, torch.full((len(part),), min(ratio, MOST_RATIO), device=self.device)


def _encoder(setting: Setting) -> Embedder:
    """The packaged encoder on the study's device; it remembers vectors where there is a place for them."""
    inner = load_embedder("minilm", device=setting.device)
    return inner if setting.cache is None else CachedEmbedder(inner, setting.cache / "minilm")


def steps_label(count: int) -> str:
    """How a row of so many rounds is called."""
    return "1 step" if count == 1 else f"{count} steps"


def figures(found: Reconstruction, printed: Sequence[float | None] = (None,) * 4) -> list[Entry]:
    """BLEU, token F1, exact matches in percent, and cosine, beside what a paper prints."""
    means, bounds = found.means(), found.intervals()
    bleu, f1, exact, cosine = printed
    cells: list[Entry] = []
    for name, scale, form, value in (
        ("sentence_bleu", 1.0, ".1f", bleu),
        ("token_f1", 100.0, ".1f", f1),
        ("exact", 100.0, ".1f", exact),
        ("cosine", 1.0, ".3f", cosine),
    ):
        low, high = bounds[name] or (float("nan"), float("nan"))
        cells.append(Cell(scale * means[name], scale * low, scale * high, form, value))
    return cells


def noisy(vectors: Any, scale: float, seed: int) -> Any:
    """Unit vectors with Gaussian noise of this deviation in every coordinate, made unit again."""
    noise = generator(seed).standard_normal(np.shape(vectors))
    return unit((vectors + scale * noise).astype(np.float32))
