"""Correcting again and again: write, embed, compare, and keep what comes closer (Vec2Text, seed 003, 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.attacks.writers.beam import likeliest
from sfumato.attacks.writers.edits import likely_pieces, one_edit
from sfumato.attacks.writers.generate import Specials, Written, write
from sfumato.attacks.writers.network import Network

Encode = Callable[[Tensor], Tensor]
"""Wordpieces `(n, longest + 2)` in, the unit vectors of their texts out."""

EXACT = 0.99999
"""Cosine from which there is nothing left to correct."""


@dataclass(frozen=True, slots=True)
class Search:
    """How hard to look.

    Args:
        steps: rounds of correction; 0 is the hypothesiser alone.
        beam: hypotheses kept for each vector; 1 follows a single one.
        branch: corrections written for each hypothesis in each round.
        first: hypotheses to begin with.
        heat: temperature of every text but the first of its kind, which is the likeliest.
        likeliest: texts followed at once while the first hypothesis is written, of which the likeliest stays;
            1 takes the likeliest wordpiece each time. For a search that begins with one hypothesis.
        polish: rounds of editing the best text at the end, one wordpiece each time, while that comes closer.
        choices: wordpieces tried at each place of a text that is edited.
    """

    steps: int = 20
    beam: int = 4
    branch: int = 4
    first: int = 16
    heat: float = 0.7
    likeliest: int = 1
    polish: int = 0
    choices: int = 8

    @property
    def compares(self) -> bool:
        """Whether texts are embedded and compared at all, which needs the victim's encoder."""
        return self.candidates > 1 or self.polish > 0

    @property
    def candidates(self) -> int:
        """Texts that are embedded and compared for each vector, before any is edited."""
        if self.steps == 0 and self.first <= 1:
            return 1
        start = max(self.first, 1) if self.beam > 1 or self.steps == 0 else 1
        each = self.beam * self.branch if self.beam > 1 else 1
        return start + self.steps * each


@dataclass(slots=True)
class Beam:
    """The best hypotheses so far for each of n vectors, the closest first."""

    tokens: Tensor
    """`(n, beam, longest + 2)`"""
    vectors: Tensor
    cosines: Tensor

    def rows(self, which: Tensor) -> Beam:
        """Those of some of the vectors."""
        return Beam(self.tokens[which], self.vectors[which], self.cosines[which])

    def put(self, which: Tensor, other: Beam) -> None:
        """Set those of some of the vectors."""
        self.tokens[which], self.vectors[which] = other.tokens, other.vectors
        self.cosines[which] = other.cosines


