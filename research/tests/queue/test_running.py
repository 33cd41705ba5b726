"""The queue on real processes: limits, order, what follows a failure, going on, and the deadline."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from dataclasses import replace

import pytest
from research.tests.queue.jobs import begun, is_gone, noted, noting, program, queue_of

from sfumato.randomness import generator
from sfumato_research.queue.plan import QueuedJob

FAILS = "sys.exit(3)"


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


@pytest.mark.parametrize("seed", range(2))
def test_limits_are_never_exceeded_and_all_is_done(tmp_path, notes, seed):
    rng = generator(seed)
    jobs = [
        noting(
            notes,
            f"job-{number}",
            f"time.sleep({0.05 + 0.15 * float(rng.random()):.2f})",
            memory=float(rng.choice([0, 1, 4, 6, 10])),
            cores=int(rng.integers(1, 4)),
            minutes=float(rng.choice([0.002, 0.004, 1])),
            exclusive=bool(number % 5 == 4),
        )
        for number in range(12)
    ]
    queue = queue_of(tmp_path / "logs", *jobs)
    assert queue.run()
    known, running, together = {job.name: job for job in jobs}, set(), 0
    for what, name in noted(notes):
        running.symmetric_difference_update({name})
        assert (what == "begin") == (name in running)
        assert queue.limits.hold([known[each] for each in running])
        together = max(together, len(running))
    assert not running and sorted(begun(notes)) == sorted(known) and together > 1


def test_jobs_begin_in_order_where_one_fits_at_a_time(tmp_path, notes):
    jobs = [noting(notes, name, "", memory=10) for name in "dacb"]
    assert queue_of(tmp_path, *jobs).run()
    assert noted(notes) == [(what, name) for name in "dacb" for what in ("begin", "end")]


def test_a_large_job_is_not_kept_waiting_by_small_ones(tmp_path, notes):
    until = (
        "for _ in range(2000):\n    time.sleep(0.01)\n    if 'begin short' in open(sys.argv[1]).read(): break"
    )
    first = noting(notes, "first", until + "\nelse: sys.exit(1)", memory=6, minutes=1)
    large = noting(notes, "large", "", memory=10)
    long = [noting(notes, f"long-{number}", "", memory=2, minutes=5) for number in range(4)]
    short = noting(notes, "short", "", memory=2, minutes=0.5)
    assert queue_of(tmp_path, first, large, *long, short).run()
    assert sorted(begun(notes)[:2]) == ["first", "short"], "there was room meanwhile"
    told = noted(notes)
    assert told.index(("end", "large")) < min(told.index(("begin", job.name)) for job in long)


def test_a_job_comes_after_others_are_done(tmp_path, notes):
    jobs = [
        noting(notes, "last", "", after=("left", "right")),
        noting(notes, "left", after=("first",)),
        noting(notes, "right", after=("first",)),
        noting(notes, "first"),
    ]
    assert queue_of(tmp_path, *jobs).run()
    told = noted(notes)
    for job in jobs:
        for name in job.after:
            assert told.index(("end", name)) < told.index(("begin", job.name))
    assert told[0] == ("begin", "first") and told[-1] == ("end", "last")


def test_what_comes_after_a_failure_is_passed_over_and_the_rest_is_run(tmp_path, notes):
    said = []
    jobs = [
        noting(notes, "bad", "print('it went wrong'); sys.exit(3)"),
        noting(notes, "next", after=("bad",)),
        noting(notes, "behind", after=("next",)),
        noting(notes, "other"),
        QueuedJob("nowhere", (str(tmp_path / "no-such-program"),), 0, 1, 1),
        QueuedJob("killed", program("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), 0, 1, 1),
    ]
    queue = queue_of(tmp_path, *jobs, say=said.append)
    assert not queue.run()
    assert sorted(begun(notes)) == ["bad", "other"]
    states = {name: (each.state, each.code) for name, each in queue.states.items()}
    assert states == {
        "bad": ("failed", 3), "next": ("passed over", None), "behind": ("passed over", None),
        "other": ("done", 0), "nowhere": ("failed", None), "killed": ("failed", -signal.SIGKILL),
    }  # fmt: skip
    assert queue.states["next"].why == "bad failed" and queue.states["behind"].why == "next was passed over"
    assert (tmp_path / "bad.log").read_text().endswith("it went wrong\n")
    assert any("bad failed: exit code 3" in line for line in said)
    assert any("next passed over: bad failed" in line for line in said)
    assert all(line.lstrip().split(" ")[1] == "s" for line in said), "each line begins with the seconds"


def test_a_stopped_queue_goes_on_and_a_changed_job_runs_again(tmp_path, notes):
    def jobs(last=""):
        return [
            noting(notes, "a", ""),
            noting(notes, "b", FAILS, after=("a",)),
            noting(notes, "c", last),
            noting(notes, "d", "", after=("c",)),
        ]

    assert not queue_of(tmp_path, *jobs()).run()
    assert sorted(begun(notes)) == ["a", "b", "c", "d"]
    again = queue_of(tmp_path, *jobs())
    assert not again.run()
    assert begun(notes)[4:] == ["b"], "what failed, alone"
    assert again.states["a"].state == "done" and again.states["a"].why == "in an earlier run"
    assert not queue_of(tmp_path, *jobs(last="pass")).run()
    assert sorted(begun(notes)[5:]) == ["b", "c", "d"], "and what comes after a job that runs again"
    fewer = [replace(job, memory=2, minutes=3) for job in jobs(last="pass") if job.name != "b"]
    assert queue_of(tmp_path, *fewer).run() and len(begun(notes)) == 8, "claims are no part of a command"
    (tmp_path / "d.done").write_text("{")
    assert queue_of(tmp_path, *fewer).run() and begun(notes)[8:] == ["d"]
    assert (tmp_path / "a.log").read_text().count("# ") == 1
    assert (tmp_path / "b.log").read_text().count("# ") == 3


def test_a_job_that_is_begun_again_is_done_no_more(tmp_path, notes):
    fails_now = "sys.exit(int(os.path.exists(sys.argv[1] + '.now')))"
    second = noting(notes, "second", fails_now, after=("first",))
    assert queue_of(tmp_path, noting(notes, "first", ""), second).run()
    (tmp_path / "notes.now").touch()
    changed = noting(notes, "first", "pass")
    for _ in range(2):
        queue = queue_of(tmp_path, changed, second)
        assert not queue.run() and queue.states["second"].code == 1


def test_a_job_is_not_begun_when_its_estimate_goes_past_the_deadline(tmp_path, notes):
    jobs = [
        noting(notes, "long", minutes=3),
        noting(notes, "behind", after=("long",)),
        noting(notes, "short", "", minutes=1),
    ]
    queue = queue_of(tmp_path, *jobs, minutes=2)
    assert not queue.run()
    assert begun(notes) == ["short"]
    assert queue.states["long"].why == "its 3 minutes go past the deadline"
    assert queue.states["behind"].why == "long was passed over"


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if sys.argv[2] == "parent":
    subprocess.Popen([sys.executable, "-I", "-S", "-c", sys.argv[3], sys.argv[1], "child"])
with open(sys.argv[1] + "/" + sys.argv[2] + ".part", "w") as out:
    out.write(str(os.getpid()))
os.rename(sys.argv[1] + "/" + sys.argv[2] + ".part", sys.argv[1] + "/" + sys.argv[2])
time.sleep(600)
"""
POLITE = """
import os, signal, sys, time
def end(number, frame):
    print("asked to end")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(sys.argv[1], "w").close()
time.sleep(600)
"""


