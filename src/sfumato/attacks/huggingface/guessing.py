"""Reading one release: a language model goes on with texts, the encoder says which of them come closer.

A beam of texts grows by a piece at a time (the idea of ZSInvert). What the model proposes is weighed by how
much closer its word is foretold to bring the text (`Gains`), and only the most promising are asked for. The
first beam stands behind the words nearest to the target, later ones behind the best texts so far. What is
left of the questions goes into editing the best texts word by word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.attacks.huggingface.asking import Asked, Gains
from sfumato.attacks.huggingface.proposals import Continuations, Proposer
from sfumato.attacks.huggingface.wordlist import WordList
from sfumato.types import Floats, Rows

_CONSIDERED = 256
"""Of all pieces, the likeliest that are considered at all."""
_PATIENCE = 4
"""Pieces without a better text after which a beam ends."""
_EDITED_SHARE = 0.35
"""Share of the questions kept for editing."""
_BETTER, _PLACES = 20, 2
"""Words that are tried in the place of others, and of how many others at a time."""
_STARTS, _WEIGHED = 3, 12
"""Texts that are edited, and edits whose likelihood the language model is asked for."""


@dataclass(frozen=True, slots=True)
class Guessing:
    """How a text is looked for.

    Args:
        beam: texts that are gone on with.
        branch: how many ways of each are asked for.
        rounds: beams, one after the other.
        longest: most pieces in a text.
        fluency: weight of the language model's likelihood beside the fit, when a beam is cut.
        pull: nats that a foretold gain of 1 in cosine adds to the likelihood of a piece.
    """

    beam: int = 6
    branch: int = 6
    rounds: int = 2
    longest: int = 32
    fluency: float = 0.5
    pull: float = 60.0

    def read(self, asked: Asked, proposer: Proposer, words: WordList) -> tuple[str, float]:
        """The likeliest text that was found, and its log likelihood with the release's, in nats."""
        near, gains = words.nearness(asked.released), Gains()
        for number in range(self.rounds):
            share = (1 - _EDITED_SHARE) * (number + 1) / self.rounds
            stop_at = asked.limit - round(share * asked.limit)
            prompt = _of_words(words, near) if not asked.fits else _of_texts(asked.best(3))
            self._grow(asked, proposer.begin(prompt), words, near, gains, stop_at)

        def joint(texts: list[str]) -> Floats:
            return np.array([asked.fits[text] for text in texts]) + proposer.likelihoods(texts)

        first = asked.best(1)
        if not first:
            return "", -np.inf
        word = -float(proposer.likelihoods(first)[0]) / len(first[0].split())
        first = asked.best(_WEIGHED, word=word)
        scores = joint(first)
        starts = [(first[at], float(scores[at])) for at in np.argsort(-scores, kind="stable")[:_STARTS]]
        edited = [_edit(*start, asked, words, near, gains, joint) for start in starts]
        return max(edited, key=lambda each: each[1])

    def _grow(
        self,
        asked: Asked,
        state: Continuations,
        words: WordList,
        near: Floats,
        gains: Gains,
        stop_at: int,
    ) -> None:
        likely, texts = np.zeros(1), [""]
        best, since = -np.inf, 0
        for _ in range(self.longest):
            parents, pieces, logs = self._proposed(state, texts, likely, asked, words, near, gains)
            written = state.written(parents, pieces)
            known = set(asked.ask(written)) if asked.left > stop_at else set()
            kept = np.array([row for row, text in enumerate(written) if text in known], np.intp)
            if not len(kept):
                return
            _learn(gains, asked, words, near, [texts[at] for at in parents[kept]], pieces[kept],
                   [written[row] for row in kept])  # fmt: skip
            fits = np.array([asked.fits[written[row]] for row in kept])
            order = kept[np.argsort(-(_even(fits) + self.fluency * _even(logs[kept])), kind="stable")]
            chosen = _different(order, written)[: self.beam]
            state.go_on(parents[chosen], pieces[chosen])
            likely, texts = logs[chosen], [written[row] for row in chosen]
            since = 0 if fits.max() > best else since + 1
            best = max(best, float(fits.max()))
            if since >= _PATIENCE:
                return

    def _proposed(
        self,
        state: Continuations,
        texts: list[str],
        likely: Floats,
        asked: Asked,
        words: WordList,
        near: Floats,
        gains: Gains,
    ) -> tuple[Rows, Rows, Floats]:
        """Which texts go on with which pieces, and how likely the longer texts are."""
        count = self.branch * self.beam // len(texts)
        parents, pieces, logs = [], [], []
        for at, row in enumerate(np.where(words.written, state.next, -np.inf)):
            top = np.argpartition(-row, min(_CONSIDERED, len(row) - 1))[:_CONSIDERED]
            top = top[np.isfinite(row[top])]
            if texts[at]:
                said = words.nearness(asked.vectors[texts[at]])
            else:
                said = np.zeros(len(near))
            found = words.by_piece(gains.foretold(gains.seen(near, said)))
            taken = top[np.argsort(-(row[top] + self.pull * found[top]), kind="stable")][:count]
            parents.append(np.full(len(taken), at))
            pieces.append(taken)
            logs.append(likely[at] + row[taken])
        return np.concatenate(parents), np.concatenate(pieces), np.concatenate(logs)


