"""A plan is read whole, and refused with a line for every error before anything starts."""

from __future__ import annotations

import json

import pytest

from sfumato.errors import InputError
from sfumato_research.queue.fitting import QueueLimits
from sfumato_research.queue.plan import QueuedJob, chosen_jobs, read_jobs
from sfumato_research.queue.values import filled, open_names, read_values

PLAIN = {"name": "a", "run": ["true"], "memory": 0, "cores": 1, "minutes": 1}


def plan(tmp_path, *jobs):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(jobs))
    return path


def refused(function, *arguments) -> list[str]:
    with pytest.raises(InputError) as error:
        function(*arguments)
    return str(error.value).splitlines()


def job(name, **changed):
    return QueuedJob(**{**PLAIN, "name": name, "run": ("true",), **changed})


def test_a_plan_is_jobs_in_their_order(tmp_path):
    more = {"after": ["a", "a"], "environment": {"X": "1"}, "exclusive": True, "memory": 2.5}
    first, second = read_jobs(plan(tmp_path, PLAIN, {**PLAIN, "name": "b-1.x", **more}))
    assert first == QueuedJob("a", ("true",), 0, 1, 1)
    assert second == QueuedJob("b-1.x", ("true",), 2.5, 1, 1, ("a",), {"X": "1"}, True)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"memry": 1}, "fields are name, run, .*Found 'memry'"),
        ({"name": "../a"}, "`name` must be made of letters"),
        ({"name": ""}, "Job 1: `name` must be"),
        ({"name": 3}, "Job 1: `name` must be .*Found 3"),
        ({"run": []}, "`run` must be a list of words.*Found \\[\\]"),
        ({"run": [""]}, "`run` must be"),
        ({"run": "true"}, "`run` must be"),
        ({"run": ["true", 1]}, "`run` must be"),
        ({"run": ["a\0b"]}, "`run` must be"),
        ({"memory": -1}, "`memory` must be a number of GB, 0 or more. Found -1"),
        ({"memory": True}, "`memory` must be"),
        ({"memory": float("nan")}, "`memory` must be .*Found NaN"),
        ({"memory": "8"}, "`memory` must be"),
        ({"cores": 0}, "`cores` must be a whole number, 1 or more. Found 0"),
        ({"cores": 1.5}, "`cores` must be"),
        ({"minutes": 0}, "`minutes` must be a number above 0. Found 0"),
        ({"minutes": float("inf")}, "`minutes` must be"),
        ({"after": "b"}, "`after` must be a list of names"),
        ({"after": ["b"]}, "`after` must name jobs of the plan. Found 'b'"),
        ({"after": ["a"]}, "wait for each other. Found `a` after `a`"),
        ({"environment": {"X": 1}}, "`environment` must be"),
        ({"environment": {"X=Y": "1"}}, "`environment` must be"),
        ({"exclusive": 1}, "`exclusive` must be true or false. Found 1"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_a_bad_job_is_refused_in_one_line(tmp_path, changed, told):
    lines = refused(read_jobs, plan(tmp_path, {**PLAIN, **changed}))
    assert len(lines) == 1
    with pytest.raises(InputError, match=told):
        read_jobs(plan(tmp_path, {**PLAIN, **changed}))


@pytest.mark.parametrize("missing", ["name", "run", "memory", "cores", "minutes"])
def test_what_is_needed_has_to_be_there(tmp_path, missing):
    given = {key: each for key, each in PLAIN.items() if key != missing}
    (line,) = refused(read_jobs, plan(tmp_path, given))
    assert f"`{missing}` must be" in line and line.endswith("Found none. Add it.")


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "3", '["a"]', "[null]"])
def test_something_else_is_no_plan(tmp_path, text):
    path = tmp_path / "plan.json"
    path.write_text(text)
    (line,) = refused(read_jobs, path)
    assert " must " in line and "Found" in line


def test_every_error_has_its_line(tmp_path):
    bad = plan(tmp_path, {**PLAIN, "cores": 0, "x": 1}, 7, {**PLAIN, "name": "b", "minutes": -1})
    assert [line.partition(":")[0] for line in refused(read_jobs, bad)] == [
        "Job `a`",
        "Job `a`",
        "Job 2 must be an object. Found 7. Write its name, run, memory, cores, minutes.",
        "Job `b`",
    ]
    bad = plan(
        tmp_path, PLAIN, PLAIN, {**PLAIN, "name": "b", "after": ["c", "z"]},
        {**PLAIN, "name": "c", "after": ["b"]},
    )  # fmt: skip
    twice, unknown, circle = refused(read_jobs, bad)
    assert "`a`" in twice and "Found 2 of them" in twice and "'z'" in unknown
    assert circle.count("`b`") + circle.count("`c`") == 3 and "Take one `after` out" in circle


def test_some_jobs_are_chosen_with_what_they_come_after():
    jobs = [job("a"), job("b", after=("a",)), job("c"), job("read-1", after=("b",)), job("read-2")]
    assert [each.name for each in chosen_jobs(jobs, ["read-*"])] == ["a", "b", "read-1", "read-2"]
    assert [each.name for each in chosen_jobs(jobs, ["c", "a"])] == ["a", "c"]
    assert chosen_jobs(jobs, []) == jobs
    assert len(refused(chosen_jobs, jobs, ["a", "d", "e*"])) == 2


def test_what_can_never_fit_is_refused():
    jobs = [job("a", memory=10, cores=2), job("b", memory=10.5), job("c", cores=3, memory=11)]
    lines = refused(QueueLimits(10, 2).require, jobs)
    assert [line.partition(":")[0] for line in lines] == ["Job `b`", "Job `c`", "Job `c`"]
    assert "--memory allows, 10 GB. Found 10.5." in lines[0] and "--cores allows, 2. Found 3." in lines[2]
    QueueLimits(10, 2).require(jobs[:1])


def test_values_are_put_in_and_unknown_ones_refused():
    open_ = job("a", run=("x", "{DATA}/{DATA}", "{'k': 1} {low} {}"), environment={"HOME": "{OUT}/h"})
    assert open_names([open_, job("b")]) == {"DATA": ["a"], "OUT": ["a"]}
    (put,) = filled([open_], {"DATA": "{OUT}", "OUT": "o"}, [open_])
    assert put.run == ("x", "{OUT}/{OUT}", "{'k': 1} {low} {}") and put.environment == {"HOME": "o/h"}
    lines = refused(filled, [open_], {"DATE": "1", "OUT": "o"}, [open_])
    assert len(lines) == 2 and "(DATA, OUT). Found DATE." in lines[0] and "--set DATA=VALUE" in lines[1]
    assert filled([job("b")], {"DATA": "1"}, [open_, job("b")]) == [job("b")], "of a job that is not chosen"


@pytest.mark.parametrize("given", [["DATA"], ["DATA="], ["data=1"], ["=1"], ["A=1", "A=2"]])
def test_values_are_a_name_and_what_it_stands_for(given):
    (line,) = refused(read_values, given)
    assert "--set must be NAME=VALUE" in line
    assert read_values(["A=b=c", "D_1= "]) == {"A": "b=c", "D_1": " "}
