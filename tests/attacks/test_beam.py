"""Following several texts at once: the likeliest of all short texts, found against a search of every one."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from sfumato.attacks.writers.beam import likeliest
from sfumato.attacks.writers.generate import Specials, write
from sfumato.attacks.writers.network import Network, Sizes
from sfumato.attacks.writers.search import hypothesis

SPECIALS = Specials(pad=0, begin=1, end=2)
SIZES = Sizes(
    dim=16, vocabulary=7, longest=2, width=128, layers=2, heads=2, pairs=1, positions=2, word_width=64
)


@pytest.fixture
def network() -> Network:
    torch.manual_seed(1)
    made = Network(SIZES).eval()
    for name, weight in made.named_parameters():
        if weight.abs().max() == 0 or name == "words":
            torch.nn.init.normal_(made.get_parameter(name), std=0.5)
    with torch.no_grad():
        made.bias[SPECIALS.pad] = -50.0  # padding inside a text would look like its end
    return made


def vectors(count: int) -> torch.Tensor:
    return torch.nn.functional.normalize(
        torch.randn(count, 16, generator=torch.Generator().manual_seed(2)), dim=1
    )


def log_probability(network: Network, vector: torch.Tensor, text: list[int]) -> float:
    given = torch.tensor([text])
    with torch.no_grad():
        hidden = network(vector[None], given[:, :-1], torch.zeros(1))
        logs = network.logits(hidden, vector[None] * 4.0).log_softmax(-1)[0]
    wanted = given[0, 1:]
    each = logs[torch.arange(len(wanted)), wanted]
    return float(each.sum())


def every_text() -> list[list[int]]:
    inner = [piece for piece in range(SIZES.vocabulary) if piece != SPECIALS.end]
    texts = []
    for length in range(SIZES.longest + 1):
        for middle in product(inner, repeat=length):
            texts.append([SPECIALS.begin, *middle, SPECIALS.end])
    return texts


def test_wide_enough_it_finds_the_likeliest_of_all_texts(network):
    given, width = vectors(4), 64
    found = likeliest(network, SPECIALS, given, width)
    for row in range(4):
        scores = {tuple(text): log_probability(network, given[row], text) for text in every_text()}
        best = max(scores, key=scores.__getitem__)
        first = found.tokens[row * width].tolist()
        assert tuple(piece for piece in first if piece != SPECIALS.pad) == best
        length = len(best) - 1
        assert float(found.scores[row * width]) * length == pytest.approx(scores[best], abs=1e-4)


def test_one_followed_is_the_likeliest_wordpiece_each_time(network):
    given = vectors(6)
    greedy = write(network, SPECIALS, given)
    one = likeliest(network, SPECIALS, given, 1)
    assert torch.equal(one.tokens, greedy.tokens)
    assert torch.allclose(one.scores, greedy.scores, atol=1e-5)


def test_texts_of_a_vector_differ_and_fall_in_likelihood(network):
    given = vectors(5)
    guess, tokens = vectors(5), torch.randint(3, 7, (5, 3))
    found = likeliest(network, SPECIALS, given, 4, guess=guess, tokens=tokens)
    texts = found.tokens.view(5, 4, -1)
    lengths = (texts != SPECIALS.pad).sum(-1) - 1
    total = found.scores.view(5, 4) * lengths
    assert torch.all(total[:, :-1] >= total[:, 1:] - 1e-5)
    assert all(len({tuple(text) for text in row.tolist()}) == 4 for row in texts)
    alone = torch.cat([
        likeliest(network, SPECIALS, given[[row]], 4, guess=guess[[row]], tokens=tokens[[row]]).tokens
        for row in range(5)
    ])  # fmt: skip
    assert torch.equal(alone, found.tokens), "a row does not depend on the others"


def test_a_hypothesis_is_one_text_a_vector(network):
    given, told = vectors(5), torch.zeros(5)
    assert hypothesis(network, SPECIALS, given, told, 1).tokens.shape == (5, 4)
    three = hypothesis(network, SPECIALS, given, told, 3)
    assert torch.equal(three.tokens, likeliest(network, SPECIALS, given, 3).tokens[::3])
