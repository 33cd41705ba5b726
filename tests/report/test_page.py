"""The page: one file, the verdict first, nothing private, everything escaped."""

from __future__ import annotations

import html
import re

import pytest

from sfumato.auditing.readable import AlsoReadable, KindRead
from sfumato.auditing.several import together
from sfumato.auditing.verdict import Verdict
from sfumato.mechanisms import Identity
from sfumato.metrics.intervals import Figure
from sfumato.report import audit_page
from sfumato.report.chart import Point, Series, bar, tradeoff
from sfumato.trials.questions.oracle import Oracle
from sfumato.trials.removal import RemovalRow
from tests.auditing.made import baseline, informed, made_audit, row, utility
from tests.auditing.test_several import audit_of

EXAMPLE = {
    "row": 3,
    "text": "A <script>alert(1)</script> note about asthma.",
    "terms": ["asthma"],
    "read": {
        "tokens": {"clean": ["asthma", "gout"], "released": ["gout", "asthma"]},
        "decoder": {"clean": "a note on asthma & more", "released": "something else"},
    },
}


def words(page):
    """What a reader sees."""
    shown = re.sub(r"<(style|title)>.*?</\1>|<title>.*?</title>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown).replace("\u00a0", " ")))


def test_the_verdict_comes_first_in_words():
    page = audit_page(made_audit())
    shown = words(page)
    assert shown.index("Within the limit of 10 %") < shown.index("excess leakage of 5.0 %") < 1000
    assert "(95 % interval 2.0 % to 8.0 %)" in shown and "worst case" in shown.lower()
    assert "absolute leakage of 33 %" in shown and "5.0 % by a constant guess" in shown
    failed = words(audit_page(made_audit(rows=[row(released=0.9)])))
    assert "Above the limit of 10 %" in failed and "fail" in failed
    refused = words(audit_page(made_audit(rows=[row(control=0.1, floor=0.1, released=0.1, works=False)])))
    assert "No verdict No attack that counts" in refused and "proves nothing" in refused
    measured = audit_page(made_audit(fail_above=None))
    assert "Measured; no limit was set" in words(measured) and 'class="verdict measured"' in measured


CERTIFICATE = {
    "attacker": "knows everything else", "prior": 0.02, "candidates": 50, "total_variation": 0.9, "bits": 4.0,
    "success": {"median": 0.114, "p95": 0.4, "worst": 0.9201}, "conditions": ["for one <b>release</b>"],
    "where_found": {"success": 0.02, "total_variation": 0.0}, "pairs": {"worst": {"distance": 1.0}},
}  # fmt: skip


def test_the_certificate_comes_before_everything_and_epsilon_after():
    page = audit_page(made_audit(certificate=CERTIFICATE, rows=[row(), informed(released=0.05)]))
    shown = words(page)
    certified = shown.index("An attacker who knows everything but the term, with 50 equally likely terms")
    assert certified < shown.index("Within the limit") < shown.index("Limits") < shown.index("its epsilon")
    assert "at most 2.0 %, which is guessing, where the detector finds the term" in shown
    # Bounds are rounded up: what is shown is never under what is certified.
    assert "12 % (median pair" in shown and "93 % (worst pair)" in shown
    # 20 of 400: the exact interval.
    assert "who knew all but the term named 5.0 % of 400 terms (exact 95 % interval 3.1 % to 7.6 %)" in shown
    assert "&lt;b&gt;release&lt;/b&gt;" in page and "1 conditions of what is certified" in shown
    facts = shown[shown.index("its epsilon") : shown.index("Settings, to run it again")]
    assert facts.index("noise ratio") < facts.index("worst case in l2") < facts.rindex("epsilon 100 per unit")


def test_an_attacker_who_beats_the_certificate_is_pointed_out():
    low = CERTIFICATE | {"success": {"median": 0.03, "p95": 0.04, "worst": 0.05}}
    said = "more than what is certified for the worst pair"
    rows = [row(), informed(released=0.9)]
    assert said in words(audit_page(made_audit(certificate=low, rows=rows)))
    assert said not in words(audit_page(made_audit(certificate=CERTIFICATE, rows=rows)))


def test_where_nothing_is_certified_the_page_begins_with_that():
    begins = "What an attacker can do Nothing is certified"
    assert words(audit_page(made_audit())).strip().startswith(f"{begins} of this concept")
    told_apart = CERTIFICATE | {"success": dict.fromkeys(("median", "p95", "worst"), 1.0)}
    shown = words(audit_page(made_audit(certificate=told_apart)))
    assert "misses it, at most 100 % already for the median pair" in shown and "nothing is certified" in shown


def test_a_bad_worst_case_is_pointed_out_beside_a_pass():
    shown = words(audit_page(made_audit(rows=[row(), informed(released=0.98)])))
    assert "Within the limit" in shown and "names it in 98 % of cases" in shown
    assert "of cases" not in words(audit_page(made_audit()))


def test_only_a_pass_that_hides_nothing_is_green():
    plain = audit_page(made_audit(rows=[row(floor=0.06, released=0.07), informed(released=0.02)]))
    assert '<section class="verdict pass">' in plain and "but read on" not in plain
    # The excess is below nothing, and two thirds of the terms are named where a guess gets one in twenty.
    hidden = audit_page(made_audit(rows=[row(control=0.93, floor=0.76, released=0.69)]))
    assert '<section class="verdict pass caution">' in hidden and "but read on" in words(hidden)
    assert "still name 69 % of the terms where a constant guess names 5.0 %" in words(hidden)


def test_what_was_not_measured_is_called_so_and_has_no_empty_chart():
    page = audit_page(made_audit(rows=[row(floor=None, released=0.3)], baselines=()))
    shown = words(page)
    assert "Above the limit of 10 % for absolute leakage" in shown and "not measured" in shown
    assert "--embedder" in shown and "Privacy against utility" not in shown and "audited here" not in page
    refused = made_audit(rows=[row(control=0.1, floor=0.1, released=0.1, works=False)], baselines=())
    shown = words(audit_page(refused))
    assert "Privacy against utility" not in shown and "Excess leakage 0" not in shown
    assert "neither that the vectors leak nor that they do not" in shown


def test_vectors_of_other_texts_have_a_page_without_attacks():
    verdict = Verdict("refused", "No verdict: these vectors do not belong to these texts: shifted.", None)
    page = audit_page(made_audit(rows=[], verdict=verdict, baselines=(), terms=(), cautions=()))
    shown = words(page)
    assert "These vectors do not belong to these texts" in shown
    for absent in ("Every attack", "Leakage by term", "Privacy against utility", "What the attacker wrote"):
        assert absent not in shown


def test_every_concept_and_the_oracle_have_a_place():
    shown = words(audit_page(together([audit_of("person"), audit_of("disease", rows=[row(released=0.9)])])))
    assert "concepts: person, disease" in shown and "The worst of 2 concepts is disease" in shown
    assert "All other figures here are of disease" in shown
    oracle = Oracle(30, Figure("named", 0.05, 0.006, 0.17, 40), None, None)
    assert "named by who may ask the same protector; 3.3 % by chance" in words(
        audit_page(made_audit(oracle=oracle))
    )


@pytest.mark.parametrize("released", [0.3, 0.9])
def test_no_page_says_safe(released):
    shown = words(audit_page(made_audit(rows=[row(released=released)]))).lower()
    assert not re.search(r"\bsafe\b|\bsecure\b|\banonymous\b", shown)


def test_one_small_file_without_requests_or_scripts():
    page = audit_page(made_audit(examples=(EXAMPLE,)))
    assert len(page.encode()) < 1_000_000
    assert "<script" not in page and "javascript:" not in page and " onload" not in page
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"url\(|@import|<link|<img|<iframe|\bsrc=|\bhref=", page)