class Searcher:
    """A network, a way to embed what it writes, and the vectors it reads."""

    def __init__(self, network: Network, specials: Specials, encode: Encode, seed: int) -> None:
        self.network, self.specials, self.encode = network, specials, encode
        device = next(network.parameters()).device
        self.generator = torch.Generator(device).manual_seed(seed)
        self.compared = 0
        """Texts embedded and compared so far."""

    @torch.no_grad()
    def run(self, targets: Tensor, ratio: Tensor, settings: Search, start: Tensor | None = None) -> Beam:
        """Look for the texts of `targets`, unit vectors that hold noise of this ratio.

        Where a single hypothesis is followed it may be given: wordpieces `(n, longest + 2)`.
        """
        if settings.beam == 1 and settings.steps:
            beam = self._follow(targets, ratio, settings, start)
        else:
            beam = self._first(targets, ratio, settings)
            for _ in range(settings.steps):
                open_rows = (beam.cosines[:, 0] < EXACT).nonzero()[:, 0]
                if not len(open_rows):
                    break
                part = self._round(targets[open_rows], ratio[open_rows], beam.rows(open_rows), settings)
                beam.put(open_rows, part)
        return self._polished(targets, ratio, beam, settings)

    def _polished(self, targets: Tensor, ratio: Tensor, beam: Beam, settings: Search) -> Beam:
        """Edit the best text of each vector for as long as one edit brings it closer."""
        open_rows = torch.arange(len(targets), device=targets.device)
        for _ in range(settings.polish):
            open_rows = open_rows[beam.cosines[open_rows, 0] < EXACT]
            if not len(open_rows):
                break
            before = beam.cosines[open_rows, 0]
            self._edit(targets, ratio, beam, open_rows, settings.choices)
            open_rows = open_rows[beam.cosines[open_rows, 0] > before + 1e-6]
        return beam

    def _edit(self, targets: Tensor, ratio: Tensor, beam: Beam, which: Tensor, choices: int) -> None:
        """Put the closest text one edit away in the place of the best, where it is closer."""
        tokens, goals = beam.tokens[which, 0], targets[which]
        likely = likely_pieces(self.network, goals, ratio[which], beam.vectors[which, 0], tokens, choices)
        made, rows = one_edit(tokens, likely, self.specials)
        if not len(made):
            return
        vectors = self.encode(made)
        self.compared += len(made)
        cosines = (vectors * goals[rows].to(vectors.dtype)).sum(1).float()
        closest = torch.full((len(which),), -2.0, device=cosines.device)
        closest = closest.scatter_reduce(0, rows, cosines, "amax")
        numbers = torch.arange(len(made), device=rows.device)
        winners = torch.where(cosines == closest[rows], numbers, len(made))
        first = torch.full_like(which, len(made)).scatter_reduce(0, rows, winners, "amin")
        chosen = first[closest > beam.cosines[which, 0]]
        place = which[rows[chosen]]
        beam.tokens[place, 0], beam.vectors[place, 0] = made[chosen], vectors[chosen].to(beam.vectors.dtype)
        beam.cosines[place, 0] = cosines[chosen]

    def _embedded(self, tokens: Tensor, targets: Tensor) -> Beam:
        """Candidates `(n, k, length)` with their vectors and how close these come."""
        self.compared += tokens.shape[0] * tokens.shape[1]
        vectors = self.encode(tokens.flatten(0, 1)).view(len(tokens), tokens.shape[1], -1)
        return Beam(tokens, vectors, torch.einsum("nkd,nd->nk", vectors, targets.to(vectors.dtype)).float())

    def _heats(self, count: int, heat: float) -> list[float]:
        return [0.0] + [heat] * (count - 1)

    def _first(self, targets: Tensor, ratio: Tensor, settings: Search) -> Beam:
        if settings.first <= 1 and settings.beam == 1:
            one = hypothesis(self.network, self.specials, targets, ratio, settings.likeliest).tokens
            return self._embedded(one[:, None], targets)
        heats = self._heats(max(settings.first, settings.beam), settings.heat)
        written = write(
            self.network,
            self.specials,
            targets,
            ratio=ratio,
            temperatures=heats,
            generator=self.generator,
        )
        tokens = written.tokens.view(len(targets), len(heats), -1)
        return best(self._embedded(tokens, targets), settings.beam)

    def _corrected(self, targets: Tensor, ratio: Tensor, beam: Beam, heats: list[float]) -> Tensor:
        """Corrections of every hypothesis, `(n, beam * len(heats), length)`."""
        width = beam.tokens.shape[1]
        written = write(
            self.network,
            self.specials,
            targets.repeat_interleave(width, 0),
            ratio=ratio.repeat_interleave(width),
            guess=beam.vectors.flatten(0, 1),
            tokens=beam.tokens.flatten(0, 1),
            temperatures=heats,
            generator=self.generator,
        )
        return written.tokens.view(len(targets), width * len(heats), -1)

    def _round(self, targets: Tensor, ratio: Tensor, beam: Beam, settings: Search) -> Beam:
        heats = self._heats(settings.branch, settings.heat)
        found = self._embedded(self._corrected(targets, ratio, beam, heats), targets)
        pool = Beam(
            torch.cat([beam.tokens, found.tokens], 1),
            torch.cat([beam.vectors, found.vectors], 1),
            torch.cat([beam.cosines, found.cosines], 1),
        )
        return best(pool, settings.beam)

    def _follow(self, targets: Tensor, ratio: Tensor, settings: Search, start: Tensor | None) -> Beam:
        """Correct one hypothesis greedily; it moves on each time, and the closest one seen is kept."""
        if start is None:
            start = hypothesis(self.network, self.specials, targets, ratio, settings.likeliest).tokens
        current = self._embedded(start[:, None], targets)
        kept = current
        for _ in range(settings.steps):
            current = self._embedded(self._corrected(targets, ratio, current, [0.0]), targets)
            pool = Beam(
                torch.cat([kept.tokens, current.tokens], 1),
                torch.cat([kept.vectors, current.vectors], 1),
                torch.cat([kept.cosines, current.cosines], 1),
            )
            kept = best(pool, 1)
        return kept


def hypothesis(network: Network, specials: Specials, vectors: Tensor, ratio: Tensor, width: int) -> Written:
    """One text a vector: the likeliest wordpiece each time, or the likeliest of `width` texts."""
    if width <= 1:
        greedy: Written = write(network, specials, vectors, ratio=ratio)
        return greedy
    found: Written = likeliest(network, specials, vectors, width, ratio=ratio)
    return Written(found.tokens[::width], found.scores[::width])


def best(pool: Beam, width: int) -> Beam:
    """The closest `width` different candidates of each row."""
    order = pool.cosines.argsort(dim=1, descending=True, stable=True)
    rows = torch.arange(len(order), device=order.device)[:, None]
    tokens, cosines = pool.tokens[rows, order], pool.cosines[rows, order]
    factors = torch.arange(1, tokens.shape[-1] + 1, device=tokens.device) * 2654435761 % 2147483647
    names = (tokens * factors).sum(-1) + (tokens * tokens * factors.flip(0)).sum(-1)
    earlier = torch.ones(names.shape[1], names.shape[1], device=names.device).tril(-1).bool()
    again = ((names[:, :, None] == names[:, None, :]) & earlier).any(-1)
    chosen = torch.where(again, cosines - 4.0, cosines).argsort(dim=1, descending=True, stable=True)[
        :, :width
    ]
    return Beam(tokens[rows, chosen], pool.vectors[rows, order][rows, chosen], cosines[rows, chosen])
