"""Texts are searched as far as they are embedded, and nothing behind moves in unsearched."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake, load_embedder
from sfumato.embedders.reach import SPARE, Reach, within_reach
from sfumato.preparing import Entrance

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def encoder():
    return load_embedder("minilm-onnx")


def test_a_short_text_is_left_as_it_is(encoder):
    texts = ["", "a few words", "word " * 200]
    assert within_reach(encoder, texts) == texts
    assert within_reach(Fake(dim=8), ["word " * 5000]) == ["word " * 5000]


def test_what_is_kept_has_every_token_that_is_read(encoder):
    long = " ".join(f"sentence {n} speaks of extraordinarily long-winded matters" for n in range(300))
    (kept,) = within_reach(encoder, [long])
    assert long.startswith(kept)
    assert len(kept) < len(long) / 4
    assert encoder.seen([kept]) == encoder.seen([long])
    assert np.array_equal(encoder.embed([kept]), encoder.embed([long]))


def test_an_endless_text_is_not_read_to_its_end(encoder, monkeypatch):
    sizes = []
    inner = encoder.reach._tokenizer

    class Watched:
        def encode_batch(self, texts, **options):
            sizes.extend(map(len, texts))
            return inner.encode_batch(texts, **options)

    monkeypatch.setattr(encoder.reach, "_tokenizer", Watched())
    within_reach(encoder, ["word " * 200_000])
    assert max(sizes) < 5 * (256 + SPARE) + 5


def test_no_term_behind_the_reach_moves_into_the_vector(encoder):
    """Hundreds of terms are cut out before the reach; what would move up holds one that is not searched."""
    place = Concept.from_terms("place", ["Kuala Lumpur Federal Territory", "Ouagadougou"])
    entrance = Entrance(encoder, (place,), neutral=1, neutral_by="removal")
    texts = [
        "Kuala Lumpur Federal Territory " * 60 + f"then on to {end}. The end." for end in ("Ouagadougou", "x")
    ]
    copies = entrance.copies(texts)
    assert all("Ouagadougou" not in text for text in copies.texts)
    assert "Ouagadougou" not in entrance.copies(["quiet words " * 200 + " Ouagadougou"]).texts[0]


def test_reach_cuts_between_words(tmp_path):
    from sfumato.embedders.minilm import model_folder

    reach = Reach(model_folder() / "tokenizer.json", 10)
    (kept,) = reach(["incomprehensibilities " * 60])
    assert kept.endswith("incomprehensibilities")