def test_at_the_deadline_all_is_ended_grandchildren_and_those_that_do_not_listen(tmp_path, notes):
    pids = tmp_path / "pids"
    pids.mkdir()
    stubborn = QueuedJob("stubborn", program(STUBBORN, pids, "parent", STUBBORN), 1, 1, 0.01)
    polite = QueuedJob("polite", program(POLITE, pids / "polite"), 1, 1, 0.01)
    waiting = noting(notes, "waiting", after=("polite",), minutes=0.01)

    def clock():
        """The deadline comes when everything is there."""
        there = {path.name for path in pids.iterdir()}
        return 1000.0 if {"parent", "child", "polite"} <= there else 0.0

    queue = queue_of(tmp_path, stubborn, polite, waiting, minutes=1, clock=clock)
    assert not queue.run()
    for name in ("parent", "child"):
        assert is_gone(int((pids / name).read_text())), name
    assert queue.states["stubborn"].code == -signal.SIGKILL
    assert (tmp_path / "polite.log").read_text().endswith("asked to end\n")
    assert [state.state for state in queue.states.values()] == ["stopped", "stopped", "passed over"]
    assert queue.states["polite"].why == "by the deadline" and not begun(notes)
    assert not list(tmp_path.glob("*.done")), "a job that was ended is not done, whatever its code"


