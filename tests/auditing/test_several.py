"""Several concepts: each has its line, and the worst decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.auditing.several import Unaudited, together
from sfumato.errors import InputError
from tests.auditing.made import made_audit, row
from tests.auditing.schema import problems


def audit_of(name, **more):
    found = made_audit(**more)
    return replace(found, settings=found.settings | {"concept": found.settings["concept"] | {"name": name}})


def test_the_worst_decides_whichever_place_it_has():
    good, bad = audit_of("person"), audit_of("disease", rows=[row(released=0.9)])
    for order in ([good, bad], [bad, good]):
        found = together(order)
        assert found.outcome == "fail" and found.concept == "disease" and found.exit_code == 1
        assert {each.name: each.outcome for each in found.concepts} == {"person": "pass", "disease": "fail"}
        assert "The worst of 2 concepts is disease." in found.verdict.reason
        written = found.to_dict()
        assert problems(written) == [] and written["leakage"]["released"] == 0.9
    worse = audit_of("place", rows=[row(released=0.35)])
    assert together([good, worse, good]).concept == "place"


def test_one_that_could_not_be_judged_is_no_pass():
    unread = audit_of("place", rows=[row(control=0.06, floor=0.06, released=0.06, works=False)])
    assert together([audit_of("person"), unread]).outcome == "refused"
    absent = Unaudited("place", InputError("At least 20 texts are needed."))
    found = together([audit_of("person"), absent])
    assert found.outcome == "refused" and "place could not be audited" in found.verdict.reason
    assert problems(found.to_dict()) == []
    assert together([absent, audit_of("disease", rows=[row(released=0.9)])]).outcome == "fail"
    with pytest.raises(InputError, match="At least 20"):
        together([absent, absent])


def test_one_concept_is_its_own_worst():
    found = together([audit_of("person")])
    assert [each.name for each in found.concepts] == ["person"] and "worst of" not in found.verdict.reason
