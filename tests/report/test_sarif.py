"""An audit as SARIF, and two audits compared."""

from __future__ import annotations

import copy
import json
import math

import pytest

from sfumato.auditing.compare import Grown, compare, read_audit
from sfumato.errors import ArtifactError, InputError
from sfumato.report.sarif import RULES, sarif_log
from tests.auditing.made import made_audit, row


def figures(released=0.33, **more):
    return made_audit(rows=[row(released=released)], **more).to_dict()


@pytest.mark.parametrize(
    ("released", "limit", "rules", "level"),
    [(0.8, 0.1, ["SFU001"], "error"), (0.33, 0.9, [], None), (0.33, None, ["SFU003"], "note")],
)
def test_a_result_for_what_fails_and_none_for_what_passes(released, limit, rules, level):
    run = sarif_log(figures(released, fail_above=limit), "/home/someone/private/notes.jsonl")["runs"][0]
    assert [each["ruleId"] for each in run["results"]] == rules
    assert all(each["level"] == level for each in run["results"])
    assert "someone" not in json.dumps(run)


def test_the_log_is_what_the_format_asks_for():
    sarif = pytest.importorskip("sarif_pydantic")
    log = sarif_log(figures(0.8), "notes.jsonl", "it grew")
    known = sarif.Sarif.model_validate(json.loads(json.dumps(log)))
    assert known.version == "2.1.0" and [each.rule_id for each in known.runs[0].results] == [
        "SFU001",
        "SFU004",
    ]
    extra = [*_unknown(known)]
    assert extra == []
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    for each in log["runs"][0]["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"] and each["ruleId"] in RULES


def _unknown(model):
    """Names that the format does not know; what tools say of themselves stands under `properties`."""
    yield from (model.model_extra or {})
    for name in type(model).model_fields:
        value = getattr(model, name)
        for each in value if isinstance(value, list) else [value]:
            if hasattr(each, "model_fields_set"):
                yield from _unknown(each)


def test_growth_is_what_both_intervals_together_do_not_explain():
    before, now = figures(0.33), figures(0.36)  # excess .05 and .10, each with an interval of +- .03
    found = compare(before, now)
    assert found.allowed == pytest.approx(math.hypot(0.03, 0.03)) and found.grew
    assert not compare(before, figures(0.35)).grew
    assert not compare(now, before).grew
    assert "10.0%" in found.words()


def test_without_an_excess_the_absolute_figure_is_compared():
    before, now = (copy.deepcopy(figures(share)) for share in (0.33, 0.6))
    before["leakage"]["interval"] = None
    assert compare(before, now) == Grown(
        pytest.approx((0.33 - 0.05) / 0.85),
        pytest.approx((0.6 - 0.05) / 0.85),
        pytest.approx(0.03 * 2**0.5),
        "absolute",
    )


@pytest.mark.parametrize("name", ["suite", "embedder", "dim", "target"])
def test_audits_of_different_things_are_not_compared(name):
    other = copy.deepcopy(figures())
    other["settings"][name] = "another"
    with pytest.raises(InputError, match=f"the same {name}"):
        compare(other, figures())


@pytest.mark.parametrize("written", ["", "[]", "{}", '{"leakage": null, "settings": {}}', "x" * 100])
def test_what_is_no_audit_is_refused_in_one_line(written, tmp_path):
    (tmp_path / "a.json").write_text(written)
    with pytest.raises(ArtifactError) as caught:
        read_audit(tmp_path / "a.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("excess", float("nan")),
        ("excess", float("inf")),
        ("excess", "0.9"),
        ("excess", True),
        ("interval", [0.0]),
        ("interval", [0.9, 0.1]),
        ("interval", [-1.0, -0.5]),
        ("absolute_interval", "ab"),
        ("absolute", {}),
    ],
)
def test_a_figure_that_would_let_anything_pass_is_refused(name, value, tmp_path):
    changed = figures()
    changed["leakage"][name] = value
    (tmp_path / "a.json").write_text(json.dumps(changed))
    with pytest.raises(ArtifactError):
        read_audit(tmp_path / "a.json")


def test_reads_what_an_audit_writes(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(figures()))
    assert not compare(read_audit(tmp_path / "a.json"), figures()).grew
