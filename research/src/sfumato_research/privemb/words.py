"""Word vectors for PRIVEMB: GloVe as published, and vectors trained here in as many dimensions as asked."""

from __future__ import annotations

import gzip
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.mechanisms import Gaussian, Laplace, Mechanism, Projection
from sfumato.mechanisms.base import one_blas_thread
from sfumato.mechanisms.projection import Sensitivity
from sfumato.metrics.intervals import Resampling, mean_interval
from sfumato.randomness import InsecureSeedWarning, Source, generator
from sfumato.types import Floats
from sfumato_research.studies.base import Cell
from sfumato_research.studies.data import rows

DELTA = 1e-6
"""The paper's, section 5."""
DIM = 300
"""The paper's word vectors have so many dimensions."""
_GLOVE = ("glove_100d", "glove.6B.100d.top20k.txt.gz")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_WINDOW = 5
_LEAST, _MOST = 5, 20_000


@dataclass(frozen=True, slots=True, eq=False)
class WordEmbeddings:
    """Words and their vectors, at the lengths they have, as the paper uses them."""

    name: str
    words: list[str]
    vectors: Floats

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return int(self.vectors.shape[1])

    @property
    def bound(self) -> float:
        """No vector is longer."""
        return float(np.linalg.norm(self.vectors, axis=1).max())

    def places(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def of(self, words: Sequence[str]) -> Floats:
        """Vectors of some of the words."""
        place = self.places()
        return self.vectors[[place[word] for word in words]]


@lru_cache(maxsize=2)
def glove(data: Path) -> WordEmbeddings:
    """GloVe's 100 dimensions; the paper has 300."""
    path = data.joinpath(*_GLOVE)
    if not path.exists():
        raise InputError(f"{path.parent} must hold {path.name}. Found no such file.")
    words, vectors = [], []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            word, *numbers = line.rstrip("\n").split(" ")
            words.append(word)
            vectors.append(np.array(numbers, np.float64))
    return WordEmbeddings("GloVe", words, np.array(vectors))


def trained(data: Path, sentences: int | None = None, dims: int = DIM) -> WordEmbeddings:
    """Vectors trained here, in `dims` dimensions, as long on average as GloVe's.

    Positive pointwise mutual information of words within five of one another, its singular vectors scaled by
    the roots of the singular values: what GloVe's training comes to (Levy and Goldberg 2014), in seconds.
    """
    words, left, values = _factors(data, sentences)
    raw = left[:, :dims] * np.sqrt(values[:dims])
    lengths = np.linalg.norm(raw, axis=1)
    kept = np.flatnonzero(lengths > 1e-6)
    scale = float(np.linalg.norm(glove(data).vectors, axis=1).mean() / lengths[kept].mean())
    return WordEmbeddings("trained here", [words[row] for row in kept.tolist()], raw[kept] * scale)


@lru_cache(maxsize=2)
def _factors(data: Path, sentences: int | None) -> tuple[list[str], Floats, Floats]:
    texts = []
    for number, row in enumerate(rows(data, "sentences", "sentences")):
        if number == sentences:
            break
        texts.append(_WORD.findall(row["text"].lower()))
    counts = Counter(word for text in texts for word in text)
    words = [word for word, count in counts.most_common(_MOST) if count >= _LEAST]
    place = {word: row for row, word in enumerate(words)}
    gap = [-1] * _WINDOW
    flat = np.array([number for text in texts for number in [*(place.get(w, -1) for w in text), *gap]])
    with one_blas_thread():
        left, values = _leading(_information(flat, len(words)), min(DIM, len(words)))
    return words, left, values


def _information(flat: NDArray[np.intp], size: int) -> Any:
    """`[n, n]` positive pointwise mutual information; near words count more."""
    from scipy import sparse

    counts = sparse.csr_matrix((size, size), dtype=np.float32)
    for apart in range(1, _WINDOW + 1):
        first, second = flat[:-apart], flat[apart:]
        both = (first >= 0) & (second >= 0)
        weight = np.full(int(both.sum()), 1.0 / apart, np.float32)
        counts = counts + sparse.csr_matrix((weight, (first[both], second[both])), shape=(size, size))
    pairs = (counts + counts.T).tocoo()
    totals = np.bincount(pairs.row, pairs.data, size)
    contexts = totals**0.75
    contexts /= contexts.sum()
    information = np.log(pairs.data / (totals[pairs.row] * contexts[pairs.col])).astype(np.float32)
    kept = information > 0
    return sparse.csr_matrix((information[kept], (pairs.row[kept], pairs.col[kept])), shape=(size, size))


def _leading(matrix: Any, rank: int) -> tuple[Floats, Floats]:
    """Leading left singular vectors and values, by three rounds of randomised iteration (Halko 2011)."""
    width = min(rank + 10, matrix.shape[1])
    start = generator(0).standard_normal((matrix.shape[1], width), np.float32)
    basis = np.linalg.qr(matrix @ start)[0]
    for _ in range(3):
        basis = np.linalg.qr(matrix @ (matrix.T @ basis))[0]
    inner = (matrix.T @ basis).astype(np.float64)
    squares, left = np.linalg.eigh(inner.T @ inner)
    values = np.sqrt(np.maximum(squares[::-1][:rank], 0.0))
    return np.asarray(basis.astype(np.float64) @ left[:, ::-1][:, :rank]), np.asarray(values)


def release(mechanism: Mechanism, vectors: Floats, seed: int) -> Floats:
    """A repeatable release; these stay in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        source = Source.seeded(seed)
    return mechanism.privatize(vectors, source, threads=1).astype(np.float64)


def m1(words: WordEmbeddings, epsilon: float) -> Laplace:
    """The paper's M1 (Feyisetan et al. 2020)."""
    return Laplace(epsilon=epsilon, max_norm=words.bound)


def m2(
    words: WordEmbeddings, epsilon: float, beta: float, *, seed: int = 0, sensitivity: Sensitivity = "width"
) -> Projection:
    """The paper's M2 (PRIVEMB), m from its formula; `seed` names the matrix."""
    return Projection(
        epsilon=epsilon, delta=DELTA, beta=beta, sensitivity=sensitivity, seed=seed, max_norm=words.bound
    )


def same_promise(words: WordEmbeddings, epsilon: float) -> Gaussian:
    """Gaussian noise with M2's very promise and no condition.

    Its loss exceeds epsilon times the distance with chance delta at the largest distance there is, and with a
    smaller chance at smaller ones.
    """
    farthest = 2 * words.bound
    return Gaussian.analytic(epsilon=epsilon * farthest, delta=DELTA, max_norm=words.bound)


def mean_cell(values: Any, *, form: str = ".3f", groups: Any = None, printed: float | None = None) -> Cell:
    """Mean of some rows with its bootstrap interval."""
    column = np.asarray(values, np.float64)
    low, high = mean_interval(column, Resampling(groups=groups, resamples=1000)) or (None, None)
    return Cell(float(column.mean()), low, high, form, printed)


def point(cell: Cell) -> tuple[float, float, float]:
    """Value and ends, for a drawing."""
    value = cell.value if cell.value is not None else float("nan")
    return value, value if cell.low is None else cell.low, value if cell.high is None else cell.high
