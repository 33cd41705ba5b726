"""Texts one edit away: all of them, nothing else, and a search that follows them home."""

from __future__ import annotations

import pytest
import torch

from sfumato.attacks.writers.edits import likely_pieces, one_edit
from sfumato.attacks.writers.generate import Specials
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.search import Search, Searcher

SPECIALS = Specials(pad=0, begin=2, end=3)
WIDTH = 8


def row(*pieces: int) -> list[int]:
    text = [SPECIALS.begin, *pieces, SPECIALS.end]
    return text + [SPECIALS.pad] * (WIDTH - len(text))


def by_hand(pieces: list[int], likely: dict[int, list[int]]) -> set[tuple[int, ...]]:
    """The same, one at a time."""
    found = set()
    for at in range(len(pieces)):
        if len(pieces) > 1:
            found.add(tuple(row(*pieces[:at], *pieces[at + 1 :])))
        for new in likely[at + 1]:
            if new != pieces[at]:
                found.add(tuple(row(*pieces[:at], new, *pieces[at + 1 :])))
        if at + 1 < len(pieces) and pieces[at] != pieces[at + 1]:
            swapped = list(pieces)
            swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
            found.add(tuple(row(*swapped)))
    if len(pieces) + 2 < WIDTH:
        for at in range(len(pieces) + 1):
            for new in likely[at + 1]:
                found.add(tuple(row(*pieces[:at], new, *pieces[at:])))
    return found


@pytest.mark.parametrize("pieces", [[7], [7, 8], [7, 7, 9], [4, 5, 6, 7, 8, 9]])
def test_every_text_one_edit_away_and_no_other(pieces):
    choices = {at: [10 + at, 7] for at in range(1, WIDTH)}
    likely = torch.tensor([[[SPECIALS.end, SPECIALS.pad]] + [choices[at] for at in range(1, WIDTH)]])
    made, rows = one_edit(torch.tensor([row(*pieces)]), likely, SPECIALS)
    assert set(map(tuple, made.tolist())) == by_hand(pieces, choices)
    assert set(rows.tolist()) == {0}


def test_rows_are_told_apart_and_specials_never_put_in():
    tokens = torch.tensor([row(4, 5), row(6, 7, 8)])
    likely = torch.tensor([SPECIALS.pad, SPECIALS.begin, SPECIALS.end, 9]).expand(2, WIDTH, 4)
    made, rows = one_edit(tokens, likely, SPECIALS)
    for text, source in zip(made.tolist(), rows.tolist(), strict=True):
        inside = [piece for piece in text if piece not in (SPECIALS.pad, SPECIALS.begin, SPECIALS.end)]
        assert text == row(*inside)
        assert set(inside) <= set(tokens[source].tolist()) | {9}


def test_editing_finds_a_text_two_edits_away():
    torch.manual_seed(0)
    sizes = Sizes(
        dim=16, vocabulary=12, longest=6, width=128, layers=1, heads=2, pairs=1, positions=2, word_width=64
    )
    network = Network(sizes).eval()
    book = torch.randn(12, 16, generator=torch.Generator().manual_seed(1))
    order = 1 + 0.05 * torch.arange(8)

    def encode(tokens: torch.Tensor) -> torch.Tensor:
        inside = (tokens > 3)[..., None]
        return torch.nn.functional.normalize((book[tokens] * order[:, None] * inside).sum(1) + 1e-6, dim=1)

    true = torch.tensor([row(4, 5, 6, 7), row(8, 9, 10, 11, 4)])
    start = torch.tensor([row(4, 9, 6), row(9, 8, 10, 11, 5)])
    targets, ratio = encode(true), torch.zeros(2)
    searcher = Searcher(network, SPECIALS, encode, 0)
    settings = Search(steps=1, beam=1, polish=6, choices=12)
    assert settings.compares
    beam = searcher._embedded(start[:, None], targets)
    found = searcher._polished(targets, ratio, beam, settings)
    assert found.tokens[:, 0].tolist() == true.tolist()
    assert torch.allclose(found.cosines[:, 0], torch.ones(2), atol=1e-5)
    assert torch.allclose(found.vectors[:, 0], encode(found.tokens[:, 0]))
    assert searcher.compared > 2


def test_likely_pieces_are_the_networks_own():
    torch.manual_seed(0)
    sizes = Sizes(
        dim=16, vocabulary=40, longest=6, width=128, layers=1, heads=2, pairs=1, positions=2, word_width=64
    )
    network = Network(sizes).eval()
    vectors = torch.nn.functional.normalize(torch.randn(3, 16), dim=1)
    tokens = torch.tensor([row(4, 5), row(6, 7, 8), row(9)])
    likely = likely_pieces(network, vectors, torch.zeros(3), vectors, tokens, 5)
    assert likely.shape == (3, WIDTH, 5)
    hidden = network(vectors, tokens[:, :2], torch.zeros(3), vectors, tokens)
    first = network.logits(hidden, vectors * 4.0)[:, 1].argmax(-1)
    assert torch.equal(likely[:, 2, 0], first)
