"""Studies side by side: each in its own process, all kept, one failure not the end of the others."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sfumato.errors import InputError, SfumatoError
from sfumato_research.studies import Setting, Study, StudyOutcome, StudyPart, StudyTable
from sfumato_research.studies.running import read_result
from sfumato_research.studies.together import run_together


def measured(setting: Setting, value: int) -> StudyOutcome:
    setting.on_step(f"at {value}")
    share = os.environ["OMP_NUM_THREADS"]
    return StudyOutcome(
        [StudyTable("Values", ["value", "process", "threads"], [[value, os.getpid(), share]])]
    )


def refused(setting: Setting) -> StudyOutcome:
    raise InputError("This part must not be run. Found it run.")


def killed(setting: Setting) -> StudyOutcome:
    os._exit(9)


def slow(setting: Setting) -> StudyOutcome:
    (setting.data / "begun").touch()
    time.sleep(60)
    return StudyOutcome()


def study(name: str, *runs) -> Study:
    return Study(name, name, "none", [StudyPart(f"p{at}", "A part", run) for at, run in enumerate(runs)])


def good(name: str, parts: int = 2) -> Study:
    return study(name, *(partial(measured, value=value) for value in range(parts)))


def run(studies, folder: Path, **options):
    return dict(
        (each.name, done) for each, done in run_together(studies, Setting(folder), folder, jobs=2, **options)
    )


def test_every_study_is_run_in_a_process_of_its_own_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_THREADS", "4")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    events = []
    done = run(
        [good("a"), good("b"), good("c", 3)],
        tmp_path,
        on_event=lambda each, step, ended: events.append((each.name, step, ended)),
    )
    assert {name: len(each.ran) for name, each in done.items()} == {"a": 2, "b": 2, "c": 3}
    rows = {
        name: [part["tables"][0]["rows"][0] for part in read_result(each.path)["parts"].values()]
        for name, each in done.items()
    }
    assert [row[0] for row in rows["c"]] == [0, 1, 2]
    processes = {row[1] for each in rows.values() for row in each}
    assert len(processes) == 3 and os.getpid() not in processes
    assert {row[2] for each in rows.values() for row in each} == {"2"}, "two of four cores each"
    assert "OMP_NUM_THREADS" not in os.environ
    assert [step for name, step, _ in events if name == "a"] == ["p0", "at 0", "p0", "p1", "at 1", "p1"]
    assert sum(ended for *_, ended in events) == 7
    again = run([good("a"), good("b")], tmp_path)
    assert {each.kept for each in again.values()} == {("p0", "p1")}


def test_when_one_fails_the_others_go_on_to_their_end(tmp_path):
    found = []
    with pytest.raises(InputError, match="must not be run"):
        for each, _ in run_together(
            [study("bad", refused, refused, refused), good("a"), good("never", 1)],
            replace(Setting(tmp_path), on_step=lambda step: None),
            tmp_path,
            jobs=2,
        ):
            found.append(each.name)
    assert "a" in found
    assert list(json.loads((tmp_path / "a.json").read_text())["parts"]) == ["p0", "p1"]


def test_a_process_that_dies_is_named(tmp_path):
    with pytest.raises(SfumatoError, match="study bad ended with code 9 .* --jobs 1"):
        run([study("bad", killed)], tmp_path)


def test_missing_data_are_found_before_anything_runs(tmp_path):
    needy = Study("needy", "needy", "none", [StudyPart("one", "One", refused, ("absent",))])
    with pytest.raises(InputError, match="needy reads absent"):
        run([good("a"), needy], tmp_path)
    assert not list(tmp_path.iterdir())


def test_leaving_early_leaves_no_process(tmp_path):
    import multiprocessing

    ended = run_together([study("slow", slow), good("a", 2)], Setting(tmp_path), tmp_path, jobs=2)
    assert next(ended)[0].name == "a"
    while not (tmp_path / "begun").exists():
        time.sleep(0.05)
    ended.close()
    assert not multiprocessing.active_children()
