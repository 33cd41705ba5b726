"""How much of what is sensitive an attacker names: Leakage and Confidence (SPARSE, eq. 13 and 14)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from sfumato.concepts.dictionary import folded
from sfumato.errors import InputError, ParameterError
from sfumato.types import Floats

Level = Literal["token", "span"]
"""token: every word of a sensitive term counts by itself; span: a term counts only as a whole."""

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
            only the first |C_i| count.
        level: a text leaks a span when its words stand there one after the other; guesses have to name it.
    """
    _check(level, len(sensitive), len(recovered))
    found = np.zeros(len(sensitive))
    total = np.zeros(len(sensitive))
    for row, (terms, answer) in enumerate(zip(sensitive, recovered, strict=True)):
        wanted = _tokens(terms, level)
        total[row] = len(wanted)
        if isinstance(answer, str):
            read = words(answer)
            found[row] = sum(_stands_in(term, read) for term in wanted)
        else:
            found[row] = len(wanted.keys() & _first(answer, len(wanted), level).keys())
    return Hits(found, total)


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
    entries: dict[tuple[str, ...], list[int]] = {}
    holding: dict[str, list[int]] = {}
    for number, entry in enumerate(vocabulary):
        parts = tuple(words(entry))
        entries.setdefault(parts, []).append(number)
        for part in set(parts):
            holding.setdefault(part, []).append(number)

    def one(row: Floats, parts: tuple[str, ...]) -> float:
        if parts in entries:
            return float(row[entries[parts]].max())
        singles = [entries.get((part,)) or holding.get(part) for part in parts]
        return float(np.prod([row[known].max() if known else 0.0 for known in singles]))

    wanted = [_tokens(terms, level) for terms in sensitive]
    return Hits(
        np.array([sum(one(row, parts) for parts in terms) for row, terms in zip(table, wanted, strict=True)]),
        np.array([float(len(terms)) for terms in wanted]),
    )


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


Token = tuple[str, ...]


@lru_cache(maxsize=1 << 16)
def _parts(term: str) -> Token:
    return tuple(words(term))


def _tokens(terms: Iterable[str], level: Level) -> dict[Token, None]:
    """The different tokens of some terms in order, each as the words it is made of."""
    split = (_parts(term) for term in terms)
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


def _stands_in(term: tuple[str, ...], text: list[str]) -> bool:
    size = len(term)
    return any(tuple(text[at : at + size]) == term for at in range(len(text) - size + 1))


def _check(level: Level, rows: int, answers: int) -> None:
    if level not in get_args(Level):
        raise ParameterError(f"`level` must be one of {', '.join(get_args(Level))}. Found {level!r:.40}.")
    if rows != answers:
        raise InputError(f"There must be one answer a row. Found {answers} answers for {rows} rows.")
