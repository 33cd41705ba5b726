"""Correcting again and again: write, embed, compare, and keep what comes closer (Vec2Text, seed 003, 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.attacks.writers.beam import likeliest
from sfumato.attacks.writers.candidates import EXACT, Beam, best, joined, leaders
from sfumato.attacks.writers.edits import combined, likely_pieces, moved, one_edit
from sfumato.attacks.writers.generate import Specials, Written, write
from sfumato.attacks.writers.network import Network
from sfumato.devices import all_digits

Encode = Callable[[Tensor], Tensor]
"""Wordpieces `(n, longest + 2)` in, the unit vectors of their texts out."""


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
        polish: rounds of editing the best texts at the end, one wordpiece each time, while that comes closer.
        choices: wordpieces tried at each place of a text that is edited.
        wide: texts of each vector that are edited in a round, the closest ones of the beam.
        moves: runs of wordpieces put elsewhere in each text that is edited, drawn at random.
        pairs: the best edits of a text that are also tried two at a time.
        cycles: times that corrections and edits are gone through, each time from what the last one found.
        likelihood: weight of a text's mean log probability beside its cosine when the last choice is made.
        feedback: tell the corrector the vector of its hypothesis, not its text alone.
    """

    steps: int = 20
    beam: int = 4
    branch: int = 4
    first: int = 16
    heat: float = 0.7
    likeliest: int = 1
    polish: int = 0
    choices: int = 8
    wide: int = 1
    moves: int = 0
    pairs: int = 0
    cycles: int = 1
    likelihood: float = 0.0
    feedback: bool = True

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
        return start + self.cycles * self.steps * each


STRONG = Search(
    steps=12, beam=8, branch=8, first=64, polish=6, choices=4, wide=4, moves=48, cycles=2
)  # fmt: skip
"""Corrections and edits of several texts, twice: some 6,000 texts embedded for each vector."""


