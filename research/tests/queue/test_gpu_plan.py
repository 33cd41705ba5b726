"""The plan for a GPU: every command of it is there, and its own parser takes the options."""

from __future__ import annotations

import importlib
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from sfumato_research import command
from sfumato_research.attackers.__main__ import main as attackers
from sfumato_research.attackers.attackers import ATTACKERS
from sfumato_research.attackers.releases import RELEASES, STUDIED
from sfumato_research.dppn import ahead
from sfumato_research.families import steps
from sfumato_research.queue.__main__ import main as queue
from sfumato_research.queue.fitting import QueueLimits
from sfumato_research.queue.plan import read_jobs
from sfumato_research.queue.values import filled, open_names
from sfumato_research.studies import load_study

ROOT = Path(__file__).parents[3]
RECIPE = ROOT / "weights" / "recipe"
PLAN = read_jobs(ROOT / "research" / "gpu-plan.json")
FOLDERS = {"DATA", "CACHE", "OUT", "DOCUMENTS", "USE_LITE", "ENCODER768"}
JOBS = {job.name: job for job in filled(PLAN, {name: f"/{name.lower()}" for name in FOLDERS}, PLAN)}
MACHINE = QueueLimits(130, 16)


def named(start):
    return [pytest.param(job, id=name) for name, job in JOBS.items() if " ".join(job.run).startswith(start)]


def options(run, job):
    """The options of a command, read by its own parser."""
    app = typer.Typer()
    app.command()(run)
    return typer.main.get_command(app).make_context(job.name, list(job.run[3:])).params


def given(monkeypatch, job):
    """Let a command find its words where a program does."""
    monkeypatch.setattr(sys, "argv", list(job.run[2:] if job.run[1] == "-m" else job.run[1:]))


def test_every_command_is_there_and_fits_on_the_machine():
    assert set(open_names(PLAN)) == FOLDERS
    MACHINE.require(PLAN)
    for job in PLAN:
        assert job.run[0] == "python" and job.minutes <= 28
        if job.run[1] == "-m":
            assert find_spec(job.run[2]) is not None
        else:
            assert (ROOT / job.run[1]).is_file()
    assert sum(len(named(start)) for start in STARTS) == len(PLAN), "every command is looked at below"


STARTS = (
    "python -m sfumato_research.attackers ",
    "python -m sfumato_research.families ",
    "python -m sfumato_research.dppn.ahead ",
    "python -m sfumato study vec2text ",
    "python weights/recipe/long.py ",
    "python weights/recipe/evaluate_long.py ",
    "python weights/recipe/others.py ",
)


@pytest.mark.parametrize("job", named(STARTS[0]))
def test_attackers_names_rows_and_columns_of_the_table(job):
    found = options(attackers, job)
    assert found["case"] == "place" and not found["quick"]
    if job.name == "attackers-frozen":
        assert found["freeze"] and found["device"] == "cpu" and job.memory == 0
        return
    assert job.after == ("attackers-frozen",) and found["device"] == "cuda"
    assert set(found["attack"]) <= set(ATTACKERS) and set(found["release"]) <= set(RELEASES)
    assert len(found["release"]) == 1 and found["time"] in ([0], [1]), "the second time, a process of its own"


@pytest.mark.parametrize(
    ("attack", "kind"),
    [
        ("practised", "practised"), ("practised, 10 steps", "practised"), ("minilm, 20 steps", "writers"),
        ("decoder", "writers"), ("corrector", "writers"), ("zero-shot", "zero-shot"),
    ],
)  # fmt: skip
def test_every_column_is_attacked_once_and_one_of_them_again(attack, kind):
    asked = [
        (found["release"][0], found["time"][0])
        for job in JOBS.values()
        if job.name.startswith(f"{kind}-") and attack in (found := options(attackers, job))["attack"]
    ]
    assert sorted(asked) == sorted([*((label, 0) for label in STUDIED), ("Laplace 1.4", 1)])


def test_two_readers_that_practise_run_at_once_and_never_three():
    some = [job for job in PLAN if job.name.startswith("practised-")]
    assert MACHINE.hold(some[:2]) and not MACHINE.hold(some[:3])
    assert not QueueLimits(140, 64).hold(some[:3])