def test_texts_are_escaped_and_right_guesses_marked():
    page = audit_page(made_audit(examples=(EXAMPLE,)))
    assert "A &lt;script&gt;alert(1)&lt;/script&gt; note" in page and "on asthma &amp; more" in page
    assert page.count('class="chip hit"') == 3  # asthma from clean and released, and in the text from clean
    assert "No text was marked as showable" in audit_page(made_audit())


def test_private_terms_have_no_names():
    named, private = words(audit_page(made_audit())), words(audit_page(made_audit(source="spans")))
    assert "asthma" in named and "gout" in named
    assert (
        "asthma" not in private and "your term no. 1" in private and "numbered here and not named" in private
    )


def test_the_promise_is_in_plain_words():
    shown = words(audit_page(made_audit()))
    for fact in ("epsilon 100 per unit", "noise ratio 0.64", "worst case in l2", "factor of e^(epsilon"):
        assert fact in shown
    nothing = made_audit(guarantee=Identity().guarantee.to_dict(), noise={"ratio": None, "cosine": None})
    assert "Nothing is promised" in words(audit_page(nothing))


def test_frameworks_are_named_with_what_does_not_apply():
    shown = words(audit_page(made_audit()))
    for name in ("LLM09:2026", "LLM08:2025", "AML.T0024", "Article 33"):
        assert name in shown
    assert "does not apply" in shown and "no legal advice" in shown


def test_everything_that_was_left_out_or_limited_is_said():
    audit = made_audit()
    shown = words(audit_page(audit))
    assert "minilm" in shown and "Not installed" in shown
    elsewhere = made_audit(settings=audit.settings | {"target": "embeddings", "embedder": None})
    shown = words(audit_page(elsewhere))
    assert "Nobody said how these vectors were made" in shown and "floor was not measured" in shown


