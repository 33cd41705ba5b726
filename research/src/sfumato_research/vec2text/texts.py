"""Texts that the ready-made reader never saw, and what it writes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks.writers.minilm import ReadyMade
from sfumato.attacks.writers.search import Search
from sfumato.attacks.writers.textreader import TextReader, unit
from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.metrics import Reconstruction, score_reconstruction
from sfumato.randomness import generator
from sfumato_research.studies.base import Cell, Entry, Setting
from sfumato_research.studies.data import encoder, rows

LONGEST = 32
NON_COMMERCIAL = ("multi30k", "brown", "gum")
"""Sources the reader was not trained on; it is tested on sentences of the others that were held back."""
_CUT_SEED = 20261115
"""The recipe of the weights draws its held-back sentences with this seed."""


def held_back(data: Path, count: int) -> list[str]:
    """The first of the sentences that were held back from the reader's training."""
    pieces = Wordpieces.minilm()
    given = [(row["source"], row["text"]) for row in rows(data, "sentences", "sentences")]
    found: list[str] = []
    for at in generator(_CUT_SEED).permutation(len(given)):
        source, text = given[at]
        if source not in NON_COMMERCIAL and len(pieces.numbers([text])[0]) <= LONGEST:
            found.append(text)
            if len(found) == count:
                break
    return shortened(found)


def shortened(texts: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Texts cut at some wordpieces and written as the encoder reads them: in lower case."""
    pieces = Wordpieces.minilm()
    return pieces.decode(pieces.encode(list(texts), longest))


class ReadyMadeReaders:
    """The ready-made reader, loaded once, with any search."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        made = ReadyMade(device=setting.device, seed=setting.seed)
        self.loaded: TextReader = made.fit()
        self.loaded.embedder = encoder(replace(setting, cache=None))

    def vectors(self, texts: Sequence[str]) -> Any:
        """Clean vectors."""
        return encoder(self.setting).embed(list(texts))

    def read(self, vectors: Any, search: Search, *, ratio: float = 0.0) -> list[str]:
        """What it writes of some vectors, told how much noise they hold."""
        self.loaded.search, self.loaded.ratio = search, ratio
        return [str(row) for row in self.loaded.recover(vectors).rows]

    def score(self, texts: Sequence[str], found: Sequence[str]) -> Reconstruction:
        """Compare what was written with what it was written of."""
        embedder = encoder(self.setting)
        vectors, other = embedder.embed(list(texts)), embedder.embed([text or "." for text in found])
        return score_reconstruction(texts, list(found), vectors=vectors, recovered_vectors=other)


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
