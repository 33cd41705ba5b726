"""How much of what is sensitive an attacker names: Leakage and Confidence (SPARSE, eq. 13 and 14).

The paper's C_i is a set of tokens, and its indicator asks whether one of them is in the rebuilt sentence.
That leaves three things open. Each is settled so that what was read counts as read:

- **The same token.** Terms are compared by their words, in one Unicode form, without case and marks:
  "stratford upon avon" names the place as "Stratford-upon-Avon" does, and a defence must not look better for
  hyphens that the attack left out. A term without any letter or digit has no words, and is not counted.
- **Guesses instead of a sentence.** An attack that ranks terms gets as many guesses as the row has terms, so
  that a long list is no advantage. A set holds nothing twice, so these are |C_i| *different* guesses: one
  that is repeated, or spelled in another way, takes no place from the next.
- **Terms of several words.** P(t | vector) of a sequence is the product of its words' probabilities, here as
  if they were independent, unless the attack knows the term as a whole: "New York" has .4 where "new" has .5
  and "york" .8. Counted as 0, for being no entry, it could never be exposed, however sure the attack was. The
  mean is over all true tokens, as in SPARSE; DPPN speaks of the largest probability and prints no formula.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from sfumato.concepts.detectors.dictionary import folded
from sfumato.errors import InputError, ParameterError
from sfumato.metrics.intervals import Figure, ratio_interval, share
from sfumato.types import Floats

Level = Literal["token", "span"]
"""token: every word of a sensitive term counts by itself; span: a term counts only as a whole."""
Token = tuple[str, ...]
"""What is compared: the words of a term."""

_WORD = re.compile(r"\w+")
_LEAST_LOSS = 1e-6  # less utility lost than this is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """What an attack found, row by row, so that figures of the same rows can be compared and drawn again."""

    found: Floats
    """`[n]` sensitive tokens found, or the probability given to them."""
    total: Floats
    """`[n]` sensitive tokens there are: |C_i|."""

    @property
    def rate(self) -> float:
        """Found over all there are, the T of SPARSE's equations; 0 where nothing is sensitive."""
        return float(self.found.sum() / max(self.total.sum(), 1e-300))

    def __len__(self) -> int:
        return len(self.found)


def words(text: str) -> list[str]:
    """The words of a text as they are compared: without case and punctuation."""
    return _WORD.findall(folded(text))


def pool(several: Hits | Sequence[Hits]) -> Hits:
    """One attack run with several seeds on the same rows, as one."""
    runs = [several] if isinstance(several, Hits) else list(several)
    if not runs or any(len(run) != len(runs[0]) for run in runs):
        sizes = ", ".join(str(len(run)) for run in runs) or "none"
        raise InputError(f"Runs to be pooled must be of the same rows. Found rows: {sizes}.")
    return Hits(np.sum([run.found for run in runs], axis=0), np.sum([run.total for run in runs], axis=0))


def named(
    sensitive: Sequence[str], recovered: str | Sequence[str], *, level: Level = "span"
) -> dict[Token, bool]:
    """Which sensitive tokens of one row an attack named, see `count_leaked`."""
    wanted = _tokens(sensitive, level)
    if isinstance(recovered, str):
        read = words(recovered)
        return {each: _stands_in(each, read) for each in wanted}
    guesses = _first(recovered, len(wanted), level)
    return {each: each in guesses for each in wanted}


def count_leaked(
    sensitive: Sequence[Sequence[str]],
    recovered: Sequence[str] | Sequence[Sequence[str]],
    *,
    level: Level = "span",
) -> Hits:
    """Count the sensitive tokens an attack named (SPARSE, eq. 13).

    Args:
        sensitive: the sensitive strings of each row, such as `Pairs.terms`.
        recovered: what the attack read from each row: a text, or guesses with the likeliest first, of which
            only the first |C_i| different ones count.
        level: a text leaks a span when its words stand there one after the other; guesses have to name it.
    """
    _check(level, len(sensitive), len(recovered))
    rows = [
        named(terms, answer, level=level).values() for terms, answer in zip(sensitive, recovered, strict=True)
    ]
    return Hits(np.array([float(sum(row)) for row in rows]), np.array([float(len(row)) for row in rows]))


def leakage_figure(
    sensitive: Sequence[Sequence[str]], recovered: Sequence[str] | Sequence[Sequence[str]]
) -> Figure:
    """Leakage of whole terms with Wilson's interval."""
    hits = count_leaked(sensitive, recovered)
    return share("leakage", round(hits.found.sum()), round(hits.total.sum()))