def test_the_comparison_is_put_in_words():
    shown = words(audit_page(made_audit()))
    assert "the other defence that leaks least is leace, terms erased: an excess of 40 %." in shown
    assert "What is audited here has 5.0 % at 97 %" in shown
    refused = made_audit(rows=[row(control=0.1, floor=0.1, released=0.1, works=False)])
    assert "has no figure to compare" in words(audit_page(refused))
    assert "audited here" not in re.sub(r"What is audited here", "", words(audit_page(refused)))
    only = made_audit(baselines=(baseline("laplace", "", 0.9, 0.5),))
    assert "no baseline tried has a place" in words(audit_page(only))


def marks(drawn):
    """Where the circles are."""
    return [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn)]


def test_the_picture_puts_useful_right_and_private_down():
    points = [Point(0.2, 0.9), Point(0.8, 0.9), Point(0.8, 0.1, (0.7, 0.9), (0.05, 0.2), "a & b")]
    drawn = tradeoff(
        Point(0.97, 0.02, label="here"), [Series("x", points)], title="t", x_label="kept", y_label="leak",
        goal=(0.95, 0.05),
    )  # fmt: skip
    (x1, y1), (x2, y2), (x3, y3) = marks(drawn)
    assert x1 < x2 == x3 and y1 == y2 < y3
    assert drawn.count("<polygon") == 1 and "a &amp; b" in drawn
    # The point that keeps 97 % and leaks 2 % lies in the shaded corner.
    left, top = map(float, re.search(r'class="goal" x="([\d.]+)" y="([\d.]+)"', drawn).groups())
    at = re.search(r'class="ours" points="([\d.]+),[\d.]+ [\d.]+,([\d.]+)', drawn)
    assert float(at[1]) > left and float(at[2]) > top
    assert "<polygon" not in tradeoff(None, [], title="t", x_label="", y_label="", goal=(0.95, 0.05))


def test_points_beyond_the_axes_stay_in_the_picture():
    drawn = tradeoff(
        None,
        [Series("x", [Point(3, -2), Point(-1, 5)])],
        title="t",
        x_label="",
        y_label="",
        goal=(1, 0),
    )
    assert all(0 <= x <= 620 and 0 <= y <= 430 for x, y in marks(drawn))


def test_bars_of_a_term():
    drawn = bar(0.9, 0.3, 0.4)
    assert (
        'class="bar-clean" y="2" width="180.0"' in drawn
        and 'class="bar-released" y="5" width="80.0"' in drawn
    )
    assert "bar-floor" not in bar(0.9, None, None)


CUT = RemovalRow(0.17, 0.15, utility(1.06))


def test_why_not_remove_the_word_is_answered_with_the_audits_figures():
    shown = words(audit_page(made_audit(removal=CUT)))
    answer = shown[shown.index("Why not simply remove the word?") :]
    assert "still gives 17 % of them away (a constant guess has 5.0 %) and 106 % of use is kept" in answer
    assert "More is read here than where the term is cut out" in answer
    less = made_audit(removal=CUT, rows=[row(released=0.02, interval=(-0.09, -0.02))])
    assert "Less is read here" in words(audit_page(less))
    alike = made_audit(removal=CUT, rows=[row(released=0.1, interval=(-0.02, 0.02))])
    assert "cannot be told apart" in words(audit_page(alike))
    assert "simply remove" not in words(audit_page(made_audit(removal=None)))


def test_what_else_is_readable_is_counted_and_not_shown():
    found = AlsoReadable(
        "minilm",
        16,
        (KindRead("age", 4, 1, 0, 0), KindRead("person", 9, 8, 6, 1), KindRead("email", 2, 0, 0, 0)),
    )
    shown = words(audit_page(made_audit(readable=found)))
    answer = shown[shown.index("What else is readable?") :]
    assert "wrote 16 of the attacked texts anew" in answer
    assert answer.index("person 9 8 6 1 ") < answer.index("age 4 1 0 0 ")
    assert "Named more often than from another text's vector: person." in answer
    assert "--concept person. Nothing at all was named of: email." in answer
    nothing = AlsoReadable("minilm", 16, (KindRead("age", 4, 1, 0, 0),))
    assert "no more was read than another text's vector gives" in words(
        audit_page(made_audit(readable=nothing))
    )
    assert "What else is readable" not in words(audit_page(made_audit()))


def test_names_that_only_we_know_are_put_in_plain_words():
    shown = words(audit_page(made_audit(baselines=(baseline("removal", "starred", excess=0.0, kept=1.0),))))
    assert "starred" not in shown and "cutting the term out and putting a * in its place" in shown
    assert "In the words of others" not in shown and "security and privacy frameworks" in shown
