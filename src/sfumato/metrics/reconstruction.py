"""How much of a whole text an attacker writes down again: BLEU, token F1, exact match, cosine.

Texts are compared as `tokens` cuts them, marks included: this asks how much was written as it stood. What is
sensitive is compared without marks, see `leakage`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import InputError, MissingPackageError
from sfumato.metrics.intervals import Figure, Interval, Resampling, mean, mean_interval, share
from sfumato.metrics.similarity import pair_cosines
from sfumato.types import Floats

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """Figures of each rebuilt text, and one BLEU over all of them."""

    corpus_bleu: float
    """sacrebleu's corpus BLEU in [0, 100]: n-grams counted over all texts together."""
    sentence_bleu: Floats
    """`[n]` sacrebleu's sentence BLEU in [0, 100], effective order; Vec2Text prints its mean."""
    token_f1: Floats
    """`[n]` F1 of the bags of tokens."""
    exact: Floats
    """`[n]` 1 where all tokens are the same in the same order, else 0."""
    cosine: Floats | None
    """`[n]` cosine of the text's vector with the rebuilt text's; None where no vectors were given."""

    def means(self) -> dict[str, float]:
        """Every figure as one number."""
        named = {"corpus_bleu": self.corpus_bleu}
        return named | {name: float(column.mean()) for name, column in self._columns().items()}

    def intervals(self, how: Resampling | None = None) -> dict[str, Interval | None]:
        """Confidence intervals of the means; corpus BLEU is no mean and has none here."""
        return {name: mean_interval(column, how) for name, column in self._columns().items()}

    def _columns(self) -> dict[str, Floats]:
        kept = {"sentence_bleu": self.sentence_bleu, "token_f1": self.token_f1, "exact": self.exact}
        return kept if self.cosine is None else kept | {"cosine": self.cosine}


def tokens(text: str) -> list[str]:
    """Words and single marks in lower case, which is how uncased encoders see a text."""
    return _TOKEN.findall(text.lower())


def bag_f1(one: Iterable[str], other: Iterable[str]) -> float:
    """F1 of two bags of words; 1 for two empty ones, 0 where only one is empty."""
    true, guessed = Counter(one), Counter(other)
    total = true.total() + guessed.total()
    return 2 * (true & guessed).total() / total if total else 1.0


def token_f1(reference: str, hypothesis: str) -> float:
    """F1 of the two bags of tokens."""
    return bag_f1(tokens(reference), tokens(hypothesis))


def rouge_l(reference: str, hypothesis: str) -> float:
    """ROUGE-L (Lin 2004): F1 of the longest sequence of tokens that both have in this order, gaps allowed."""
    true, guessed = tokens(reference), tokens(hypothesis)
    longest = [0] * (len(guessed) + 1)
    for each in true:
        before = 0
        for at, other in enumerate(guessed):
            here = longest[at + 1]
            longest[at + 1] = before + 1 if each == other else max(here, longest[at])
            before = here
    total = len(true) + len(guessed)
    return 2 * longest[-1] / total if total else 1.0


def bleu_2(reference: str, hypothesis: str) -> float:
    """BLEU of single tokens and pairs (Papineni et al. 2002), of one text, without smoothing, in [0, 1]."""
    true, guessed = tokens(reference), tokens(hypothesis)
    if not true or not guessed:
        return float(true == guessed)
    precisions = []
    for length in (1, 2)[: len(guessed)]:
        own, other = (
            Counter(zip(*(row[at:] for at in range(length)), strict=False)) for row in (true, guessed)
        )
        precisions.append((own & other).total() / other.total())
    shortness = min(0.0, 1 - len(true) / len(guessed))
    return float(np.exp(shortness) * np.prod(precisions) ** (1 / len(precisions)))


def exact_match(reference: str, hypothesis: str) -> bool:
    """Whether both texts have the same tokens in the same order: case and spacing do not count."""
    return tokens(reference) == tokens(hypothesis)


def text_figures(references: Sequence[str], hypotheses: Sequence[str]) -> list[Figure]:
    """Mean token F1 and the share of exact matches."""
    if len(references) != len(hypotheses):
        raise InputError(
            f"There must be one rebuilt text a text. Found {len(references)} and {len(hypotheses)} texts."
        )
    rows = list(zip(references, hypotheses, strict=True))
    return [
        mean("token F1", [token_f1(*row) for row in rows]),
        share("exact match", sum(exact_match(*row) for row in rows), len(rows)),
    ]


def score_reconstruction(
    texts: Sequence[str], recovered: Sequence[str], *, vectors: Any = None, recovered_vectors: Any = None
) -> Reconstruction:
    """Compare rebuilt texts with the true ones.

    Args:
        texts: what was embedded.
        recovered: what the attack wrote, one a text.
        vectors: clean vectors of the texts, to compare meanings.
        recovered_vectors: vectors of what was written, from the same encoder.
    """
    if len(texts) != len(recovered) or not len(texts):
        raise InputError(
            f"There must be one rebuilt text a text. Found {len(texts)} and {len(recovered)} texts."
        )
    if (vectors is None) != (recovered_vectors is None):
        raise InputError(
            "Cosines need the vectors of both the texts and the rebuilt ones. Found one of them."
        )
    metric, whole = _bleu(), list(zip(texts, recovered, strict=True))
    return Reconstruction(
        corpus_bleu=float(metric(effective_order=False).corpus_score(list(recovered), [list(texts)]).score),
        sentence_bleu=np.array(_sentences(metric(effective_order=True), whole)),
        token_f1=np.array([token_f1(*pair) for pair in whole]),
        exact=np.array([float(exact_match(*pair)) for pair in whole]),
        cosine=None if vectors is None else pair_cosines(vectors, recovered_vectors),
    )


def _sentences(metric: Any, whole: Sequence[tuple[str, str]]) -> list[float]:
    return [float(metric.sentence_score(guess, [truth]).score) for truth, guess in whole]


def _bleu() -> Any:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ModuleNotFoundError as error:
        raise MissingPackageError("sacrebleu", "evaluate", "to compute BLEU") from error
    return BLEU