def count_confidence(
    sensitive: Sequence[Sequence[str]],
    probabilities: Any,
    vocabulary: Sequence[str],
    *,
    level: Level = "span",
) -> Hits:
    """Sum the probability an attack gives to what is really there, right or wrong (SPARSE, eq. 14).

    Args:
        sensitive: the sensitive strings of each row.
        probabilities: `(n, v)` the attack's probability of each vocabulary entry.
        vocabulary: words or whole terms. A span that is no entry gets the product of its words, as if they
            were independent; a word that is no entry gets that of the likeliest entry it stands in.
        level: what counts as one token.
    """
    table = np.asarray(probabilities, np.float64)
    _check(level, len(sensitive), len(table))
    if table.shape != (len(sensitive), len(vocabulary)) or not ((table >= 0) & (table <= 1 + 1e-6)).all():
        raise InputError(
            f"Probabilities must be in [0, 1], {len(sensitive)} rows of {len(vocabulary)}. "
            f"Found shape {table.shape}."
        )
    entries: dict[Token, list[int]] = {}
    holding: dict[str, list[int]] = {}
    for number, entry in enumerate(vocabulary):
        parts = token(entry)
        entries.setdefault(parts, []).append(number)
        for part in set(parts):
            holding.setdefault(part, []).append(number)

    def one(row: Floats, parts: Token) -> float:
        if parts in entries:
            return float(row[entries[parts]].max())
        singles = [entries.get((part,)) or holding.get(part) for part in parts]
        return float(np.prod([row[known].max() if known else 0.0 for known in singles]))

    wanted = [_tokens(terms, level) for terms in sensitive]
    return Hits(
        np.array([sum(one(row, parts) for parts in terms) for row, terms in zip(table, wanted, strict=True)]),
        np.array([float(len(terms)) for terms in wanted]),
    )


def confidence_figure(
    sensitive: Sequence[Sequence[str]], probabilities: Any, vocabulary: Sequence[str]
) -> Figure:
    """Confidence in whole terms with a bootstrap interval over rows."""
    hits = count_confidence(sensitive, probabilities, vocabulary)
    count = round(hits.total.sum())
    ends = ratio_interval(hits.found, hits.total) if count else None
    return Figure("confidence", hits.rate, *(ends or (0.0, 1.0)), count)


def constant_guess(sensitive: Sequence[Sequence[str]], *, level: Level = "span") -> list[str]:
    """What an attacker names who never looks at a vector: the most frequent first.

    Give the attacker's own rows for the guess he can make, or the tested rows for the best there is.
    """
    _check(level, len(sensitive), len(sensitive))
    counts = Counter(" ".join(parts) for terms in sensitive for parts in _tokens(terms, level))
    return sorted(counts, key=lambda term: (-counts[term], term))


def count_prior(
    sensitive: Sequence[Sequence[str]],
    known: Sequence[Sequence[str]] | None = None,
    *,
    level: Level = "span",
) -> Hits:
    """Count what the best constant guess gets, made from the rows of `known` or else from these very rows."""
    guess = constant_guess(sensitive if known is None else known, level=level)
    return count_leaked(sensitive, [guess] * len(sensitive), level=level)


def tradeoff_rate(
    *, clean_leakage: float, released_leakage: float, clean_utility: float, released_utility: float
) -> float | None:
    """Leakage taken away per utility lost (SPARSE, section F.3); None where no utility was lost.

    The paper puts `released_leakage` at 0 for defences on the text without measuring it; measure it.
    """
    lost = clean_utility - released_utility
    return (clean_leakage - released_leakage) / lost if lost > _LEAST_LOSS else None


@lru_cache(maxsize=1 << 16)
def token(term: str) -> Token:
    """A term as it is compared."""
    return tuple(words(term))


def _tokens(terms: Iterable[str], level: Level) -> dict[Token, None]:
    """The different tokens of some terms in order, each as the words it is made of."""
    split = (token(term) for term in terms)
    if level == "span":
        return dict.fromkeys(parts for parts in split if parts)
    return dict.fromkeys((word,) for parts in split for word in parts)


def _first(guesses: Sequence[str], count: int, level: Level) -> dict[Token, None]:
    """The first `count` different tokens of a ranking; the words of a guess count one by one."""
    found: dict[Token, None] = {}
    for guess in guesses:
        for token in _tokens((guess,), level):
            if len(found) >= count:
                return found
            found[token] = None
    return found


def _stands_in(term: Token, text: list[str]) -> bool:
    size = len(term)
    return any(tuple(text[at : at + size]) == term for at in range(len(text) - size + 1))


def _check(level: Level, rows: int, answers: int) -> None:
    if level not in get_args(Level):
        raise ParameterError(f"`level` must be one of {', '.join(get_args(Level))}. Found {level!r:.40}.")
    if rows != answers:
        raise InputError(f"There must be one answer a row. Found {answers} answers for {rows} rows.")