def _learn(
    gains: Gains,
    asked: Asked,
    words: WordList,
    near: Floats,
    before: list[str],
    pieces: Rows,
    after: list[str],
) -> None:
    """Tell the regression what the words that were asked for brought."""
    rows = [at for at, piece in enumerate(pieces) if words.of_piece[piece] >= 0 and before[at]]
    if not rows:
        return
    own = words.of_piece[pieces[rows]]
    said = np.stack([asked.vectors[before[at]] for at in rows])
    nearby = np.vecdot(words.vectors[own].astype(np.float64), said)
    brought = [asked.cosine(after[at]) - asked.cosine(before[at]) for at in rows]
    gains.learn(gains.seen(near[own], nearby), np.array(brought))


def _even(values: Floats) -> Floats:
    """Values around 0, with a spread of 1."""
    return np.asarray((values - values.mean()) / (values.std() + 1e-12))


def _different(order: Rows, texts: list[str]) -> Rows:
    first: dict[str, int] = {}
    for row in order.tolist():
        first.setdefault(texts[row], row)
    return np.array(list(first.values()), np.intp)


def _of_words(words: WordList, near: Floats, count: int = 8) -> str:
    return "Words: " + ", ".join(words.words[at] for at in np.argsort(-near)[:count]) + ".\nSentence:"


def _of_texts(texts: list[str]) -> str:
    return "Similar sentences:\n" + "".join(f"- {text}\n" for text in texts) + "-"


def _edit(
    text: str,
    score: float,
    asked: Asked,
    words: WordList,
    near: Floats,
    gains: Gains,
    joint: Callable[[list[str]], Floats],
) -> tuple[str, float]:
    """Take out, put in, replace and swap words while that makes the text likelier."""
    while asked.left > 0:
        word = (asked.fits[text] - score) / len(text.split())  # what one costs the language model here
        said = words.nearness(asked.vectors[text])
        order = np.argsort(-gains.foretold(gains.seen(near, said)), kind="stable")
        better = [words.words[at] for at in order[:_BETTER]]
        tried = asked.ask([*without(text), *swapped(text)])
        places = [*_weakest(text, asked), len(text.split())]
        for first in range(0, len(places), _PLACES):
            tried += asked.ask(exchanged(text, places[first : first + _PLACES], better))
            known = asked.best(_WEIGHED, tried, word)
            scores = joint(known)
            if len(scores) and scores.max() > score:
                text, score = known[int(scores.argmax())], float(scores.max())
                break
        else:
            break
    return text, score


def _weakest(text: str, asked: Asked) -> list[int]:
    """The places of the words, those that are missed least first."""
    missed = [asked.fits.get(each, -np.inf) for each in without(text)]
    return [int(at) for at in np.argsort(-np.array(missed), kind="stable")]


def without(text: str) -> list[str]:
    """The text without each of its words."""
    own = text.split()
    return [" ".join([*own[:at], *own[at + 1 :]]) for at in range(len(own))] if len(own) > 1 else []


def swapped(text: str) -> list[str]:
    """The text with each two neighbours in the other order."""
    own = text.split()
    return [" ".join([*own[:at], own[at + 1], own[at], *own[at + 2 :]]) for at in range(len(own) - 1)]


def exchanged(text: str, places: list[int], words: list[str]) -> list[str]:
    """The text with another word at, or before, each of some places; the last is its end."""
    own = text.split()
    put = [[*own[:at], word, *own[at + 1 :]] for at in places if at < len(own) for word in words]
    put += [[*own[:at], word, *own[at:]] for at in places for word in words]
    return [" ".join(each) for each in put]
