"""The verdict: what fails, what passes, what is refused, and what is never said."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.auditing.comparison import matched
from sfumato.auditing.control import gap, works
from sfumato.auditing.settings import SUITES, AuditSettings
from sfumato.auditing.verdict import decide, percent
from sfumato.errors import ParameterError
from sfumato.evaluation.bootstrap import Resampling
from sfumato.evaluation.privacy import Hits
from tests.auditing.made import made_audit, row
from tests.auditing.schema import problems


@pytest.mark.parametrize(
    ("released", "limit", "outcome", "code"),
    [(0.33, 0.10, "pass", 0), (0.9, 0.10, "fail", 1), (0.9, None, "pass", 0), (0.36, 0.10, "pass", 0)],
)
def test_the_limit_decides(released, limit, outcome, code):
    verdict = decide([row(released=released)], limit)
    assert (verdict.outcome, verdict.exit_code) == (outcome, code)
    assert percent(released) in verdict.reason


def test_the_attack_that_gets_furthest_decides_among_those_that_work():
    rows = [
        row("tokens", released=0.33),
        row("decoder", control=0.4, floor=0.1, released=0.25),
        row("broken", control=0.1, floor=0.09, released=0.1, works=False),
        row("linkage", released=0.9, counts=False),
    ]
    verdict = decide(rows, 0.10)
    assert verdict.outcome == "fail" and verdict.row.name == "decoder"
    assert decide([rows[0], rows[2], rows[3]], 0.10).outcome == "pass"


def test_no_working_attack_is_refused_with_the_reason():
    failing = row(control=0.08, floor=0.07, released=0.07, works=False)
    verdict = decide([failing, row("informed", counts=False)], 0.10)
    assert verdict.outcome == "refused" and verdict.exit_code == 3
    assert "8.0 %" in verdict.reason and "proves nothing" in verdict.reason
    # A text that gives everything away is another matter than an attack that reads nothing.
    given_away = decide([row(control=0.97, floor=0.95, released=0.95, works=False)], 0.10)
    assert given_away.outcome == "refused" and "gives the concept away" in given_away.reason
    assert decide([], None).outcome == "refused"
    assert decide([row()], 0.1, missing="the worst case could not be measured").outcome == "refused"


def test_an_interval_across_the_limit_is_said():
    assert "across the limit" in decide([row(released=0.36)], 0.11).reason
    assert "across" not in decide([row(released=0.36)], 0.5).reason


def test_no_verdict_says_safe():
    rows = [row(released=0.3)]
    for verdict in (decide(rows, 0.1), decide(rows, None), decide([], 0.1), decide([row(released=1.0)], 0.1)):
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
    assert plan.rows == 100 and plan.pool == 160 and plan.attacks == ("tokens", "decoder")
    assert AuditSettings(suite="full").plan() == SUITES["full"]
    for wrong in ({"suite": "slow"}, {"fail_above": 1.5}, {"rows": 3}, {"seed": -1}):
        with pytest.raises(ParameterError):
            AuditSettings(**wrong)
