"""The packaged tagger: what it finds, that bits depend on a text alone, and what it refuses."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from sfumato.artifacts import TENSORS
from sfumato.concepts.base import Span
from sfumato.concepts.detectors.names import Names
from sfumato.concepts.evaluate import score_detector
from sfumato.concepts.spans import searched_once
from sfumato.errors import ArtifactError, ParameterError
from sfumato.records import make_records
from sfumato.tagging import model
from sfumato.tagging.cases import case_of
from sfumato.tagging.detector import Tagger

pytest.importorskip("sfumato_minilm_tagger")
pytest.importorskip("onnxruntime")

# Written for this test; no row of what the tagger learned from.
KNOWN = {
    "person": ("Yesterday Thandiwe Mkhize-Oduya missed the train again.", "Thandiwe Mkhize-Oduya"),
    "location": ("The river floods every spring near Quellhaven and nobody minds.", "Quellhaven"),
    "organisation": ("Shares of Vornholt Logistics Inc fell by three percent.", "Vornholt Logistics"),
    "date": ("The roof was repaired on 14 August 2019 by a neighbour.", "14 August 2019"),
    "identifier": ("Your policy number is POL-8841-2276, keep it safe.", "POL-8841-2276"),
    "phone": ("Ring me on +49 30 5557 8812 after lunch.", "+49 30 5557 8812"),
    "disease": ("She was told that she has rheumatoid arthritis.", "rheumatoid arthritis"),
    "drug": ("He takes amlodipine every morning with water.", "amlodipine"),
}


def covered(text: str, term: str, spans: list[Span]) -> bool:
    at = text.index(term)
    return all(
        any(span.start <= place < span.end for span in spans)
        for place in range(at, at + len(term))
        if text[place].isalnum()
    )


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize("change", [str, str.lower, str.upper], ids=["as written", "lower", "upper"])
def test_finds_terms_it_never_saw_in_any_case(kind, change):
    text, term = (change(each) for each in KNOWN[kind])
    assert covered(text, term, Tagger(labels=[kind]).find(text))


def test_finds_little_where_nothing_is_named():
    plain = [
        "The kettle boils and the cat sleeps on the warm stones.",
        "Turn the screw to the left until it holds.",
        "nothing in this sentence is of any interest to anybody",
    ]
    assert not [span for row in Tagger(labels=["person", "location"]).find_many(plain) for span in row]


@pytest.mark.parametrize("form", [str, str.lower], ids=["as written", "lower"])
def test_recall_on_made_up_records(form):
    """Records that neither the tagger nor its thresholds were made with."""
    rows = [
        (form(record.text), [span for span in record.spans if span.label == "person"])
        for record in make_records(150, seed=11)
    ]
    score = score_detector(Tagger(labels=["person"]), rows).labels["person"]
    assert score.labelled > 100
    assert score.recall > 0.95


def test_precision_on_made_up_records():
    """What it takes for people in records are people, or the names in their addresses."""
    tagger, known = Tagger(labels=["person"]), Names()
    found = wrong = 0
    for record in make_records(150, seed=11):
        spans = [*known.find(record.text), *record.spans]
        for span in tagger.find(record.text):
            found += 1
            wrong += not any(span.start < each.end and each.start < span.end for each in spans)
    assert wrong < 0.1 * found


def test_bits_depend_on_the_text_alone():
    texts = [text for text, _ in KNOWN.values()]
    tagger = Tagger(threads=2)
    together = list(tagger.likelihoods(texts * 3))
    for place, text in enumerate(texts):
        (alone,) = Tagger(threads=1).likelihoods([text])
        for one in (place, place + len(texts), place + 2 * len(texts)):
            assert np.array_equal(alone.kinds, together[one].kinds)


def test_many_texts_are_found_in_order():
    texts = [text for text, _ in KNOWN.values()] * 20
    tagger = Tagger(labels=["person", "date"])
    assert list(tagger.find_many(iter(texts))) == [tagger.find(text) for text in texts]


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 228, 229, 1000])
def test_stretches_read_every_piece_once(count):
    read = []
    for low, high, kept in model.stretches(count):
        assert 0 <= low <= kept.start < kept.stop <= high <= count
        assert high - low <= model.LONGEST - 2
        read += range(kept.start, kept.stop)
    assert read == list(range(count))


def test_a_name_deep_in_a_long_text_is_found():
    filler = "The engine was cleaned and the filter was changed. " * 40
    text = f"{filler}Afterwards Ignatius Bellweather signed the form. {filler}"
    assert covered(text, "Ignatius Bellweather", Tagger(labels=["person"]).find(text))


def test_hard_texts_do_no_harm():
    tagger = Tagger()
    for text in ("", " ", "\ud800", "(" * 30_000, "a" * 50_000, "\u0301" * 5_000, "\x00" * 100, "日本語の文"):
        for span in tagger.find(text):
            assert 0 <= span.start < span.end <= len(text)


def test_a_search_can_be_stopped_inside_a_text():
    asked = []

    def check():
        asked.append(1)
        if len(asked) == 5:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        list(Tagger().find_many(["one word after another " * 2000], check))
    assert len(asked) == 5


def test_a_lower_threshold_finds_more():
    texts = [record.text for record in make_records(20, seed=3)]
    few, many = (Tagger(labels=["person"], threshold=limit) for limit in (0.9, 0.05))
    sizes = [sum(s.end - s.start for row in each.find_many(texts) for s in row) for each in (few, many)]
    assert sizes[0] < sizes[1]
    for above, below in zip(few.find_many(texts), many.find_many(texts), strict=True):
        assert all(any(b.start <= a.start and a.end <= b.end for b in below) for a in above)


@pytest.mark.parametrize("wrong", [0, 1, -0.1, 2, float("nan")])
def test_a_wrong_threshold_is_refused(wrong):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        Tagger(threshold=wrong)


def test_a_kind_it_does_not_know_is_refused():
    with pytest.raises(ParameterError, match="person, location"):
        Tagger(labels=["mood"])


def test_several_kinds_read_a_text_once(monkeypatch):
    read = []
    inner = model.TaggerModel.read

    def watched(self, text, check=None):
        read.append(text)
        return inner(self, text, check)

    monkeypatch.setattr(model.TaggerModel, "read", watched)
    with searched_once():
        for kind in ("person", "location", "date"):
            Tagger(labels=[kind]).find("Pauline Oster left for Riga on Monday.")
    assert len(read) == 1
    Tagger(labels=["person"]).find("Pauline Oster left for Riga on Monday.")
    assert len(read) == 2


def test_changed_weights_are_refused(tmp_path, monkeypatch):
    folder = model.package_folder("sfumato_minilm_tagger")
    copy = tmp_path / "sfumato_minilm_tagger"
    shutil.copytree(folder, copy)
    bits = bytearray((copy / "model" / TENSORS).read_bytes())
    bits[-5] ^= 1
    (copy / "model" / TENSORS).write_bytes(bits)
    monkeypatch.setattr(model, "package_folder", lambda name: copy)
    with pytest.raises(ArtifactError):
        model.TaggerModel()


def test_weights_have_seven_bits_and_come_back_to_the_step():
    drawn = np.random.Generator(np.random.PCG64(0)).standard_normal((8, 12)).astype(np.float32)
    kept = model.packed({"encoder.a.weight": drawn, "head.weight": drawn})
    assert int(kept["encoder.a.weight"].max()) <= 2 * model.LEVELS
    again = model.unpacked(kept)
    step = np.abs(drawn).max(axis=1, keepdims=True) / model.LEVELS
    assert (np.abs(again["encoder.a.weight"] - drawn) <= step * 0.501).all()
    assert np.array_equal(again["head.weight"], drawn)
    assert all(np.array_equal(kept[name], value) for name, value in model.packed(again).items())


@pytest.mark.parametrize(
    ("written", "case"),
    [("42-", 0), ("bread", 1), ("Rome", 2), ("I", 2), ("NATO", 3), ("McKay", 4), ("eBay", 4)],
)
def test_how_a_word_is_written(written, case):
    assert case_of(written) == case