_MOST_EDITED = 1 << 24
"""Wordpieces of one kind of edits that are held at a time: 128 MB."""


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
            beam = self._polished(targets, ratio, self._follow(targets, ratio, settings, start), settings)
        else:
            beam = self._first(targets, ratio, settings)
            for _ in range(max(settings.cycles, 1)):
                beam = self._stepped(targets, ratio, beam, settings)
                beam = self._polished(targets, ratio, beam, settings)
        return self._likely_first(targets, ratio, beam, settings.likelihood) if settings.likelihood else beam

    def _stepped(self, targets: Tensor, ratio: Tensor, beam: Beam, settings: Search) -> Beam:
        """Correct the texts of every vector that is not read yet."""
        for _ in range(settings.steps):
            open_rows = (beam.cosines[:, 0] < EXACT).nonzero()[:, 0]
            if not len(open_rows):
                break
            part = self._round(targets[open_rows], ratio[open_rows], beam.rows(open_rows), settings)
            beam.put(open_rows, part)
        return beam

    def _polished(self, targets: Tensor, ratio: Tensor, beam: Beam, settings: Search) -> Beam:
        """Edit the best texts of each vector for as long as that brings them closer."""
        open_rows = torch.arange(len(targets), device=targets.device)
        for _ in range(settings.polish):
            open_rows = open_rows[beam.cosines[open_rows, 0] < EXACT]
            if not len(open_rows):
                break
            before = beam.rows(open_rows)
            after = self._edited(targets[open_rows], ratio[open_rows], before, settings)
            beam.put(open_rows, after)
            own = slice(None, settings.wide)
            open_rows = open_rows[(after.cosines[:, own] > before.cosines[:, own] + 1e-6).any(1)]
        return beam

    def _edited(self, targets: Tensor, ratio: Tensor, beam: Beam, settings: Search) -> Beam:
        """The same as `_edits_of`, for as many vectors at a time as there is room for."""
        each = min(settings.wide, beam.tokens.shape[1]) * settings.choices * beam.tokens.shape[2] ** 2
        size = max(1, _MOST_EDITED // each)
        found = [
            self._edits_of(targets[rows], ratio[rows], beam.rows(rows), settings)
            for rows in torch.arange(len(targets), device=targets.device).split(size)
        ]
        return Beam(*(torch.cat([getattr(part, name) for part in found]) for name in Beam.__slots__))

    def _edits_of(self, targets: Tensor, ratio: Tensor, beam: Beam, settings: Search) -> Beam:
        """The closest of some texts for each vector and all those one edit away from the first of them."""
        width = min(settings.wide, beam.tokens.shape[1])
        tokens, vectors = beam.tokens[:, :width].flatten(0, 1), beam.vectors[:, :width].flatten(0, 1)
        owners = torch.arange(len(targets), device=targets.device).repeat_interleave(width)
        goals = targets[owners]
        likely = self._likely(goals, ratio[owners], vectors, tokens, settings.choices)
        made, rows = one_edit(tokens, likely, self.specials)
        if settings.moves:
            other, more = moved(tokens, settings.moves, self.specials, self.generator)
            made, rows = torch.cat([made, other]), torch.cat([rows, more])
        if not len(made):
            return beam
        cosines = self._compared(made, goals[rows])
        if settings.pairs:
            chosen = leaders(cosines, rows, len(tokens), settings.pairs)
            other, more = combined(tokens, made, chosen, self.specials)
            made, rows = torch.cat([made, other]), torch.cat([rows, more])
            cosines = torch.cat([cosines, self._compared(other, goals[more])])
        # Of each text no more than half a beam comes from its edits: the others would be all alike.
        chosen = leaders(cosines, rows, len(tokens), max(1, (width + 1) // 2)).view(len(targets), -1)
        found = torch.where(chosen[..., None] < 0, tokens.view(len(targets), width, -1)[:, :1], made[chosen])
        return best(joined(beam, self._embedded(found, targets)), beam.tokens.shape[1])

    def _likely(self, goals: Tensor, ratio: Tensor, guess: Tensor, tokens: Tensor, count: int) -> Tensor:
        """Wordpieces to try at each place of each text."""
        found: Tensor = likely_pieces(self.network, goals, ratio, guess, tokens, count, self._shown(tokens))
        return found

    def _shown(self, tokens: Tensor) -> Tensor:
        """Hypotheses without room that none of them fills; a network is never shown less than at first."""
        filled = int((tokens != self.specials.pad).sum(1).max())
        return tokens[:, : max(filled, self.network.apart)]

    def _compared(self, tokens: Tensor, goals: Tensor, rows: int = 1 << 17) -> Tensor:
        """How close candidates `(m, length)` come to the vector of each."""
        self.compared += len(tokens)
        found = [torch.zeros(0, device=goals.device)]
        with all_digits(goals.device):
            for start in range(0, len(tokens), rows):
                vectors = self.encode(tokens[start : start + rows])
                found.append((vectors * goals[start : start + rows].to(vectors.dtype)).sum(1).float())
        return torch.cat(found)

    def _likely_first(self, targets: Tensor, ratio: Tensor, beam: Beam, weight: float) -> Beam:
        """Put the text first that is closest and likeliest together, where none is exact."""
        count, width, length = beam.tokens.shape
        scores = log_likelihood(
            self.network,
            self.specials,
            targets.repeat_interleave(width, 0),
            ratio.repeat_interleave(width),
            beam.tokens.flatten(0, 1),
        ).view(count, width)
        merit = torch.where(beam.cosines < EXACT, beam.cosines + weight * scores, 9.0)
        order = merit.argsort(dim=1, descending=True, stable=True)
        rows = torch.arange(count, device=order.device)[:, None]
        return Beam(beam.tokens[rows, order], beam.vectors[rows, order], beam.cosines[rows, order])

    def _embedded(self, tokens: Tensor, targets: Tensor) -> Beam:
        """Candidates `(n, k, length)` with their vectors and how close these come."""
        self.compared += tokens.shape[0] * tokens.shape[1]
        with all_digits(targets.device):
            vectors = self.encode(tokens.flatten(0, 1)).view(len(tokens), tokens.shape[1], -1)
            cosines = torch.einsum("nkd,nd->nk", vectors, targets.to(vectors.dtype)).float()
        return Beam(tokens, vectors, cosines)

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

    def _corrected(
        self, targets: Tensor, ratio: Tensor, beam: Beam, heats: list[float], feedback: bool
    ) -> Tensor:
        """Corrections of every hypothesis, `(n, beam * len(heats), length)`."""
        width = beam.tokens.shape[1]
        written = write(
            self.network,
            self.specials,
            targets.repeat_interleave(width, 0),
            ratio=ratio.repeat_interleave(width),
            guess=beam.vectors.flatten(0, 1) if feedback else None,
            tokens=self._shown(beam.tokens.flatten(0, 1)),
            temperatures=heats,
            generator=self.generator,
        )
        return written.tokens.view(len(targets), width * len(heats), -1)

    def _round(self, targets: Tensor, ratio: Tensor, beam: Beam, settings: Search) -> Beam:
        heats = self._heats(settings.branch, settings.heat)
        found = self._embedded(self._corrected(targets, ratio, beam, heats, settings.feedback), targets)
        return best(joined(beam, found), settings.beam)

    def _follow(self, targets: Tensor, ratio: Tensor, settings: Search, start: Tensor | None) -> Beam:
        """Correct one hypothesis greedily; it moves on each time, and the closest one seen is kept."""
        if start is None:
            start = hypothesis(self.network, self.specials, targets, ratio, settings.likeliest).tokens
        current = self._embedded(start[:, None], targets)
        kept = current
        for _ in range(settings.steps):
            current = self._embedded(
                self._corrected(targets, ratio, current, [0.0], settings.feedback), targets
            )
            kept = best(joined(kept, current), 1)
        return kept


def hypothesis(network: Network, specials: Specials, vectors: Tensor, ratio: Tensor, width: int) -> Written:
    """One text a vector: the likeliest wordpiece each time, or the likeliest of `width` texts."""
    if width <= 1:
        greedy: Written = write(network, specials, vectors, ratio=ratio)
        return greedy
    found: Written = likeliest(network, specials, vectors, width, ratio=ratio)
    return Written(found.tokens[::width], found.scores[::width])


@torch.no_grad()
def log_likelihood(
    network: Network, specials: Specials, vectors: Tensor, ratio: Tensor, tokens: Tensor, rows: int = 256
) -> Tensor:
    """Mean log probability of a wordpiece of each text, given its vector alone."""
    found = [torch.zeros(0, device=tokens.device)]
    for start in range(0, len(tokens), rows):
        part, own = tokens[start : start + rows], vectors[start : start + rows]
        hidden = network(own, part[:, :-1], ratio[start : start + rows])
        scores = network.logits(hidden, (own * network.sizes.dim**0.5).to(hidden.dtype)).float()
        wanted = part[:, 1:]
        each = scores.gather(2, wanted[..., None])[..., 0] - scores.logsumexp(-1)
        real = wanted != specials.pad
        found.append((each * real).sum(1) / real.sum(1).clamp_min(1))
    return torch.cat(found)
