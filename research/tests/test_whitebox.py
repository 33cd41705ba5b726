"""White-box masks point at the dimensions that were planted."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sensitivity.planted import area_under_curve

from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Mahalanobis, Suppression
from sfumato.randomness import generator
from sfumato_research.whitebox import attributions, white_box_mask

DIM, AXES = 40, 4
TERMS = ("red", "green")


@pytest.fixture(scope="module")
def planted():
    """Texts that name a colour, and vectors in which each colour pushes four axes of its own."""
    rng = generator(0)
    axes = rng.permutation(DIM)[: 2 * AXES].reshape(2, AXES)
    kinds = rng.integers(0, 3, 900)
    vectors = rng.standard_normal((900, DIM))
    for kind in (0, 1):
        vectors[np.ix_(kinds == kind, axes[kind])] += 2.0
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [f"text {row} is {('red', 'green', 'plain')[kind]}" for row, kind in enumerate(kinds)]
    truth = np.zeros(DIM, bool)
    truth[axes] = True
    reader = TokenClassifier(vocabulary=TERMS, hidden=(32,), epochs=20).fit(texts, vectors)
    return reader, vectors.astype(np.float32), [[text.split()[-1]] for text in texts], truth, axes


@pytest.mark.parametrize("method", ["integrated-gradients", "gradient"])
def test_the_mask_finds_the_planted_axes(planted, method):
    reader, vectors, terms, truth, axes = planted
    mask = white_box_mask(reader, vectors, terms, method, source="synthetic", name="colour")
    assert mask.scores.max() == 1.0 and mask.dim == DIM and mask.source == "synthetic"
    assert area_under_curve(mask.scores, truth) > 0.97
    # One term alone points at its own axes.
    red = [found if found == ["red"] else [] for found in terms]
    own = np.isin(np.arange(DIM), axes[0])
    assert area_under_curve(white_box_mask(reader, vectors, red, method).scores, own) > 0.9
    # And it is what the mechanisms take.
    assert Mahalanobis(epsilon=1.0, shape=mask).dim == Suppression(epsilon=1.0, mask=mask).dim == DIM


def test_integrated_gradients_add_up(planted):
    """Completeness: they sum to the difference of outputs (Sundararajan et al. 2017, proposition 1)."""
    reader, vectors, terms, _, _ = planted
    rows, wanted = vectors[:20], terms[:20]
    found = attributions(reader, rows, wanted, baseline=np.zeros(DIM), steps=200)
    difference = reader.logits(rows) - reader.logits(np.zeros((1, DIM)))
    index = [TERMS.index(term[0]) if term[0] in TERMS else -1 for term in wanted]
    for row, column in enumerate(index):
        total = difference[row, column] if column >= 0 else 0.0
        assert found[row].sum() == pytest.approx(total, abs=0.02)


def test_what_cannot_be_attributed_is_refused(planted):
    reader, vectors, terms, _, _ = planted
    with pytest.raises(InputError, match="No row names"):
        white_box_mask(reader, vectors[:5], [["blue"]] * 5)
    with pytest.raises(InputError, match="its terms"):
        attributions(reader, vectors, terms[:-1])
    with pytest.raises(ParameterError, match="method"):
        attributions(reader, vectors, terms, "guess")
