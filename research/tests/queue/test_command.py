"""The queue as a program: its options, its exit codes, and an interrupt."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest
import typer
from research.tests.queue.jobs import begun, is_gone, noting, program

from sfumato_research.queue.__main__ import main as command
from sfumato_research.queue.plan import QueuedJob


def written(path, *jobs):
    plain = [
        {
            "name": job.name, "run": list(job.run), "memory": job.memory, "cores": job.cores,
            "minutes": job.minutes, "after": list(job.after),
        }
        for job in jobs
    ]  # fmt: skip
    path.write_text(json.dumps(plain))
    return path


def heed_signals():
    """What a background job of a shell ignores is ignored by all it starts, and the queue keeps to that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def as_program(*arguments, **options):
    words = [sys.executable, "-m", "sfumato_research.queue", *map(str, arguments)]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
        **options,
    )


def told(capsys, *given, **options):
    """Its exit code and what it says, in this process."""
    try:
        command(*given, **options)
        code = 0
    except typer.Exit as stop:
        code = stop.exit_code
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_plan_is_run_and_told(tmp_path, capsys):
    notes = tmp_path / "notes"
    plan = written(
        tmp_path / "plan.json",
        noting(notes, "one", "", memory=0),
        noting(notes, "two", "", memory=0, after=("one",)),
        noting(notes, "three", "sys.exit(1)", memory=0),
    )
    logs = tmp_path / "logs"
    code, out, err = told(capsys, plan, cores=2, logs=logs, only=["t*o"])
    assert code == 0 and not err and begun(notes) == ["one", "two"]
    lines = out.splitlines()
    assert sum(" one running: 0 GB, 1 cores" in line for line in lines) == 1
    assert sum(" two done: 0 s" in line for line in lines) == 1
    assert any(line.split()[:2] == ["two", "done"] for line in lines[-2:]), "and a table"
    code, out, err = told(capsys, plan, cores=2, logs=logs)
    assert code == 1 and begun(notes)[2:] == ["three"] and "in an earlier run" in out
    code, out, err = told(capsys, plan, logs=logs, listed=True)
    assert code == 0 and len(begun(notes)) == 3
    assert [line.split()[:2] for line in out.splitlines()[1:3]] == [["one", "yes"], ["two", "yes"]]


@pytest.mark.parametrize(
    ("jobs", "options", "lines"),
    [
        ([{"memory": 5}], {}, ["--memory allows, 0 GB. Found 5."]),
        ([{"cores": 3}], {"memory": 1}, ["--cores allows, 2. Found 3."]),
        ([{"cores": 0}, {"name": "b", "x": 1}], {}, ["`cores` must be", "fields are"]),
        ([{}], {"only": ["b"]}, ["--only must name a job"]),
        ([{"run": ["{DATA}", "{OUT}"]}], {}, ["--set DATA=VALUE", "--set OUT=VALUE"]),
        ([{}], {"given": ["DATA=1"]}, ["Found DATA. Leave it out."]),
        ([{}], {"given": ["DATA"]}, ["--set must be NAME=VALUE"]),
    ],
)
def test_what_is_refused_is_a_line_each_and_nothing_is_begun(tmp_path, capsys, jobs, options, lines):
    plain = {"name": "a", "run": ["true"], "memory": 0, "cores": 1, "minutes": 1}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps([{**plain, **changed} for changed in jobs]))
    code, out, err = told(capsys, plan, cores=2, logs=tmp_path / "logs", **options)
    said = err.splitlines()
    assert code == 2 and not out and not (tmp_path / "logs").exists()
    assert len(said) == len(lines) and all(line.startswith("queue: ") for line in said)
    assert all(part in line for part, line in zip(lines, said, strict=True))


def test_values_reach_the_jobs(tmp_path, capsys):
    plan = tmp_path / "plan.json"
    run = ["python", "-I", "-S", "-c", "import sys; print(sys.argv[1:])", "{A}/x", "{B}"]
    jobs = [{"name": "a", "run": run, "memory": 0, "cores": 1, "minutes": 1}]
    plan.write_text(json.dumps(jobs))
    code, _, err = told(capsys, plan, logs=tmp_path, given=["A=one", "B=two words"])
    assert code == 0, err
    assert (tmp_path / "a.log").read_text().endswith("['one/x', 'two words']\n")
    assert "left open: A, B" in told(capsys, plan, logs=tmp_path, listed=True)[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_jobs_with_the_queue(tmp_path, number):
    there = tmp_path / "pid"
    code = """
import os, sys, time
with open(sys.argv[1] + ".part", "w") as out:
    out.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
"""
    plan = written(
        tmp_path / "plan.json",
        QueuedJob("a", program(code, there), 0, 1, 1),
        noting(tmp_path / "notes", "waiting", after=("a",), memory=0),
    )
    with as_program(plan, "--logs", tmp_path / "logs") as queue:
        last = time.monotonic() + 60
        while not there.exists() and time.monotonic() < last:
            time.sleep(0.05)
        queue.send_signal(number)
        try:
            out, err = queue.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            queue.kill()  # or leaving the block would wait for it
            raise
    assert queue.returncode == 1, err
    assert is_gone(int(there.read_text()))
    assert f"a stopped: by an interrupt ({number.name})" in out and "waiting passed over" in out
    states = json.loads((tmp_path / "logs" / "status.json").read_text())["jobs"]
    assert [each["state"] for each in states.values()] == ["stopped", "passed over"]


def test_a_bad_plan_ends_the_program_with_2(tmp_path):
    (tmp_path / "plan.json").write_text("[]")
    with as_program(tmp_path / "plan.json") as queue:
        out, err = queue.communicate(timeout=60)
    assert queue.returncode == 2 and not out and err.startswith("queue: ") and len(err.splitlines()) == 1
