"""Texts one edit away: all of them, nothing else, and a search that follows them home."""

from __future__ import annotations

import pytest
import torch

from sfumato.attacks.writers.candidates import leaders
from sfumato.attacks.writers.edits import combined, likely_pieces, moved, one_edit
from sfumato.attacks.writers.generate import Specials
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.search import Search, Searcher, log_likelihood

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


def tiny_network(vocabulary: int = 12) -> Network:
    torch.manual_seed(0)
    sizes = Sizes(
        dim=16,
        vocabulary=vocabulary,
        longest=6,
        width=128,
        layers=1,
        heads=2,
        pairs=1,
        positions=2,
        word_width=64,
    )
    return Network(sizes).eval()


def encode(tokens: torch.Tensor) -> torch.Tensor:
    """An encoder whose vectors tell every wordpiece and its place."""
    book = torch.randn(12, 16, generator=torch.Generator().manual_seed(1))
    order = 1 + 0.05 * torch.arange(8)
    inside = (tokens > 3)[..., None]
    return torch.nn.functional.normalize((book[tokens] * order[:, None] * inside).sum(1) + 1e-6, dim=1)


def test_a_moved_run_keeps_every_wordpiece_and_reaches_every_place():
    tokens = torch.tensor([row(4, 5, 6, 7), row(8, 9)])
    made, rows = moved(tokens, 400, SPECIALS, torch.Generator().manual_seed(0))
    seen: tuple[set[tuple[int, ...]], ...] = (set(), set())
    for text, source in zip(made.tolist(), rows.tolist(), strict=True):
        assert sorted(text) == sorted(tokens[source].tolist())
        assert text != tokens[source].tolist()
        assert text == row(*(piece for piece in text if piece > 3))
        seen[source].add(tuple(text))
    by_hand = set()
    pieces = [4, 5, 6, 7]
    for start in range(4):
        for stop in range(start + 1, 5):
            run, rest = pieces[start:stop], pieces[:start] + pieces[stop:]
            for at in range(len(rest) + 1):
                by_hand.add(tuple(row(*rest[:at], *run, *rest[at:])))
    assert seen[0] == by_hand - {tuple(row(*pieces))}
    assert seen[1] == {tuple(row(9, 8))}
    assert not len(moved(torch.tensor([row(4)]), 9, SPECIALS, torch.Generator().manual_seed(0))[0])


def test_two_edits_at_once_only_where_they_leave_each_other_alone():
    tokens = torch.tensor([row(4, 5, 6)])
    made = torch.tensor([row(9, 5, 6), row(4, 10, 6), row(11, 5, 6), row(4, 5), row(4, 6, 5)])
    both, rows = combined(tokens, made, torch.tensor([[0, 1, 2, 3, 4]]), SPECIALS)
    assert set(map(tuple, both.tolist())) == {
        tuple(row(9, 10, 6)), tuple(row(11, 10, 6)), tuple(row(9, 6, 5)), tuple(row(11, 6, 5))
    }  # fmt: skip
    assert set(rows.tolist()) == {0}
    assert not len(combined(tokens, made, torch.tensor([[0, -1, 3]]), SPECIALS)[0])


def test_leaders_are_the_highest_of_each_owner():
    scores, owners = torch.tensor([0.1, 0.9, 0.5, 0.7, 0.2]), torch.tensor([2, 0, 2, 2, 0])
    assert leaders(scores, owners, 3, 2).tolist() == [[1, 4], [-1, -1], [3, 2]]


def test_editing_several_texts_leaves_a_dead_end_that_editing_the_closest_stays_in():
    """A closer text that no edit improves stands beside one from which the right one is an edit away."""
    network, true = tiny_network(), torch.tensor([row(4, 5, 6, 7, 8)])
    end, near = row(9, 9, 9), row(4, 5, 6, 7)

    def rigged(tokens: torch.Tensor) -> torch.Tensor:
        right = torch.nn.functional.one_hot(torch.zeros(len(tokens), dtype=torch.long), 3).float()
        other = torch.tensor([0.0, 1.0, 0.0])
        closeness = torch.zeros(len(tokens))
        for text, cosine in ((true[0].tolist(), 1.0), (end, 0.9), (near, 0.5)):
            closeness[(tokens == torch.tensor(text)).all(1)] = cosine
        return closeness[:, None] * right + (1 - closeness[:, None] ** 2).sqrt() * other

    targets = torch.tensor([[1.0, 0.0, 0.0]])
    found = {}
    for wide in (1, 2):
        searcher = Searcher(network, SPECIALS, rigged, 0)
        searcher.network = network
        beam = searcher._embedded(torch.tensor([[end, near]]), targets)
        vectors = torch.zeros(1, 16)
        settings = Search(beam=2, polish=3, choices=12, wide=wide)
        # The network only proposes; it is given vectors of its own size.
        proposing = likely_pieces(network, vectors, torch.zeros(1), vectors, torch.tensor([near]), 12)
        assert 8 in proposing[0, 5].tolist()
        searcher._likely = lambda goals, ratio, guess, tokens, count: likely_pieces(  # type: ignore[method-assign]
            network,
            torch.zeros(len(tokens), 16),
            torch.zeros(len(tokens)),
            torch.zeros(len(tokens), 16),
            tokens,
            count,
        )
        found[wide] = searcher._polished(targets, torch.zeros(1), beam, settings).tokens[0, 0].tolist()
    assert found == {1: end, 2: true[0].tolist()}


