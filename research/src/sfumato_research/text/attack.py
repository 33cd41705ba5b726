"""An attack on private text, which the paper never runs: the best guess of a word from what was written.

The channel is public, so that an attacker can sample it at leisure. Draw vectors y from all candidates,
decode each to a word o, and average over the y of every o: P(o | x) is proportional to the mean over those y
of p(y | x)/sum over candidates of p(y | x'). That is exact in the limit, and every draw says something about
every candidate, so that far fewer are needed than by counting. The Bayes-optimal guess is the x with the
largest P(x) P(o | x); it may be multiplied by what the neighbouring words say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, ParameterError
from sfumato.metrics.intervals import Interval, Resampling, percentile_interval, resampled_sums
from sfumato.numbers import whole_number
from sfumato.text.channel import Channel
from sfumato.text.prefixes import Ids
from sfumato.text.rewriter import Rewritten
from sfumato.text.vocabulary import UNKNOWN
from sfumato.types import Floats
from sfumato_research.text.context import ContextModel

_LARGEST = 1 << 28
"""Words times candidates: a table of a gigabyte."""
_ROWS = 512


class TokenAttack:
    """Guesses the word behind a written word.

    Args:
        channel: the mechanism, its vocabulary and its decoder, all public.
        candidates: `[n]` the words that may have stood there.
        prior: `[n]` how frequent each is.
        epsilon: the budget of the words under attack.
        draws: how often every candidate is sent through the channel.
        context: also weigh the words around.
        rng: None, a `Source` or a seed.
    """

    def __init__(
        self,
        channel: Channel,
        candidates: Sequence[int] | Ids,
        prior: Floats,
        epsilon: float,
        *,
        draws: int = 100,
        context: ContextModel | None = None,
        rng: object = None,
    ) -> None:
        self.candidates = np.asarray(candidates, np.int64)
        weights = np.asarray(prior, np.float64)
        if weights.shape != self.candidates.shape or not len(weights) or not (weights > 0).all():
            raise InputError(
                "Every candidate must have a prior above 0. Found another number of them, or a 0."
            )
        if len(self.candidates) * len(channel.vocabulary) > _LARGEST:
            most = _LARGEST // len(channel.vocabulary)
            raise ParameterError(f"There may be {most} candidates at most. Found {len(self.candidates)}.")
        self.log_prior = np.log(weights / weights.sum())
        self.context = context
        self._table = _sampled(channel, self.candidates, epsilon, whole_number(draws, "draws", 1, 10**9), rng)
        self._seen: NDArray[np.bool_] = np.asarray(self._table.any(axis=1))

    def log_likelihood(self, written: int) -> Floats:
        """`[n]` log P(written | candidate); 0 for a word that is hidden or that no draw has written."""
        if written == UNKNOWN or not self._seen[written]:
            return np.zeros(len(self.candidates))
        return np.asarray(np.log(np.maximum(self._table[written], 1e-30).astype(np.float64)))

    def recover(self, written: Sequence[int] | Ids, contexts: Sequence[Ids] | None = None) -> Ids:
        """Return the best guess for each written word, given the words around it where asked."""
        guesses = np.empty(len(written), np.int64)
        for row, word in enumerate(np.asarray(written, np.int64).tolist()):
            scores = self.log_prior + self.log_likelihood(word)
            if self.context is not None and contexts is not None:
                scores = scores + self.context.scores(contexts[row], self.candidates)
            guesses[row] = self.candidates[int(scores.argmax())]
        return guesses

    def vulnerability(self) -> float:
        """The share of words a guesser without context gets right: sum over outputs of max P(x) P(o | x)."""
        prior = np.exp(self.log_prior).astype(np.float32)
        return float(np.sum([(row * prior).max() for row in self._table], dtype=np.float64))


def _sampled(
    channel: Channel, candidates: Ids, epsilon: float, draws: int, rng: object
) -> NDArray[np.float32]:
    """`[V, n]` estimates of P(o | x)."""
    table = np.zeros((len(channel.vocabulary), len(candidates)), np.float32)
    centres = channel.vocabulary.unit(candidates)
    mechanism = channel.mechanism(epsilon)
    for released, written in channel.draw(np.repeat(candidates, draws), epsilon, rng):
        order = np.argsort(written, kind="stable")
        for low in range(0, len(order), _ROWS):
            own = order[low : low + _ROWS]
            scores = np.asarray(mechanism.log_densities(released[own], centres), np.float32)
            scores -= scores.max(axis=1, keepdims=True)
            share = np.exp(scores)
            share /= share.sum(axis=1, keepdims=True)
            outputs, first = np.unique(written[own], return_index=True)
            table[outputs] += np.add.reduceat(share, first, axis=0)
    table /= table.sum(axis=0)
    return table


@dataclass(frozen=True, slots=True)
class TokenLeakage:
    """What an attack recovers of sensitive words, beside what that is to be compared with."""

    control: float
    """The same attack on the text as it was: 1 where every word is a candidate."""
    floor: float
    """Guessing from the words around, with the word itself hidden."""
    prior: float
    """The best constant guess."""
    released: float
    """The Bayes-optimal guess from the written word."""
    released_with_context: float
    """The same, weighed with the words around it."""
    copied: float
    """Words that came out unchanged."""
    excess: float | None
    """(better of the two - base)/(control - base); base is the better of floor and prior."""
    words: int
    texts: int
    attack: str = "bayes"
    coverage: float = 0.95
    interval: Interval | None = None
    """Of the excess; None where it is undefined, in the figure itself or in too many resamples."""
    intervals: dict[str, Interval | None] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def measure_leakage(
    attack: TokenAttack,
    sources: Sequence[Sequence[int] | Ids],
    rewritten: Sequence[Sequence[int] | Ids],
    places: Sequence[Sequence[int]],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> TokenLeakage:
    """Attack the sensitive places of texts and count what comes back.

    Args:
        attack: made for the budget of those places.
        sources: the words of each text by number.
        rewritten: what was written in their places.
        places: the places under attack in each text.
        resamples: texts are drawn again so often for the intervals.
        seed: of those draws.
    """
    best = int(attack.candidates[int(attack.log_prior.argmax())])
    known = set(attack.candidates.tolist())
    rows = []
    for text, (source, written, at) in enumerate(zip(sources, rewritten, places, strict=True)):
        before, after = np.asarray(source, np.int64), np.asarray(written, np.int64)
        for place in at:
            rows.append((text, *_guesses(attack, before, after, place, best, known)))
    if not rows:
        raise InputError("There must be something sensitive in the texts. Found nothing.")
    return _summary(np.array(rows, np.float64), resamples, seed)


def _guesses(
    attack: TokenAttack, before: Ids, after: Ids, place: int, best: int, known: set[int]
) -> tuple[bool, ...]:
    """Control, floor, prior, released, released with context, copied: whether each is right."""
    truth, shown = int(before[place]), int(after[place])
    around = [attack.context.around(after, place)] if attack.context is not None else None
    blind = int(attack.recover([UNKNOWN], around)[0])
    alone = int(attack.recover([shown])[0])
    helped = int(attack.recover([shown], around)[0])
    right = (blind, best, alone, helped, shown)
    return (truth in known, *(guess == truth for guess in right))


_NAMES = ("control", "floor", "prior", "released", "released_with_context", "copied")


def _summary(rows: Floats, resamples: int, seed: int) -> TokenLeakage:
    texts, own = np.unique(rows[:, 0], return_inverse=True)
    hits = np.stack([np.bincount(own, column) for column in rows[:, 1:].T], axis=1)
    sizes = np.bincount(own).astype(np.float64)
    sums = resampled_sums(np.column_stack([hits, sizes]), Resampling(resamples=resamples, seed=seed))
    rates = sums[:, :-1] / sums[:, -1:]
    point = dict(zip(_NAMES, (hits.sum(axis=0) / sizes.sum()).tolist(), strict=True))

    def excess(values: Floats) -> Floats:
        control, top = values[..., 0], np.maximum(values[..., 3], values[..., 4])
        # Where the words around are noise, a guesser does better to name the most frequent word.
        base = np.maximum(values[..., 1], values[..., 2])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(control > base, (top - base) / (control - base), np.nan)

    over = excess(hits.sum(axis=0) / sizes.sum()).item()
    return TokenLeakage(
        **point,
        excess=over if np.isfinite(over) else None,
        words=len(rows),
        texts=len(texts),
        interval=percentile_interval(excess(rates)) if np.isfinite(over) else None,
        intervals={name: percentile_interval(drawn) for name, drawn in zip(_NAMES, rates.T, strict=True)},
    )


def sensitive_words(
    texts: Sequence[str], made: Sequence[Rewritten], channel: Channel
) -> tuple[list[Ids], list[Ids], list[list[int]]]:
    """Words before, words after and sensitive places with a known word, of texts that were rewritten."""
    number = channel.vocabulary.number
    sources, written, places = [], [], []
    for text, each in zip(texts, made, strict=True):
        before = np.array([number(text[one.start : one.end]) for one in each.positions], np.int64)
        sources.append(before)
        written.append(np.array([number(one.written) for one in each.positions], np.int64))
        places.append(
            [row for row, one in enumerate(each.positions) if one.group.sensitive and before[row] >= 0]
        )
    return sources, written, places


def unigram_prior(words: Sequence[Ids], candidates: Ids) -> Floats:
    """`[n]` how frequent each candidate is among words, with half a count for those never seen."""
    counts = Counter(number for each in words for number in np.asarray(each).tolist())
    found = np.array([counts[number] + 0.5 for number in candidates.tolist()])
    return np.asarray(found / found.sum())