def test_what_learns_by_the_clock_has_the_gpu_for_itself():
    by_clock = {
        job.name for job in PLAN if job.run[1] in ("weights/recipe/long.py", "weights/recipe/others.py")
    }
    assert by_clock == {job.name for job in PLAN if job.exclusive} and len(by_clock) == 5
    assert PLAN[0].name == "long"
    assert PLAN[0].environment == {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


@pytest.mark.parametrize("job", named(STARTS[1]))
def test_families_takes_its_options(job, monkeypatch):
    heard = {}
    for name in ("look", "fill", "run_cells"):
        monkeypatch.setattr(steps, name, lambda *words, name=name: heard.update({name: words}) or 0)
    given(monkeypatch, job)
    steps.main()
    ((name, words),) = heard.items()
    assert words[0].data == Path("/data") and words[0].cache == Path("/cache")
    processes = words[-1]
    assert processes == job.cores and job.environment["OMP_NUM_THREADS"] == "1"
    if name == "run_cells":
        (model,) = words[2]
        assert model in steps.MODELS and words[3] == 3 and words[0].device == "cuda"
        assert "families-found" in job.after and job.memory == 6 * processes
        assert (f"families-vectors-{model}" in job.after) == (model in steps.ON_DISK)
    else:
        assert job.memory == 0 and words[0].device == "cpu"


def test_all_six_encoders_have_their_cells():
    assert {f"families-{model}" for model in steps.MODELS} <= set(JOBS)
    assert JOBS["families-use-lite"].environment["SFUMATO_USE_LITE"] == "/use_lite"
    assert JOBS["families-encoder768"].environment["SFUMATO_ENCODER768"] == "/encoder768"


@pytest.mark.parametrize("job", named(STARTS[2]))
def test_groups_of_the_masks_are_there(job, monkeypatch, capsys):
    heard = []
    monkeypatch.setattr(ahead, "GROUPS", dict.fromkeys(ahead.GROUPS, heard.append))
    given(monkeypatch, job)
    ahead.main()
    (setting,) = heard
    assert setting.device == "cuda" and setting.data == Path("/data") and setting.cache == Path("/cache")
    assert "done" in capsys.readouterr().out


@pytest.mark.parametrize("job", named(STARTS[3]))
def test_parts_of_vec2text_are_there(job):
    app = typer.Typer()
    app.command()(command.command)
    found = typer.main.get_command(app).make_context(job.name, list(job.run[4:])).params
    assert found["names"] == ["vec2text"] and found["device"] == "cuda"
    assert set(found["part"]) <= {part.name for part in load_study("vec2text").parts}
    assert f"vec2text-{found['part'][0]}" == job.name and found["output"] == Path("/out")


@pytest.fixture
def recipe(monkeypatch):
    monkeypatch.syspath_prepend(str(RECIPE))
    return importlib.import_module


@pytest.mark.parametrize("job", named(STARTS[4]))
def test_the_long_reader_is_trained_as_its_page_says(job, recipe, monkeypatch):
    heard = []
    long = recipe("long")
    monkeypatch.setattr(
        long, "Long", lambda found: heard.append(found) or SimpleNamespace(train=lambda: True)
    )
    given(monkeypatch, job)
    assert long.main() == 0
    page = re.sub(r"\s+", " ", (ROOT / "weights" / "README.md").read_text())
    told = re.search(r"python weights/recipe/long.py (--.*?--tokens \d+)", page)[1]
    words = {"FOLDER": "/documents", "STATE": "/out/long-state", "OUT": "/out/long"}
    assert list(job.run[2:]) == [words.get(word, word) for word in told.split()]
    assert heard[0].longest == 128 and heard[0].seconds == 330 and heard[0].start.is_file()
    assert 60 * job.minutes > heard[0].seconds


@pytest.mark.parametrize("job", named(STARTS[5]))
def test_readings_of_longer_texts_find_rows_and_follow_each_other(job, recipe, monkeypatch):
    evaluate, read = recipe("evaluate_long"), []

    class Heard:
        def __init__(self, found, sizes):
            self.texts, self.found, self.asked = {}, {}, found
            for _, texts, *_ in evaluate.jobs(1):
                self.texts[texts] = []
            assert sizes.longest == found.longest
            read.append(self)

        def encode(self, texts):
            return texts

        def read(self, name, *_):
            self.found[name] = True

    monkeypatch.setattr(evaluate, "Reading", Heard)
    given(monkeypatch, job)
    evaluate.main()
    (one,) = read
    assert one.found, "some rows have such a name"
    weights = one.asked.weights
    assert weights.is_relative_to("/out/long") or (ROOT / weights).is_file()
    others = [other for other in JOBS.values() if other.run[1] == job.run[1] and _file(other) == _file(job)]
    first = others.index(job) == 0
    assert job.after == (("long",) if first and weights.is_absolute() else () if first else job.after)
    assert first or job.after == (others[others.index(job) - 1].name,), (
        "two would overwrite each other's rows"
    )


def _file(job):
    return job.run[job.run.index("--out") + 1]


def test_each_row_of_longer_texts_is_read_by_one_job(recipe):
    rows = [name for name, *_ in recipe("evaluate_long").jobs(1)]
    for file in ("/out/long.npz", "/out/shipped.npz"):
        patterns = [
            job.run[job.run.index("--names") + 1]
            for job in JOBS.values()
            if "evaluate_long" in job.run[1] and _file(job) == file
        ]
        for row in rows:
            assert sum(re.search(pattern, row) is not None for pattern in patterns) == 1, row


@pytest.mark.parametrize("job", named(STARTS[6]))
def test_readers_of_other_encoders_take_their_options(job, recipe, monkeypatch):
    heard = []
    others = recipe("others")
    made = SimpleNamespace(train=lambda: None, read=lambda: None)
    monkeypatch.setattr(others, "Other", lambda found: heard.append(found) or made)
    given(monkeypatch, job)
    others.main()
    (found,) = heard
    assert found.device == "cuda"
    assert found.encoder.strip("/") == job.name.removeprefix("reader-") and found.minilm == Path("/documents")
    assert (found.seconds, found.correct, found.texts, found.test) == (90, 35, 400_000, 500), (
        "by the protocol"
    )


def test_the_queue_lists_the_plan(capsys):
    queue(ROOT / "research" / "gpu-plan.json", listed=True)
    shown = capsys.readouterr().out
    assert all(f"\n{job.name} " in shown for job in PLAN) and f"\n{len(PLAN)} jobs" in shown