def test_the_likelier_of_two_close_texts_comes_first_but_never_before_an_exact_one():
    network = tiny_network()
    texts = torch.tensor([[row(4, 5, 6), row(7, 8)], [row(4, 5, 6), row(7, 8)]])
    targets = torch.nn.functional.normalize(torch.randn(2, 16), dim=1)
    searcher = Searcher(network, SPECIALS, encode, 0)
    scores = log_likelihood(
        network, SPECIALS, targets.repeat_interleave(2, 0), torch.zeros(4), texts.flatten(0, 1)
    ).view(2, 2)
    beam = searcher._embedded(texts, targets)
    beam.cosines = torch.tensor([[0.9, 0.9 - 1e-6], [1.0, 0.2]])
    ordered = searcher._likely_first(targets, torch.zeros(2), beam, 1.0)
    assert ordered.tokens[0, 0].tolist() == texts[0, int(scores[0].argmax())].tolist()
    assert ordered.tokens[1, 0].tolist() == texts[1, 0].tolist()
    by_hand = network.logits(
        network(targets[:1], texts[:1, 1, :3], torch.zeros(1)), targets[:1] * 4.0
    ).log_softmax(-1)
    wanted = torch.stack([by_hand[0, 0, 7], by_hand[0, 1, 8], by_hand[0, 2, SPECIALS.end]]).mean()
    assert torch.allclose(scores[0, 1], wanted, atol=1e-5)


def test_without_feedback_the_corrector_never_sees_the_vector_of_its_text():
    network = tiny_network()
    seen: list[bool] = []
    prefix = network.prefix
    network.prefix = lambda *given: (seen.append(len(given) > 2 and given[2] is not None), prefix(*given))[1]  # type: ignore[method-assign]
    targets = torch.nn.functional.normalize(torch.randn(2, 16), dim=1)
    for feedback in (True, False):
        seen.clear()
        settings = Search(steps=2, beam=1, feedback=feedback)
        Searcher(network, SPECIALS, encode, 0).run(targets, torch.zeros(2), settings)
        assert any(seen) == feedback


def test_editing_finds_a_text_two_edits_away():
    network = tiny_network()
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


def test_how_close_a_text_comes_is_worked_out_with_all_digits():
    """With half of them, cosines from .998 on are all 1: a search would stop there, and could not rank."""
    rng = torch.Generator().manual_seed(0)
    target = torch.nn.functional.normalize(torch.randn(1, 384, generator=rng), dim=1)
    near = torch.nn.functional.normalize(target + 0.002 * torch.randn(3, 384, generator=rng), dim=1)
    inside = []

    def encode(tokens: torch.Tensor) -> torch.Tensor:
        inside.append(torch.is_autocast_enabled("cpu"))
        return near[tokens[:, 1] - 4]

    network = Network(Sizes(dim=384, vocabulary=16, longest=WIDTH - 2, width=64, layers=1, heads=4, pairs=1))
    searcher = Searcher(network, SPECIALS, encode, seed=0)
    tokens = torch.tensor([[row(4), row(5), row(6)]])
    with torch.autocast("cpu", torch.bfloat16):
        beam = searcher._embedded(tokens, target)
        cosines = searcher._compared(tokens[0], target.expand(3, -1))
    right = (near.double() @ target[0].double()).float()
    assert torch.allclose(beam.cosines[0], right, atol=1e-6) and torch.allclose(cosines, right, atol=1e-6)
    assert len(set(beam.cosines[0].tolist())) == 3 and not any(inside)
