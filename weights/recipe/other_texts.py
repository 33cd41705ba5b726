"""Texts for a reader of another encoder, as they are written: sentences, parts, two of them joined."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from prepare import LONGEST, NON_COMMERCIAL, Chosen, held_back, rows

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.metrics.reconstruction import token_f1
from sfumato.randomness import generator


@dataclass(frozen=True)
class Sentences:
    """What is learned from and what is held back."""

    own: list[str]
    tokens: np.ndarray
    honest: np.ndarray
    """Texts the hypothesiser does not learn from."""
    test: list[tuple[str, str]]
    test_tokens: np.ndarray

    @classmethod
    def made(cls, data: Path, cache: Path, pieces: Wordpieces, count: int, test: int) -> Sentences:
        """Choose them as prepare.py does, once; later calls find them in `cache`."""
        kept = cache / f"texts-{count}-{test}.json"
        if not kept.exists():
            cache.mkdir(parents=True, exist_ok=True)
            given = list(rows(data / "sentences" / "sentences.tsv.gz"))
            order = generator(20261115).permutation(len(given))
            held, apart, used = held_back(given, order, pieces, 1000)
            chosen = Chosen(held + apart)
            for at in order[: count + 2000]:
                if int(at) not in used and given[at][0] not in NON_COMMERCIAL:
                    chosen.consider(*given[at])
            whole = [text for _, text in chosen.rows][:count]
            part = kept.with_suffix(".part")
            part.write_text(json.dumps({"own": fitting(varied(whole, count), pieces), "test": held[:test]}))
            part.rename(kept)
        found = json.loads(kept.read_text())
        own, held = found["own"], [(source, text) for source, text in found["test"]]
        honest = generator(20261120).random(len(own)) < 0.15
        return cls(
            own,
            pieces.encode(own, LONGEST).astype(np.int16),
            honest,
            held,
            pieces.encode([text for _, text in held], LONGEST).astype(np.int16),
        )


def varied(whole: list[str], count: int) -> list[str]:
    """The sentences, then parts of them and two of them joined in turn, as many as are asked for."""
    random, found = generator(20261121), dict.fromkeys(whole)
    words = [text.split() for text in whole]
    for number in range(max(0, count - len(whole))):
        left, right = (words[at] for at in random.integers(len(words), size=2))
        first, second = random.random(2)
        if number % 2 and len(left) > 4:
            begin = int(first * (len(left) - 3))
            made = left[begin : begin + 3 + int(second * (len(left) - begin - 2))]
        else:
            made = (
                left[: 2 + int(first * max(1, len(left) - 2))]
                + right[-2 - int(second * max(1, len(right) - 2)) :]
            )
        found.setdefault(" ".join(made))
    return list(found)


def fitting(texts: list[str], pieces: Wordpieces) -> list[str]:
    """Those of at most 32 wordpieces."""
    found = []
    for start in range(0, len(texts), 20_000):
        some = texts[start : start + 20_000]
        found += [
            text for text, row in zip(some, pieces.numbers(some), strict=True) if 2 <= len(row) <= LONGEST
        ]
    return found


def constant(texts: Sentences, pieces: Wordpieces, tried: int = 400) -> np.ndarray:
    """The one text to say of every vector: of some learned ones, that with the best mean token F1."""
    sizes = [len(text.split()) for text in texts.own[:4000]]
    some = [text.lower() for text, size in zip(texts.own, sizes, strict=False) if 8 <= size <= 20]
    asked, others = some[:tried], some[tried : 2 * tried] or some
    means = [np.mean([token_f1(other, text) for other in others]) for text in asked]
    return pieces.encode([asked[int(np.argmax(means))]], LONGEST)[0]
