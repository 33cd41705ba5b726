"""The network that writes: one wordpiece at a time as all at once, four bits, and the search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from sfumato.attacks.writers.candidates import Beam, best
from sfumato.attacks.writers.generate import Specials, write
from sfumato.attacks.writers.layers import rounded, set_rounding
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.quantise import pack, unpack
from sfumato.attacks.writers.search import Search, Searcher
from sfumato.attacks.writers.textreader import rows_at_once
from sfumato.attacks.writers.wordpieces import Wordpieces, tidy

SPECIALS = Specials(pad=0, begin=2, end=3)
SIZES = Sizes(
    dim=16, vocabulary=60, longest=6, width=128, layers=2, heads=2, pairs=1, positions=3, word_width=64
)


@pytest.fixture
def network() -> Network:
    torch.manual_seed(0)
    made = Network(SIZES).eval()
    for name, weight in made.named_parameters():
        if weight.abs().max() == 0:  # what starts at nought would hide a mistake
            torch.nn.init.normal_(made.get_parameter(name), std=0.05)
    return made


def vectors(count: int, seed: int = 0) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(count, 16, generator=random), dim=1)


@pytest.mark.parametrize("corrects", [False, True])
def test_one_wordpiece_at_a_time_is_all_at_once(network, corrects):
    given, ratio = vectors(20), torch.rand(20)
    more = {"guess": vectors(20, 1), "tokens": torch.randint(4, 60, (20, 8))} if corrects else {}
    written = write(network, SPECIALS, given, ratio=ratio, **more)
    with torch.no_grad():
        hidden = network(given, written.tokens[:, :-1], ratio, more.get("guess"), more.get("tokens"))
        logs = network.logits(hidden, given * 4.0).log_softmax(-1)
    said = written.tokens[:, 1:]
    inside = (said != SPECIALS.pad) & (torch.arange(said.shape[1]) < SIZES.longest)
    assert torch.equal(logs.argmax(-1)[inside], said[inside])
    assert len(set(map(tuple, said.tolist()))) > 1


def test_the_hypothesis_and_the_noise_ratio_are_read(network):
    given, text = vectors(4), torch.randint(4, 60, (4, 5))
    with torch.no_grad():
        plain = network(given, text, torch.zeros(4))
        noised = network(given, text, torch.full((4,), 0.5))
        one = network(given, text, torch.zeros(4), vectors(4, 1), torch.randint(4, 60, (4, 5)))
        other = network(given, text, torch.zeros(4), vectors(4, 1), torch.randint(4, 60, (4, 5)))
    assert not torch.allclose(plain, noised)
    assert not torch.allclose(one, other)


def test_a_later_wordpiece_does_not_change_an_earlier_one(network):
    given, text = vectors(3), torch.randint(4, 60, (3, 6))
    changed = text.clone()
    changed[:, 4:] = 5
    with torch.no_grad():
        one, other = network(given, text, torch.zeros(3)), network(given, changed, torch.zeros(3))
    assert torch.allclose(one[:, :4], other[:, :4], atol=1e-6)
    assert not torch.allclose(one[:, 4:], other[:, 4:])


def test_samples_follow_the_temperature(network):
    given = vectors(1).repeat(400, 1)
    random = torch.Generator().manual_seed(0)
    cold = write(network, SPECIALS, given, temperatures=(0.0,)).tokens[:, 1]
    warm = write(network, SPECIALS, given, temperatures=(1.0,), generator=random).tokens[:, 1]
    with torch.no_grad():
        hidden = network(given[:1], torch.tensor([[SPECIALS.begin]]), torch.zeros(1))
        expected = network.logits(hidden, given[:1] * 4.0).softmax(-1)[0, 0]
    assert len(set(cold.tolist())) == 1
    counts = torch.bincount(warm, minlength=60) / 400
    # 60 shares of 400 draws: their distance from the truth is about sqrt(60/400)/2 at most.
    assert float((counts - expected).abs().sum()) < 0.5
    assert len(set(warm.tolist())) > 5


def test_four_bits_come_back_as_they_were_rounded(network):
    big = Network(Sizes(dim=64, vocabulary=300, width=128, layers=1, heads=2, pairs=2, word_width=64))
    packed = pack(big)
    again = Network(big.sizes)
    unpack(again, packed)
    assert torch.equal(again.words, rounded(big.words).detach())
    assert not torch.equal(again.words, big.words)
    set_rounding(big, True)
    given, text = torch.nn.functional.normalize(torch.randn(5, 64), dim=1), torch.randint(4, 300, (5, 9))
    with torch.no_grad():
        one, other = big(given, text, torch.zeros(5)), again(given, text, torch.zeros(5))
    assert torch.allclose(one, other, atol=2e-3)
    assert sum(rows.nbytes for rows in packed.values()) < 0.2 * 4 * sum(p.numel() for p in big.parameters())
    assert all(np.array_equal(rows, pack(again)[name]) for name, rows in packed.items())


def test_it_writes_in_sixteen_bits_too(network):
    given = vectors(5)
    guess, tokens = vectors(5), torch.randint(4, network.sizes.vocabulary, (5, 6))
    half = Network(network.sizes).to(torch.bfloat16)
    half.load_state_dict(network.state_dict())
    found = write(half, SPECIALS, given, guess=guess, tokens=tokens, temperatures=(0.0, 0.7)).tokens
    assert found.shape == (10, network.sizes.longest + 2)


def test_the_beam_keeps_the_closest_and_none_twice():
    tokens = torch.tensor([[[1, 2], [3, 4], [1, 2], [5, 6]]])
    pool = Beam(tokens, torch.zeros(1, 4, 3), torch.tensor([[0.9, 0.5, 0.9, 0.7]]))
    kept = best(pool, 3)
    assert kept.tokens.tolist() == [[[1, 2], [5, 6], [3, 4]]]
    assert kept.cosines[0].tolist() == pytest.approx([0.9, 0.7, 0.5])


@pytest.mark.parametrize("settings", [Search(steps=3, beam=2, branch=3, first=4), Search(steps=3, beam=1)])
def test_a_longer_search_never_comes_less_close(network, settings):
    book = torch.nn.functional.normalize(
        torch.randn(60, 16, generator=torch.Generator().manual_seed(3)), dim=1
    )

    def encode(tokens: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize((book[tokens] * (tokens > 3)[..., None]).sum(1) + 1e-6, dim=1)

    targets, ratio = vectors(10, 5), torch.zeros(10)
    first = Search(steps=0, beam=settings.beam, first=settings.first if settings.beam > 1 else 1)
    start = Searcher(network, SPECIALS, encode, 0).run(targets, ratio, first)
    found = Searcher(network, SPECIALS, encode, 0).run(targets, ratio, settings)
    assert torch.all(found.cosines[:, 0] >= start.cosines[:, 0] - 1e-6)
    true = torch.einsum("nd,nd->n", encode(found.tokens[:, 0]), targets)
    assert torch.allclose(found.cosines[:, 0], true, atol=1e-5)


def longer(network: Network, longest: int) -> Network:
    """The same weights with room for more wordpieces."""
    made = Network(replace(network.sizes, longest=longest, apart=network.apart)).eval()
    made.load_state_dict(network.state_dict())
    return made


def test_a_network_with_more_room_begins_as_it_was(network):
    wide, given, guess = longer(network, 20), vectors(6), vectors(6, 1)
    text, tokens = torch.randint(4, 60, (6, 7)), torch.randint(4, 60, (6, 8))
    with torch.no_grad():
        for more in ((), (guess, tokens)):
            one, other = (each(given, text, torch.zeros(6), *more) for each in (network, wide))
            assert torch.equal(one, other)
        moved = Network(replace(wide.sizes, apart=0)).eval()
        moved.load_state_dict(network.state_dict())
        assert not torch.equal(moved(given, text, torch.zeros(6), guess, tokens), other)
    assert write(wide, SPECIALS, given).tokens.shape == (6, 22)


@pytest.mark.parametrize("settings", [Search(steps=2, beam=2, branch=2, first=4, polish=2, wide=2, moves=4),
                                      Search(steps=2, beam=1)])  # fmt: skip
def test_longer_texts_are_searched_as_far_as_there_is_room(network, settings, monkeypatch):
    wide = longer(network, 20)
    book = torch.nn.functional.normalize(
        torch.randn(60, 16, generator=torch.Generator().manual_seed(3)), dim=1
    )

    def encode(tokens: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize((book[tokens] * (tokens > 3)[..., None]).sum(1) + 1e-6, dim=1)

    def found() -> Beam:
        return Searcher(wide, SPECIALS, encode, 0).run(vectors(5, 5), torch.zeros(5), settings)

    at_once = found()
    lengths = (at_once.tokens[:, 0] != SPECIALS.pad).sum(1)
    assert int(lengths.max()) > network.sizes.longest + 2
    assert torch.allclose(
        encode(at_once.tokens[:, 0]).mul(vectors(5, 5)).sum(1), at_once.cosines[:, 0], atol=1e-5
    )
    # One vector at a time: the draws of runs that move are others, all else is the same.
    monkeypatch.setattr("sfumato.attacks.writers.search._MOST_EDITED", 1)
    part = replace(settings, moves=0)
    whole = Searcher(wide, SPECIALS, encode, 0).run(vectors(5, 5), torch.zeros(5), part)
    monkeypatch.undo()
    again = Searcher(wide, SPECIALS, encode, 0).run(vectors(5, 5), torch.zeros(5), part)
    assert torch.equal(whole.tokens, again.tokens)


def test_what_no_hypothesis_fills_is_not_shown(network):
    searcher = Searcher(longer(network, 20), SPECIALS, lambda tokens: tokens, 0)
    tokens = torch.zeros(2, 22, dtype=torch.long)
    tokens[:, :5] = 7
    assert searcher._shown(tokens).shape == (2, network.sizes.longest + 2), "as much as it began with"
    tokens[1, :15] = 7
    assert searcher._shown(tokens).shape == (2, 15)
    assert Searcher(network, SPECIALS, lambda tokens: tokens, 0)._shown(tokens[:, :8]).shape == (2, 8)


def test_fewer_vectors_are_read_at_once_where_texts_are_longer():
    assert [rows_at_once(longest) for longest in (6, 32, 64, 128, 100_000)] == [64, 64, 32, 16, 1]


def test_candidates_are_counted():
    assert Search(steps=0, beam=1, first=1).candidates == 1
    assert Search(steps=0, beam=1, first=16).candidates == 16
    assert Search(steps=20, beam=4, branch=4, first=16).candidates == 336
    assert Search(steps=5, beam=1).candidates == 6


def test_wordpieces_come_back_as_text():
    texts = ["Dr. Weiß isn't in (yet): call 3.5 times!", "the re-sold car, at 40 % off", ""]
    pieces = Wordpieces.learn(texts * 3, 300)
    again = pieces.decode(pieces.encode(texts, 40))
    assert again == [
        "dr. weiss isn't in (yet): call 3.5 times!".replace("weiss", "weiß"),
        "the re-sold car, at 40% off",
        "",
    ]
    assert Wordpieces.from_json(pieces.to_json()).decode(pieces.encode(texts, 40)) == again
    assert pieces.encode(["car " * 50], 8).shape == (1, 10)
    assert tidy("a , b") == "a, b"
