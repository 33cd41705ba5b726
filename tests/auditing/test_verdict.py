"""The verdict: what fails, what passes, what is refused, and what is never said."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.auditing.settings import AuditSettings
from sfumato.auditing.verdict import Limits, decide
from sfumato.errors import ParameterError
from sfumato.metrics.intervals import Resampling
from sfumato.metrics.leakage import Hits
from sfumato.trials.control import gap, works
from sfumato.trials.rivals import matched
from sfumato.trials.rows import percent
from sfumato.trials.suite import SUITES
from tests.auditing.made import informed, made_audit, row
from tests.auditing.schema import problems


def judged(rows, excess=None, absolute=None, **more):
    return decide(rows, Limits(excess, absolute), **more)


@pytest.mark.parametrize(
    ("released", "limit", "outcome", "code"),
    [
        (0.33, 0.10, "pass", 0),
        (0.9, 0.10, "fail", 1),
        (0.9, None, "measured", 0),
        (0.33, None, "measured", 0),
        (0.36, 0.10, "pass", 0),
    ],
)
def test_the_limit_decides_and_without_one_nothing_passes(released, limit, outcome, code):
    verdict = judged([row(released=released)], limit)
    assert (verdict.outcome, verdict.exit_code) == (outcome, code)
    assert percent(released) in verdict.reason


def test_every_verdict_states_the_excess_the_absolute_leakage_and_the_guess():
    for verdict in (judged([row()], 0.1), judged([row()]), judged([row(released=0.9)], 0.1)):
        for words in ("excess leakage of", "absolute leakage of", "5.0 % by a constant guess"):
            assert words in verdict.reason


def test_a_limit_for_absolute_leakage():
    # Cutting the concept out has no excess at all, and names what the rest of the text gives away.
    cut = row(released=0.3)
    assert judged([cut], 0.1).outcome == "pass"
    verdict = judged([cut], 0.1, 0.25)
    assert verdict.outcome == "fail" and "25 % for absolute leakage" in verdict.reason
    assert judged([cut], absolute=0.35).outcome == "pass"
    both = judged([cut], 0.1, 0.35).reason
    assert "within the limit of 10 % for excess leakage and of 35 % for absolute leakage" in both


def test_a_low_excess_beside_a_high_absolute_leakage_is_said():
    audit = made_audit(rows=[row(control=0.93, floor=0.76, prior=0.06, released=0.69)])
    assert audit.outcome == "pass" and audit.excess < 0
    (words,) = audit.cautions
    assert "still name 69 %" in words and "guess names 6.0 %" in words and "72 %" in words
    assert made_audit(rows=[row(floor=0.06, prior=0.05, released=0.07)]).cautions == ()
    # Whoever set a limit for it has judged it.
    assert made_audit(rows=[row(released=0.3)], fail_absolute_above=0.5).cautions == ()


def test_without_a_floor_the_absolute_leakage_is_judged_and_the_prior_is_no_floor():
    blind = row(floor=None, released=0.30)
    assert blind.excess is None and blind.by == "absolute" and blind.figure == pytest.approx(0.294, abs=1e-3)
    verdict = judged([blind], 0.2)
    assert verdict.outcome == "fail" and "20 % for absolute leakage" in verdict.reason
    assert (
        "not measured where they are removed" in verdict.reason and "excess leakage of" not in verdict.reason
    )
    assert judged([blind], 0.4).outcome == "pass"
    audit = made_audit(rows=[blind], fail_above=0.4)
    assert any("--embedder" in words for words in audit.cautions)
    written = audit.to_dict()
    assert written["leakage"]["floor"] is None and written["leakage"]["excess"] is None
    assert problems(written) == []


def test_the_attack_that_gets_furthest_decides_among_those_that_work():
    rows = [
        row("tokens", released=0.33),
        row("decoder", control=0.4, floor=0.1, released=0.25),
        row("broken", control=0.1, floor=0.09, released=0.1, works=False),
        row("linkage", released=0.9, counts=False, reads="row"),
    ]
    verdict = judged(rows, 0.10)
    assert verdict.outcome == "fail" and verdict.row.name == "decoder"
    assert judged([rows[0], rows[2], rows[3]], 0.10).outcome == "pass"


def test_no_working_attack_is_refused_with_the_reason_and_what_is_known():
    failing = row(control=0.08, floor=0.07, released=0.07, works=False)
    verdict = judged([failing, informed(released=0.02)], 0.10)
    assert verdict.outcome == "refused" and verdict.exit_code == 3
    assert "8.0 %" in verdict.reason and "proves nothing" in verdict.reason
    assert "informed names 2.0 % (100 % from clean vectors)" in verdict.reason
    assert judged([]).outcome == "refused"
    assert judged([row()], 0.1, missing="the worst case could not be measured").outcome == "refused"
    # What already fails is not hidden behind an attack that could not be run.
    assert judged([row(released=0.9)], 0.1, missing="no worst case").outcome == "fail"


def test_a_trained_attack_that_is_too_weak_does_not_hide_what_another_reads():
    weak = row(control=0.08, floor=0.07, released=0.07, works=False)
    verdict = judged([weak, informed(released=1.0)], 0.10)
    assert verdict.outcome == "fail" and verdict.row.name == "informed"
    assert judged([weak, informed(released=1.0)]).outcome == "measured"
    # Which text it is says nothing about the concept.
    assert judged([weak, row("linkage", released=0.9, counts=False, reads="row")], 0.1).outcome == "refused"
    # Clean 41 %, removed 30 %: the excess means little here, and 41 % where 5 % are guessed is plain.
    notes = row(control=0.41, floor=0.30, released=0.41, separates=False)
    verdict = judged([notes, informed(released=1.0)], 0.10)
    assert verdict.outcome == "fail" and "absolute leakage is what is judged" in verdict.reason
    given_away = judged([row(control=0.97, floor=0.95, released=0.95, separates=False)], 0.10)
    assert given_away.outcome == "fail" and given_away.row.by == "absolute"


def asked(released, low, high, chance=1 / 30):
    """The oracle, with its exact interval."""
    scaled = [(each - chance) / (1 - chance) for each in (low, high)]
    return row(
        "oracle", control=1.0, floor=chance, prior=chance, released=released, interval=tuple(scaled),
        floor_is="chance", only_fails=True,
    )  # fmt: skip


def test_the_oracle_can_fail_an_audit_and_never_pass_one():
    named, chance = asked(1.0, 0.91, 1.0), asked(0.05, 0.006, 0.17)
    verdict = judged([row(), named], 0.10, asked="He names 40 of 40.")
    assert verdict.outcome == "fail" and verdict.row.name == "oracle" and "40 of 40" in verdict.reason
    assert judged([row(), chance], 0.10).row.name == "tokens"
    weak = row(control=0.08, floor=0.07, released=0.07, works=False)
    assert judged([weak, chance], 0.10).outcome == "refused"
    assert judged([weak, asked(0.08, 0.05, 0.12)], 0.10).outcome == "refused"
    assert judged([weak, named], 0.10).outcome == "fail"


def test_an_interval_across_the_limit_is_said():
    assert "across the limit" in judged([row(released=0.36)], 0.11).reason
    assert "across" not in judged([row(released=0.36)], 0.5).reason


def test_no_verdict_says_safe():
    rows = [row(released=0.3)]
    for verdict in (judged(rows, 0.1), judged(rows), judged([], 0.1), judged([row(released=1.0)], 0.1)):
        assert "safe" not in verdict.reason.lower() and "secure" not in verdict.reason.lower()


def test_the_control_has_to_be_clearly_above():
    def hits(share, rows=400):
        return Hits((np.arange(rows) % 100 < 100 * share).astype(float), np.ones(rows))

    how = Resampling(resamples=400)
    assert works([hits(0.9)], [hits(0.3)], hits(0.05), how)
    assert not works([hits(0.3)], [hits(0.29)], hits(0.05), how)
    assert not works([hits(0.3)], [hits(0.1)], hits(0.29), how)
    low, high = gap(hits(0.9), hits(0.3), how)
    assert low < 0.6 < high and high - low < 0.2
    few = Resampling(resamples=400)
    assert not works([hits(0.3, 20)], [hits(0.2, 20)], hits(0.2, 20), few)


def test_the_comparison_is_at_the_same_utility():
    audit = made_audit()
    found = audit.matched()
    # Less leakage at 85 % kept does not count, and neither does what keeps enough but leaks more.
    assert found["baseline"]["name"] == "leace, terms erased" and found["audited"]["kept"] == 0.97
    assert matched(audit.baselines[:2], 0.01, 0.9) == {"at_least": 0.95, "audited": None, "baseline": None}


def test_what_is_written_follows_the_schema():
    written = made_audit().to_dict()
    assert problems(written) == []
    for name in ("verdict", "leakage", "utility", "attacks", "baselines", "guarantee", "settings"):
        assert problems({key: value for key, value in written.items() if key != name}) == [f"$: lacks {name}"]
    assert problems(written | {"verdict": "safe"}) and problems(written | {"secret": 1})
    assert problems(written | {"leakage": written["leakage"] | {"control": 1.2}})


def test_settings_are_checked_and_change_the_suite():
    plan = AuditSettings(rows=100, attacks=("decoder", "tokens")).plan()
    assert plan.rows == 100 and plan.pool == 160 and plan.attacks == (
        "tokens", "informed", "oracle", "linkage", "bits", "decoder",
    )  # fmt: skip
    assert AuditSettings(suite="full").plan() == SUITES["full"]
    for wrong in (
        {"suite": "slow"},
        {"fail_above": 1.5},
        {"fail_absolute_above": -1},
        {"rows": 3},
        {"seed": -1},
    ):
        with pytest.raises(ParameterError):
            AuditSettings(**wrong)
