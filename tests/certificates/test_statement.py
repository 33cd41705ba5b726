"""Certificates of protectors: found and missed terms, what they rest on, words and pictures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml

import numpy as np
import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato.certificates import certificate_of, miss_rate, shown_code, shown_geometry, shown_nothing
from sfumato.certificates.detection import MissRate
from sfumato.certificates.drawing import plain_curve, svg_curve
from sfumato.certificates.words import at_most, paragraphs
from sfumato.concepts.base import Span
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Mahalanobis
from sfumato.protector import Protector

KEPT = {"median": 0.02, "p95": 0.1, "max": 0.4}
CITIES = sf.Concept.from_terms("city", ["Rome", "Oslo"])


def made(**settings) -> Protector:
    mechanism = Mahalanobis(epsilon=60.0, shape=np.linspace(0.5, 1.5, 64))
    chosen = {"concepts": (CITIES,), "learned": {"substitution_distances": KEPT, "dim": 64}, **settings}
    return Protector(mechanism, Fake(dim=64), **chosen)


def labelled(*terms: str) -> tuple[list[str], list[list[Span]]]:
    texts = [f"We met in {term} on day {n}." for n, term in enumerate(terms)]
    return texts, [[Span(10, 10 + len(term), "LOC")] for term in terms]


def test_the_miss_rate_is_of_texts_with_a_labelled_term_and_has_an_exact_upper_end():
    texts, spans = labelled(*["Rome"] * 37, "Paris", "oslo", "Lima")
    texts.append("nothing here")
    spans.append([])
    found = miss_rate(made(), texts, spans, "LOC")
    assert (found.texts, found.missed) == (40, 2)
    # At the upper end so few misses are as rare as 2.5 %.
    assert binom.cdf(2, 40, found.upper) == pytest.approx(0.025)
    assert found.to_dict()["rate"] == 0.05
    # A term that is found in part is missed.
    assert miss_rate(made(), ["in New Rome now"], [[Span(3, 11, "LOC")]], "LOC").missed == 1


def test_a_sample_that_says_nothing_is_refused():
    texts, spans = labelled("Rome")
    with pytest.raises(InputError, match="No text holds"):
        miss_rate(made(), texts, spans, "PER")
    by_labels = made(concepts=(sf.Concept.from_spans("LOC"),))
    with pytest.raises(InputError, match="these very labels"):
        miss_rate(by_labels, texts, spans, "loc")


def test_over_all_texts_only_the_missed_share_gains():
    rate = MissRate(100, 2, 0.07)
    found = certificate_of(made(), candidates=5, detector=rate)
    assert found.found and found.to_dict()["where_found"] == {"success": 0.2, "total_variation": 0.0}
    over = found.over_all_texts()
    for name, pair in found.pairs.items():
        assert over[name] == pytest.approx(min(pair.success, 0.2 + 0.07 * pair.total_variation))
    assert over["worst"] < found.pairs["worst"].success
    assert certificate_of(made()).over_all_texts() is None
    assert certificate_of(made(concepts=()), detector=rate).over_all_texts() is None


def test_the_bound_over_all_texts_holds_for_the_best_attacker_by_simulation():
    """Ten terms of which two are missed: he weighs the neutral text against both, and gains no more."""
    rng = np.random.default_rng(5)
    dim, epsilon, apart, k, missed = 64, 120.0, 0.1, 10, 2
    centres = np.zeros((k, dim))
    centres[0, 0] = centres[1, 1] = apart  # the missed ones, each so far from the neutral text
    rows = 40_000
    truth = rng.integers(k, size=rows)
    noise = rng.standard_normal((rows, dim))
    noise *= (rng.gamma(dim, 1 / epsilon, rows) / np.linalg.norm(noise, axis=1))[:, None]
    released = centres[truth] + noise
    table = np.stack([np.linalg.norm(released - centre, axis=1) for centre in centres[:3]], axis=1)
    named = np.where(table.argmin(axis=1) < 2, table.argmin(axis=1), 2)
    right = (named == truth).mean()  # of the found ones he can only name a fixed one
    curve = sf.certificates.trade_off(sf.mechanisms.Laplace(epsilon=epsilon), apart, dim)
    bound = 1 / k + missed / k * curve.worst_total_variation
    assert right <= bound + 0.006 and right > bound - 0.03
    assert bound < sf.certificates.candidate_success(curve, k)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "distances are between the vectors of neutral texts"),
        ({}, "nothing is assumed of it"),
        ({}, "other terms may lie further apart"),
        ({}, "floating point may add"),
        ({}, "for one release"),
        ({}, "where noise is made sticky"),
        ({"only_matching": True}, "released as they are, without noise"),
        ({"secret": sf.Secret(bytes(range(32)))}, "noise is sticky"),
        ({"neutral": 0}, "learned from"),
    ],
)
def test_what_it_rests_on_is_said(settings, words):
    found = certificate_of(made(**settings))
    assert any(words in each for each in found.conditions), found.conditions
    if settings.get("only_matching"):
        assert found.pairs["median"].success == 1


def test_shapes_and_backgrounds_of_text_that_nobody_declared_public_are_a_condition():
    for source, conditional in (("private", True), ("unknown", True), ("public", False)):
        mechanism = Mahalanobis(epsilon=60.0, shape=sf.sensitivity.Mask(np.ones(64), source=source))
        found = certificate_of(Protector(mechanism, learned={"substitution_distances": KEPT, "dim": 64}))
        assert any(each.startswith("conditional:") for each in found.conditions) is conditional


def test_figures_are_rounded_up_never_down():
    assert [at_most(each) for each in (0.1, 0.10001, 0.2543, 0.9999, 1.0)] == [
        "10.0%", "10.1%", "25.5%", "100.0%", "100.0%",
    ]  # fmt: skip


def test_words_and_pictures_say_what_the_figures_say():
    found = certificate_of(made(), detector=MissRate(50, 1, 0.11), trials=50)
    said = " ".join(paragraphs(found))
    assert "whatever the term was" in said and "1 of 50 labelled texts" in said
    for pair in found.pairs.values():
        assert at_most(pair.success) in said
    lines = plain_curve(found.curves)
    assert all(line.isascii() and len(line) < 80 for line in lines)
    drawn = "".join(lines[1:14])
    assert {"m", "w", "."} <= set(drawn)
    drawing = svg_curve(found.curves, "a <title>")
    root = xml.fromstring(drawing)
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert [line.get("class") for line in lines] == [None] * 3 + ["asymptotic"] * 3
    assert "script" not in drawing and not re.search(r"(href|url)\W", drawing)
    one = certificate_of(made(), distance=0.1)
    assert (
        svg_curve(one.curves, "t").count("<polyline") == 2 and "worst pair" not in plain_curve(one.curves)[-1]
    )
    # The curve passes through the total variation: its largest height over the diagonal.
    points = [tuple(map(float, each.split(","))) for each in re.findall(r"[\d.]+,[\d.]+", drawing)]
    assert len(points) == 6 * 141
    # The asymptotic curve lies close to the exact one, and is not the same.
    off = [abs(a[1] - b[1]) for a, b in zip(points[: 3 * 141], points[3 * 141 :], strict=True)]
    assert 0 < max(off) < 32  # of 320


def test_a_certificate_never_shows_a_term_or_a_text():
    found = certificate_of(made(), detector=miss_rate(made(), *labelled("Rome", "Lima"), "LOC"))
    assert not {"Rome", "Oslo", "Lima"} & set(re.findall(r"\w+", str(found.to_dict())))


class TestStores:
    """What a thief of a sealed store gains."""

    def test_nothing_is_nothing(self):
        found = shown_nothing("records", candidates=8).to_dict()
        assert found["success"] == {"median": 0.125, "p95": 0.125, "worst": 0.125}
        assert found["total_variation"] == found["bits"] == 0 and found["bayes_security"] == 1
        assert found["any_guess"] == {"prior": 0.01, "success": dict.fromkeys(found["success"], 0.01)}
        assert "AES-256-GCM" in str(found["conditions"]) and "simulator" in str(found["conditions"])

    @pytest.mark.parametrize(("bits", "candidates"), [(3, 100), (2, 4), (64, 10), (5, 1000)])
    def test_a_small_code_multiplies_a_chance_by_its_values_at_most(self, bits, candidates):
        found = shown_code("codes", bits, candidates=candidates)
        assert found.pairs["worst"].success == pytest.approx(min(1.0, 2**bits / candidates))
        assert found.pairs["worst"].any_guess == pytest.approx(min(1.0, 2**bits / 100))
        # Any code of so many values, and any guesser: the best of each value, one each.
        rng = np.random.default_rng(bits)
        for _ in range(20):
            code = rng.integers(min(2**bits, 10**6), size=candidates)
            assert len(set(code.tolist())) / candidates <= found.pairs["worst"].success + 1e-12

    def test_geometry_is_not_certified(self):
        found = shown_geometry("which rows are near").to_dict()
        assert found["success"]["worst"] == 1 and found["total_variation"] == 1
        assert found["any_guess"]["success"]["worst"] == 1
        assert "nothing that is certified" in paragraphs(shown_geometry("which rows are near"))[0]
