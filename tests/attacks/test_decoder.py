"""The decoder and the corrector on a language where everything can be read."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.writers.corrector import Corrector
from sfumato.attacks.writers.decoder import Decoder
from sfumato.attacks.writers.textreader import TextReader
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.mechanisms import Laplace, Projection
from tests.attacks.planted import Planted, sentences
from tests.places import DEVICE

SMALL = {"wordpieces": 200, "longest": 8, "width": 64, "layers": 1, "positions": 2, "batch": 32}
ENCODER = Planted()
OWN, UNSEEN = sentences(500, 0), [text for text in sentences(80, 1) if text not in sentences(500, 0)]


@pytest.fixture(scope="module")
def decoded() -> TextReader:
    return Decoder(**SMALL, epochs=10).fit(OWN, ENCODER.embed(OWN))


@pytest.fixture(scope="module")
def corrected() -> TextReader:
    attack = Corrector(**SMALL, embedder=ENCODER, epochs=3, corrections=2, steps=3, beam=2)
    return attack.fit(OWN, ENCODER.embed(OWN))


def exact(found, texts) -> float:
    return float(np.mean([row == text for row, text in zip(found.rows, texts, strict=True)]))


def test_the_decoder_reads_a_planted_language_exactly(decoded):
    found = decoded.recover(ENCODER.embed(UNSEEN))
    assert exact(found, UNSEEN) > 0.95
    assert decoded.control.metric == "token F1" and decoded.control.value > 0.95
    assert found.scores.shape == (len(UNSEEN),) and np.all(found.scores <= 0)


def test_the_corrector_reads_better_than_its_hypotheses(corrected):
    vectors = ENCODER.embed(UNSEEN)
    found = corrected.recover(vectors)
    alone = TextReader(corrected.network, corrected.pieces).recover(vectors)
    assert exact(found, UNSEEN) > max(0.9, exact(alone, UNSEEN) - 0.04)  # two texts in 54
    close = np.vecdot(ENCODER.embed([str(row) for row in found.rows]), vectors)
    assert np.allclose(found.details["cosine"], close, atol=1e-5)


@pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")
def test_noise_is_learned(decoded):
    noise = Laplace.from_noise_ratio(0.8, dim=32)
    released = noise.privatize(ENCODER.embed(UNSEEN), 3)
    adapted = Decoder(**SMALL, epochs=10).fit(OWN, ENCODER.embed(OWN), noise)
    words = [
        np.mean([len(set(a.split()) & set(str(b).split())) / 4 for a, b in zip(UNSEEN, rows, strict=True)])
        for rows in (adapted.recover(released).rows, decoded.recover(released).rows)
    ]
    assert words[0] > words[1]


@pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")
def test_noise_is_drawn_where_the_network_is(drawn, decoded):
    noise, clean = Laplace.from_noise_ratio(0.8, dim=32), ENCODER.embed(OWN)
    settings = {**SMALL, "device": DEVICE}
    adapted = Decoder(**settings, epochs=10).fit(OWN, clean, noise)
    assert len(drawn) == 5 and all(own is drawn[0] for own in drawn)
    released = noise.privatize(ENCODER.embed(UNSEEN), 3)
    words = [
        np.mean([len(set(a.split()) & set(str(b).split())) / 4 for a, b in zip(UNSEEN, rows, strict=True)])
        for rows in (adapted.recover(released).rows, decoded.recover(released).rows)
    ]
    assert words[0] > words[1]
    same = Decoder(**settings, epochs=2).fit(OWN, clean)
    assert same.control.value > 0.4
    drawn.clear()
    attack = Corrector(**settings, embedder=ENCODER, epochs=2, corrections=2, steps=1, beam=1)
    assert attack.fit(OWN[:60], clean[:60], noise).control is not None
    assert len({len(own) for own in drawn}) == 2


def test_releases_of_another_dimension_are_read_or_refused():
    noise = Projection(epsilon=2000.0, delta=1e-6, beta=0.9)
    clean = ENCODER.embed(OWN)
    reader = Decoder(**SMALL, epochs=1).fit(OWN, clean, noise)
    assert reader.dim == noise.output_dim(32) and reader.control is None
    with pytest.raises(InputError, match="Use the decoder"):
        Corrector(**SMALL, embedder=ENCODER, epochs=0.1, corrections=0.1).fit(OWN[:40], clean[:40], noise)


@pytest.mark.parametrize("packed", [False, True])
def test_a_saved_reader_reads_the_same(decoded, tmp_path, packed):
    decoded.save(tmp_path / "reader", packed=packed)
    again = TextReader.load(tmp_path / "reader")
    vectors = ENCODER.embed(UNSEEN)
    assert again.control == decoded.control
    agree = np.mean(
        [a == b for a, b in zip(again.recover(vectors).rows, decoded.recover(vectors).rows, strict=True)]
    )
    assert agree == 1.0 if not packed else agree > 0.8


def test_damaged_weights_are_refused(decoded, tmp_path):
    decoded.save(tmp_path / "reader")
    data = (tmp_path / "reader" / "tensors.safetensors").read_bytes()
    (tmp_path / "reader" / "tensors.safetensors").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ArtifactError):
        TextReader.load(tmp_path / "reader")


def test_the_same_seed_reads_the_same():
    clean = ENCODER.embed(OWN[:100])
    rows = [
        Decoder(**SMALL, epochs=1, seed=5).fit(OWN[:100], clean).recover(clean[:20]).rows for _ in range(2)
    ]
    assert rows[0] == rows[1]


def test_progress_is_told():
    told = []
    Decoder(**SMALL, epochs=1).fit(
        OWN[:100], ENCODER.embed(OWN[:100]), on_step=lambda *facts: told.append(facts)
    )
    assert told[0][0] == "learning to write" and 0 <= told[0][1] < told[-1][1] <= 1


@pytest.mark.parametrize("settings", [{"width": 100}, {"epochs": 0.0}, {"wordpieces": 3}, {"rate": 2.0}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises((InputError, ParameterError)):
        Decoder(**settings)


def test_a_search_without_an_encoder_is_refused(corrected):
    blind = TextReader(corrected.network, corrected.pieces, search=corrected.search)
    with pytest.raises(InputError, match="encoder"):
        blind.recover(ENCODER.embed(UNSEEN[:2]))