@pytest.mark.parametrize("broken", [OSError("nobody listens"), SystemExit(1)])
def test_an_error_of_the_queue_leaves_no_job_behind(tmp_path, broken):
    there = tmp_path / "pid"

    def say(line):
        if there.exists():
            raise broken

    def clock():
        return 1000.0 if there.exists() else 0.0

    code = """
import os, sys, time
open(sys.argv[1] + ".part", "w").write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
"""
    queue = queue_of(tmp_path, QueuedJob("a", program(code, there), 0, 1, 1), minutes=2, say=say, clock=clock)
    with pytest.raises(type(broken)):
        queue.run()
    assert is_gone(int(there.read_text())) and queue.states["a"].state == "stopped"


def test_an_interrupt_that_was_turned_off_stays_so(tmp_path, notes):
    before, heard = signal.signal(signal.SIGHUP, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    seen = set()

    def say(line):
        seen.add((signal.getsignal(signal.SIGHUP), signal.getsignal(signal.SIGTERM) == heard))

    try:
        assert queue_of(tmp_path, noting(notes, "a", ""), say=say).run()
        assert seen == {(signal.SIG_IGN, False)}
        assert signal.getsignal(signal.SIGTERM) == heard
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_a_job_leaves_behind_ends_with_it(tmp_path):
    code = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:]).pid)"
    child = program("import time; time.sleep(600)")
    assert queue_of(tmp_path, QueuedJob("a", program(code, *child), 0, 1, 1)).run()
    assert is_gone(int((tmp_path / "a.log").read_text().split()[-1]))


def test_a_job_knows_its_cores_and_has_its_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("INHERITED", "yes")
    names = ("OMP_NUM_THREADS", "SFUMATO_THREADS", "INHERITED", "OWN")
    code = (
        f"import os, sys; print(*(os.environ.get(name) for name in {names}), sys.stdin.read(), os.getsid(0))"
    )
    own = {"SFUMATO_THREADS": "1", "OWN": "mine"}
    plain = QueuedJob("plain", ("python", "-I", "-S", "-c", code), 0, 3, 1)
    told = QueuedJob("told", program(code), 0, 3, 1, environment=own)
    assert queue_of(tmp_path, plain, told).run()
    logged = {name: (tmp_path / f"{name}.log").read_text().splitlines() for name in ("plain", "told")}
    assert logged["plain"][-1].split()[:4] == ["3", "3", "yes", "None"]
    assert logged["told"][-1].split()[:4] == ["3", "1", "yes", "mine"]
    assert sys.executable in logged["plain"][0], "this Python"
    assert len({lines[-1].split()[-1] for lines in logged.values()} | {str(os.getsid(0))}) == 3


