"""Asking the victim's encoder, a counted number of times, how well a text explains a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.attacks.base import Embeds
from sfumato.likelihood import by_direction, has_density
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator
from sfumato.release import AS_IT_IS, Release
from sfumato.types import Floats

_RIDGE = 4.0

Fit = Callable[[Floats, Floats], Floats]
"""`(d,)` a release and `(k, d)` clean vectors in, `(k,)` how well each explains it out, in nats."""


def explained_by(release: Release | None, dim: int, seed: int = 0) -> Fit:
    """The release's own log likelihood where its law is known, a cosine with what it would be otherwise."""
    known = release or AS_IT_IS
    lawful = known.mechanism.noisy and _has_law(known, dim)
    weigh = known.likelihood(dim, seed=seed) if lawful else by_direction(known.expected)
    return lambda released, clean: weigh(released[None], clean)[0]


def _has_law(release: Release, dim: int) -> bool:
    mechanism = release.mechanism
    if release.eraser is not None:
        return mechanism.additive
    if mechanism.ellipse(dim) is not None:
        return True
    law = mechanism.direction() if release.normalise else mechanism
    if law is None or not has_density(law, dim):
        return False
    # A law under which most texts are impossible says nothing about which of them comes closer.
    one, other = unit_rows(generator(0).standard_normal((2, 1, dim)))
    return bool(np.isfinite(law.log_density(law.expected(one), other)).all())


@dataclass(slots=True)
class Asked:
    """Everything one target's texts were asked for: no text twice, and none beyond the limit."""

    encoder: Embeds
    release: Release
    released: Floats
    """`(d,)` the target."""
    fit: Fit
    limit: int
    vectors: dict[str, Floats] = field(default_factory=dict)
    """What each text would be released as without noise, at unit length."""
    fits: dict[str, float] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """How many more texts may be embedded."""
        return self.limit - len(self.fits)

    def ask(self, texts: Sequence[str]) -> list[str]:
        """Embed the texts that are new, as far as the limit goes; return those that are known now."""
        new = [text for text in dict.fromkeys(texts) if text not in self.fits and text.strip()][: self.left]
        if new:
            rows = np.asarray(self.encoder.embed(new), np.float64)
            fits, seen = self.fit(self.released, rows), unit_rows(self.release.expected(rows))
            for text, row, value in zip(new, seen, fits, strict=True):
                self.vectors[text], self.fits[text] = row, float(value)
        return [text for text in texts if text in self.fits]

    def cosine(self, text: str) -> float:
        """How near a text that was asked for comes to the target."""
        return float(self.vectors[text] @ unit_rows(self.released[None])[0])

    def best(self, count: int, among: Sequence[str] | None = None, word: float = 0.0) -> list[str]:
        """The texts that explain the release best, where each word of a text costs so many nats."""
        texts = dict.fromkeys(self.fits if among is None else among)
        return sorted(texts, key=lambda text: word * len(text.split()) - self.fits[text])[:count]


class Gains:
    """Foretells how much closer a word brings a text, by a ridge regression on what was asked before.

    What is known of a word is where it lies alone: how near to the target, and how near to what the text
    says already. The idea of Zero2Text: a prediction costs nothing, so only promising texts are asked for.
    """

    def __init__(self) -> None:
        # Before anything was asked: what lies near the target helps, what the text already says does not.
        self._before = np.array([0.2, -0.1, 0.0])
        self._outer = _RIDGE * np.eye(3)
        self._cross = self._outer @ self._before

    @staticmethod
    def seen(target: Floats, text: Floats) -> Floats:
        """`(n, 3)` of words from how near each is to the target and to the text."""
        return np.stack([target, text, np.ones_like(target)], axis=-1)

    def learn(self, seen: Floats, gains: Floats) -> None:
        """Take in what some words really brought."""
        self._outer += seen.T @ seen
        self._cross += seen.T @ gains

    def foretold(self, seen: Floats) -> Floats:
        """What words are expected to bring."""
        return np.asarray(seen @ np.linalg.solve(self._outer, self._cross))