def test_memory_is_told_of_whole_groups_where_nvidia_smi_is(tmp_path, monkeypatch):
    held = tmp_path / "held"
    held.mkdir()
    fake = tmp_path / "nvidia-smi"
    fake.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" > "{held}/asked"\ncat "{held}"/*.csv\n'
        'echo "1, 99999"; echo "999999999, 5"; echo "me, [N/A]"\n'
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    code = """
import os, sys, time
child = os.fork()
with open(sys.argv[1] + "/" + sys.argv[2] + (".child" if not child else ".own"), "w") as out:
    out.write(f"{os.getpid()}, {sys.argv[3]}" + chr(10))
os.rename(out.name, out.name + ".csv")
while not os.path.exists(sys.argv[1] + "/enough"):
    time.sleep(0.02)
"""
    jobs = [
        QueuedJob(name, program(code, held, name, size), 5, 1, 1) for name, size in (("a", 1024), ("b", 3072))
    ]
    states = {}

    def clock():
        """The jobs end when both were seen with their children."""
        if [state.peak for state in states.values()] == [2.0, 6.0]:
            (held / "enough").touch()
        return time.monotonic()

    queue = queue_of(tmp_path / "logs", *jobs, look=0.05, clock=clock)
    states.update(queue.states)
    assert queue.run()
    assert [state.peak for state in queue.states.values()] == [2.0, 6.0]
    asked = (held / "asked").read_text().strip()
    assert asked == "--query-compute-apps=pid,used_memory --format=csv,noheader,nounits"
    written = json.loads((tmp_path / "logs" / "status.json").read_text())
    assert [each["peak"] for each in written["jobs"].values()] == [2.0, 6.0]


@pytest.mark.parametrize("answer", [None, "exit 9", "echo nothing to see", "echo '1,'"])
def test_without_an_answer_nothing_is_said_of_memory(tmp_path, monkeypatch, answer):
    monkeypatch.setenv("PATH", str(tmp_path))
    if answer is not None:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{answer}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    queue = queue_of(tmp_path / "logs", noting(tmp_path / "notes", "a"), look=0.01)
    assert queue.run() and queue.states["a"].peak is None


def test_the_status_says_how_things_stand(tmp_path, notes):
    folder = tmp_path / "logs"
    shown = "open(sys.argv[1] + '.copy', 'w').write(open(sys.argv[1] + '.status').read())"
    os.symlink(folder / "status.json", f"{notes}.status")
    wait = "while not os.path.exists(sys.argv[1] + '.status'): time.sleep(0.01)\ntime.sleep(0.3)\n"
    jobs = [
        noting(notes, "a", wait + shown, memory=7),
        noting(notes, "b", FAILS, memory=7),
        noting(notes, "c", after=("b",)),
    ]
    queue_of(folder, *jobs, minutes=5).run()
    during, after = (
        json.loads(path.read_text()) for path in (tmp_path / "notes.copy", folder / "status.json")
    )
    assert {key: during[key] for key in ("deadline", "memory", "cores")} == {
        "deadline": 300, "memory": 10, "cores": 4
    }  # fmt: skip
    assert [each["state"] for each in during["jobs"].values()] == ["running", "waiting", "waiting"]
    assert list(after["jobs"]) == ["a", "b", "c"] and after["seconds"] >= during["seconds"]
    for each in after["jobs"].values():
        assert set(each) == {"state", "why", "started", "seconds", "code", "memory", "peak"}
    done, failed, left = after["jobs"].values()
    assert (done["state"], done["code"], done["why"], done["memory"]) == ("done", 0, "", 7)
    assert done["started"].endswith("+00:00") and done["seconds"] > 0
    assert (failed["state"], failed["code"], left["state"], left["started"]) == (
        "failed",
        3,
        "passed over",
        None,
    )
    assert sorted(path.name for path in folder.iterdir()) == ["a.done", "a.log", "b.log", "status.json"]
